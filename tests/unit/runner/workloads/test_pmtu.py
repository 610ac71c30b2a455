"""What path MTU discovery says, and packets that vanish although it allows them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, captured, move_home, pcap, two_nodes
from tests.helpers.outputs import VALUES
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import pmtu
from tunbench.runner.workloads.shared.output_bounds import LARGEST_PACKET

MTU = 1500


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def path_of(link: int, tells: bool) -> dict[str, Answer]:
    """A path of which a link takes packets of that size and smaller, and whose router tells others so or does not."""
    told: list[int] = []

    def ping(call: Call) -> Result:
        size = int(call.argv[call.argv.index("-s") + 1]) + 28
        if size > min([MTU, *told]):
            return Result(1, "", captured("ping-df-local.txt"))
        if size <= link:
            return Result(0, captured("ping-df-fits.txt"), "")
        told.extend([link] if tells else [])
        return Result(1, captured("ping-df-frag-needed.txt" if tells else "ping-all-lost.txt"), "")

    def route(call: Call) -> Result:
        return Result(0, captured("route-learned.json" if told else "route-plain.json"), "")

    return {"ping": ping, "route get": route, "ss -H": "LISTEN\n", "--client": captured("iperf3-tcp.json")}


def measured(answers: dict[str, Answer]) -> tuple[dict[str, float], list[str], Trial]:
    def capture(call: Call, log: Path) -> None:
        log.write_text("listening on to-b\n")
        Path(call.argv[call.argv.index("-w") + 1]).write_bytes(pcap([]))

    shell, events = FakeShell(answers, {"tcpdump": capture, "iperf3": lambda *_: 0}), FakeEvents()
    client, server = two_nodes(shell, events)

    @contextmanager
    def view() -> Iterator[tuple[Node, str]]:
        yield client, "to-b"

    trial = Trial({}, client, server, PAIR_UNDERLAYS["ip"].endpoints, [view])
    pmtu.execute(trial)
    return {one.metric: one.value for one in trial.samples}, events.commands, trial


def test_where_everything_passes_discovery_says_the_mtu() -> None:
    values, commands, trial = measured(path_of(MTU, tells=True))
    assert values == {"pmtu": MTU, "discovered": MTU, "black-hole": 0, "interruptions": 0, "mss": 1460}
    assert set(values) == set(pmtu.ABOUT.metrics)
    pings = [text for text in commands if " ping " in text]
    a = "ip netns exec a ping -n -c 5 -i 0.02 -W 1"
    assert pings == [
        f"{a} -M do -s 1472 10.0.2.2",
        f"{a} -M do -s 1473 10.0.2.2",
        f"{a} -M do -s 0 10.0.2.2",
        f"{a} -M want -s 1472 10.0.2.2",
    ]
    assert "ip netns exec a ip -json route get 10.0.2.2" in commands
    assert trial.outputs["route.json"] == captured("route-plain.json")


def test_a_router_that_tells_its_smaller_link_is_no_black_hole() -> None:
    values, _, _ = measured(path_of(1400, tells=True))
    assert values == {"pmtu": 1400, "discovered": 1400, "black-hole": 0, "interruptions": 0, "mss": 1460}


def test_a_router_that_tells_nothing_is_a_black_hole() -> None:
    values, commands, _ = measured(path_of(1400, tells=False))
    assert values == {"pmtu": 1400, "discovered": 1500, "black-hole": 1, "interruptions": 0, "mss": 1460}
    assert [text for text in commands if "ping" in text and "-s 0 " not in text][-1].endswith("-M do -s 1472 10.0.2.2")


def test_discovery_goes_on_until_it_learns_nothing_more() -> None:
    mtus = iter([1450, 1400, 1400])
    answers = path_of(MTU, tells=False)
    answers["route get"] = lambda call: Result(0, json.dumps([{"metrics": [{"mtu": next(mtus)}]}]), "")
    values, commands, _ = measured(answers)
    assert values["discovered"] == 1400
    assert [text.split()[-2] for text in commands if "-M want" in text] == ["1472", "1422", "1372"]


def hangs_up(link: int, silent: int) -> dict[str, Answer]:
    """A tunnel that is down for so many commands of ping behind a packet that is larger than the link."""
    answers, down = path_of(link, tells=False), [0]
    path = answers["ping"]

    def ping(call: Call) -> Result:
        assert callable(path)
        large = int(call.argv[call.argv.index("-s") + 1]) + 28 > link
        if large and not down[0]:
            down[0] = silent + 1
        if down[0]:
            down[0] -= 1
            return Result(1, captured("ping-all-lost.txt"), "")
        return path(call)

    return answers | {"ping": ping}


def test_the_next_size_is_asked_when_a_tunnel_that_hung_up_is_back() -> None:
    values, commands, _ = measured(hangs_up(1400, silent=1))
    assert (values["pmtu"], values["black-hole"]) == (1400, 1)
    assert values["interruptions"] == len([text for text in commands if " -w 10 " in text]) > 1
    first = next(index for index, text in enumerate(commands) if " -s 1472 " in text)
    assert [text.split("ping ")[1] for text in commands[first + 1 : first + 3]] == [
        "-n -c 5 -i 0.02 -W 1 -M do -s 0 10.0.2.2",
        "-n -c 1 -i 0.02 -w 10 -M do -s 0 10.0.2.2",
    ]


def test_a_tunnel_that_does_not_come_back_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="behind packets of 1500 B, which did not pass, nothing passed for 10 s"):
        measured(hangs_up(1400, silent=2))


def test_no_route_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="Network is unreachable"):
        measured(path_of(MTU, tells=True) | {"route get": Result(2, "", "RTNETLINK answers: Network is unreachable\n")})


@pytest.mark.parametrize(("name", "mtu"), [("route-learned", 1400), ("route6-learned", 1400), ("route-plain", 1500)])
def test_the_mtu_of_a_route_is_what_was_learned(name: str, mtu: int) -> None:
    assert pmtu.route_mtu(captured(f"{name}.json"), 1500) == mtu


@pytest.mark.parametrize("mss", [0, 1448.5, 65524, 10**14])
def test_an_mss_that_no_packet_can_have_has_failed(mss: float) -> None:
    assert pmtu.parse({"start": {"tcp_mss_default": 65523}}).value == LARGEST_PACKET
    with pytest.raises(WorkloadFailed, match=r"iperf3 told an MSS that makes no sense|no whole number"):
        pmtu.parse({"start": {"tcp_mss_default": mss}})


def test_a_route_that_was_torn_has_failed() -> None:
    text = captured("route-learned.json").strip()
    for end in range(len(text)):
        with pytest.raises(WorkloadFailed, match="ip told no route"):
            pmtu.route_mtu(text[:end], 1500)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_any_value_in_a_route_is_sound_or_has_failed(value: Any) -> None:
    for data in (value, [value], [{"metrics": value}], [{"metrics": [value]}], [{"metrics": [{"mtu": value}]}]):
        try:
            assert 0 < pmtu.route_mtu(json.dumps(data), 1500) <= 1500
        except WorkloadFailed:
            continue
