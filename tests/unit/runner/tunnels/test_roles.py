"""Nodes with a role beside the endpoints: where they stand, what acts on them, and what goes through them."""

import re
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home
from tunbench.runner import stack, trials
from tunbench.runner.declare import topology
from tunbench.runner.declare.topology import CONTROL, PAIR, RELAY
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.network import links, relays, underlay
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.proof import claims
from tunbench.runner.proof.path_series import Stretch
from tunbench.runner.site import Site
from tunbench.runner.trials import execute

COUNTERS = "cat /sys/class/net/to-a"


def laboratory(spelling: str, shell: FakeShell, events: FakeEvents, form: str = "pair", kind: str = "ip") -> Site:
    under = underlay.of(kind, topology.read(form), roles=stack.roles(spelling))
    nodes = {name: Node(name, shell, events, ["nsenter", "--target", name, "--"]) for name in under.names}
    built_stack = stack.build(spelling, under.endpoints, under.topology, under.roles)
    return Site({"lab": Node("lab", shell, events), **nodes}, under, built_stack)


@pytest.mark.parametrize(
    ("spelling", "roles"),
    [
        ("wireguard", []),
        ("headscale", [CONTROL]),
        ("headscale:derp=own+vxlan", [CONTROL, RELAY]),
    ],
)
def test_a_stack_needs_the_roles_of_its_layers(spelling: str, roles: list[str]) -> None:
    assert stack.roles(spelling) == roles


@pytest.mark.parametrize(
    ("kind", "address"), [("ip", "10.0.252.2"), ("ip6", "fd00:0:0:fc::2"), ("ethernet", "10.0.0.252")]
)
def test_a_node_with_a_role_has_a_network_of_its_own(kind: str, address: str) -> None:
    largest = topology.read(f"mesh:nodes={topology.MAX_ENDPOINTS}")
    under = underlay.of(kind, largest, roles=[CONTROL, RELAY])
    leaves = [leaf.address for leaf in under.leaves.values()]
    assert len(set(leaves)) == len(leaves) == topology.MAX_ENDPOINTS + 3
    assert under.roles[CONTROL].address == address


def test_the_underlay_gives_it_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_home(monkeypatch, tmp_path)
    shell = FakeShell()
    site = laboratory("headscale", shell, FakeEvents())
    links.build(site.underlay, site.nodes)
    said = "\n".join(call.stdin for call in shell.calls)
    assert "link add to-control netns router type veth peer name eth0 netns control" in said
    assert "address add 10.0.252.1/24 dev to-control" in said
    assert "route add default via 10.0.252.1" in said


def test_layers_act_on_roles_before_endpoints_and_those_above_never() -> None:
    site = laboratory("headscale:derp=own+vxlan", FakeShell(), FakeEvents())
    acted = [list(stack.of_layer(layer, site.members)) for layer in site.stack.layers]
    assert acted == [[CONTROL, RELAY, "a", "b"], ["a", "b"]]
    assert set(site.stack.overlay) == {"a", "b"}


def test_what_could_be_relayed_must_go_from_end_to_end() -> None:
    [layer] = laboratory("headscale", FakeShell(), FakeEvents()).stack.layers
    assert claims.ways(layer, PAIR.pairs[0])[0].evidence == (
        "udp port 41641 and udp[8:4] = 0x04000000 and host 10.0.1.2 and host 10.0.2.2"
    )


def test_what_a_control_plane_says_does_not_go_around_a_layer() -> None:
    for layer in laboratory("headscale+vxlan", FakeShell(), FakeEvents()).stack.layers:
        assert "(host 10.0.252.2)" in claims.other_traffic(layer, claims.ways(layer, PAIR.pairs[0])[0])
    [layer] = laboratory("wireguard", FakeShell(), FakeEvents()).stack.layers
    assert claims.other_traffic(layer, claims.ways(layer, PAIR.pairs[0])[0]) == ""


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"a": 90_000_000, "b": 90_000_000, CONTROL: 100_000}, ""),
        ({"a": 4_000, "b": 4_000, CONTROL: 49_000}, ""),
        ({"a": 90_000, "b": 90_000, CONTROL: 180_000}, "control was sent 180000 bytes, the endpoints 180000"),
    ],
)
def test_packets_through_a_node_with_a_role_are_told(sent: dict[str, int], text: str) -> None:
    assert relays.relayed(sent, [CONTROL]) == text


def test_a_relayed_workload_is_a_warning() -> None:
    counts = iter(["1000\n1000\n500\n", "2000000\n2000000\n3000500\n"])
    events = FakeEvents()
    shell = FakeShell({COUNTERS: lambda _: Result(0, next(counts), "")})
    site = laboratory("headscale", shell, events)
    with relays.watched("ping", site.underlay, site.nodes, events):
        pass
    assert events.of("roles") == [{"event": "roles", "workload": "ping", "bytes": {CONTROL: 3_000_000}}]
    [warning] = events.of("warning")
    assert (warning["name"], warning["text"]) == (
        "relayed",
        "ping: control was sent 3000000 bytes, the endpoints 3998000",
    )


def test_counters_that_cannot_be_read_are_no_zero() -> None:
    events = FakeEvents()
    site = laboratory("headscale", FakeShell({COUNTERS: "12\n"}), events)
    watched = relays.watched("x", site.underlay, site.nodes, events)
    with pytest.raises(OSError, match="the counters of router could not be read"), watched:
        pass


def test_without_a_role_nothing_is_counted() -> None:
    shell, events = FakeShell(), FakeEvents()
    site = laboratory("wireguard", shell, events)
    with relays.watched("ping", site.underlay, site.nodes, events):
        pass
    assert (shell.calls, events.told) == ([], [])


def test_a_trial_fails_whose_control_plane_has_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_home(monkeypatch, tmp_path)
    events, shell = (
        FakeEvents(),
        FakeShell(
            {
                COUNTERS: "1\n1\n1\n",
                "list table": "{}",
                "ping -n -c": captured("ping-clean.txt"),
            }
        ),
    )
    site = laboratory("headscale", shell, events)
    [layer] = site.stack.layers
    layer.start(site.nodes[CONTROL], "headscale", "serve")
    shell.started[-1].status = 1
    executed = execute("ping:count=5", site, (), events, "direct")
    assert executed.verdict == Verdict.FAILED
    assert re.search("headscale: its daemon on control ended with status 1", executed.reason)
    assert executed.samples


@pytest.mark.parametrize(
    ("proven", "told"), [(None, "direct, derp from 4 s"), ("", ""), ("derp", "direct, derp from 4 s")]
)
def test_a_path_that_changed_is_told_unless_the_proof_failed(proven: str | None, told: str) -> None:
    events, stretches = FakeEvents(), [Stretch(0, 3, "direct"), Stretch(4, 9, "derp")]
    rows = [["rtt", "s", value, at, "a-b", "a"] for at, value in [(1, 0.5), (5, 0.75)]]
    executed = trials.Executed(Verdict.OK, "", rows, {}, proven, proven)
    assert trials.with_paths(executed, "ping", stretches, events).path == told
    [warning] = events.of("warning")
    assert warning["text"] == "ping: direct, derp from 4 s; median rtt (s): 0.5, 0.75"
