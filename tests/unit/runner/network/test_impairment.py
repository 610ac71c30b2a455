"""Where a profile's netem is put, and what is done with what the kernel says of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured, interface, move_home
from tunbench.runner import stack
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.network import impairment
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

LOSS = captured("qdisc-loss.json")
FORWARD, REVERSE = {"loss": 0.1}, {"delay": 0.02, "loss": 0.1}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def placed(kind: str, spelling: str, profile: dict[str, Any]) -> tuple[list[str], FakeEvents]:
    shell, events, under = FakeShell({"qdisc show": LOSS}), FakeEvents(), PAIR_UNDERLAYS[kind]
    made = {name: Node(name, shell, events, ["nsenter", "--"]) for name in under.names}
    impairment.impair(profile, under, stack.build(spelling, under.endpoints).overlay, made, events)
    return events.commands, events


@pytest.mark.parametrize(
    ("placement", "kind", "spelling", "forward", "reverse"),
    [
        ("router", "ip", "wireguard", ("router", "to-b"), ("router", "to-a")),
        ("router", "ethernet", "macvlan", ("bridge", "to-b"), ("bridge", "to-a")),
        ("endpoints", "ip", "wireguard", ("a", "eth0"), ("b", "eth0")),
        ("overlay", "ip", "wireguard", ("a", interface("wireguard")), ("b", interface("wireguard"))),
        ("overlay", "ip", "wireguard+vxlan", ("a", interface("vxlan", 1)), ("b", interface("vxlan", 1))),
        ("overlay", "ip", "none", ("a", "eth0"), ("b", "eth0")),
    ],
)
def test_each_direction_has_its_place(
    placement: str, kind: str, spelling: str, forward: tuple[str, str], reverse: tuple[str, str]
) -> None:
    commands, events = placed(kind, spelling, {"placement": placement, "forward": FORWARD, "reverse": REVERSE})
    netem = "limit {} {}loss random 10%"
    assert commands == [
        f"ip netns exec {node} tc qdisc replace dev {interface} root netem {netem.format(*terms)}"
        for (node, interface), terms in ((forward, (1000, "")), (reverse, (16667, "delay 20000us ")))
    ]
    assert [(one["node"], one["interface"], one["asked"]) for one in events.of("impairment")] == [
        (*forward, FORWARD),
        (*reverse, REVERSE),
    ]
    qdisc = {**json.loads(LOSS)[0], "terms": {"limit": 1000, "loss": 0.1, "loss_correlation": 0, "ecn": 0, "gap": 0}}
    assert events.of("impairment")[0]["installed"] == qdisc


def test_one_direction_may_be_left_as_it_is() -> None:
    commands, events = placed("ip", "none", {"placement": "router", "forward": {}, "reverse": FORWARD})
    assert commands == ["ip netns exec router tc qdisc replace dev to-a root netem limit 1000 loss random 10%"]
    assert len(events.of("impairment")) == 1


@pytest.mark.parametrize("terms", [{}, {"delay": 0.0, "loss": 0.0}, {"limit": 50.0}])
def test_the_baseline_has_no_netem_at_all(terms: dict[str, float]) -> None:
    commands, events = placed("ip", "none", {"placement": "router", "forward": terms, "reverse": terms})
    assert (commands, events.told) == ([], [])


def applied(result: Result) -> dict[str, Any]:
    return impairment.apply(Node("a", FakeShell({"replace": result, "show": LOSS}), FakeEvents(), []), "eth0", FORWARD)


def test_what_was_installed_is_returned() -> None:
    assert applied(Result(0, "", ""))["options"]["loss-random"] == {"loss": 0.1, "correlation": 0}


def test_a_kernel_without_netem_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="no netem"):
        applied(Result(2, "", "Error: Specified qdisc kind is unknown.\n"))


def test_an_image_without_tables_is_unsupported() -> None:
    shown = "No distribution data for normal (/usr/lib/x86_64-linux-gnu/tc//normal.dist: No such file or directory)\n"
    with pytest.raises(Unsupported, match="tables of distributions"):
        applied(Result(1, "", shown))


def test_what_tc_refuses_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="Invalid argument"):
        applied(Result(2, "", "RTNETLINK answers: Invalid argument\n"))


@pytest.mark.parametrize("shown", ["", "[]", '[{"kind":"noqueue","root":true}]'])
def test_an_interface_without_netem_has_none_installed(shown: str) -> None:
    assert impairment.installed(Node("a", FakeShell({"show": shown}), FakeEvents(), []), "eth0") == {}
