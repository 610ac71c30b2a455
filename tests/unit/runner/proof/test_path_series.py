"""Which way packets went, second by second, and what is said of a path that gives way to another."""

import json
import re
import time
from collections.abc import Sequence

import pytest

from tests.helpers.fakes import Call, FakeEvents, FakeProcess, FakeShell
from tunbench.runner import invocation, stack, trials
from tunbench.runner.declare import topology
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.proof import claims, path_series
from tunbench.runner.proof.claims import Way
from tunbench.runner.proof.path_series import Stretch, found, said, seconds, split
from tunbench.runner.site import Site
from tunbench.runner.workloads.shared import blocks

WAYS = [
    Way("udp and host 10.0.1.2 and host 10.0.2.2", "direct"),
    Way("udp port 9 and host 10.0.251.2", "relay", "relay"),
]


def listed(*elements: tuple[int, str, int]) -> str:
    """The sets as nft 1.0.6 lists them: the number of the way, the time of day, and the bytes."""
    sets = [
        {
            "set": {
                "name": f"way-{number}",
                "elem": [
                    {"elem": {"val": hour, "counter": {"packets": 1, "bytes": size}}}
                    for which, hour, size in elements
                    if which == number
                ],
            }
        }
        for number in range(2)
    ]
    return json.dumps({"nftables": [{"metainfo": {}}, {"table": {"name": "paths"}}, *sets]})


def test_bytes_are_counted_by_path_and_second() -> None:
    text = listed((0, "00:00:59", 900), (0, "00:01", 700), (1, "00:01", 800))
    assert seconds(text, 58, WAYS) == {1: {"direct": 900}, 2: {"direct": 700, "relay": 800}}


def test_midnight_is_a_second_like_any_other() -> None:
    assert seconds(listed((0, "00:00:01", 900)), 86399, WAYS) == {2: {"direct": 900}}


def test_an_empty_set_is_listed_without_elements() -> None:
    assert seconds('{"nftables": [{"metainfo": {}}, {"set": {"name": "way-0"}}]}', 0, WAYS) == {}


DIRECT, RELAY = {"direct": 90_000}, {"relay": 90_000}
BOTH, CHATTER = {"direct": 50_000, "relay": 50_000}, {"relay": 1200}


@pytest.mark.parametrize(
    ("series", "stretches"),
    [
        ([], []),
        ([DIRECT] * 3, [Stretch(0, 3, "direct")]),
        ([DIRECT, DIRECT, BOTH, RELAY], [Stretch(0, 2, "direct"), Stretch(3, 4, "relay")]),
        ([DIRECT, RELAY, DIRECT], [Stretch(0, 1, "direct"), Stretch(1, 2, "relay"), Stretch(2, 3, "direct")]),
        # A control plane that speaks while nothing else does is no path, and silence is of the path around it.
        ([DIRECT, CHATTER, {}, DIRECT], [Stretch(0, 4, "direct")]),
        ([{"direct": 600}, {"relay": 9000}, {"direct": 600}], []),
        ([{"direct": 2000}, {"relay": 9000}, {"direct": 2000}], [Stretch(0, 3, "direct")]),
        ([CHATTER] * 30, []),
        # The slow path is one as well, though the fast one carried ten times as much in a second.
        (
            [{"direct": 100_000_000}] * 3 + [{"relay": 9_000_000}] * 10,
            [Stretch(0, 3, "direct"), Stretch(3, 13, "relay")],
        ),
        ([{"direct": 100_000_000}] * 3 + [{"relay": 100_000}] * 10, [Stretch(0, 3, "direct")]),
        ([BOTH] * 3, [Stretch(0, 3, "mixed")]),
        ([DIRECT, BOTH, BOTH], [Stretch(0, 1, "direct"), Stretch(1, 3, "mixed")]),
        ([DIRECT, BOTH, DIRECT], [Stretch(0, 3, "direct")]),
    ],
)
def test_a_stretch_has_one_path(series: list[dict[str, int]], stretches: list[Stretch]) -> None:
    assert found({at: sizes for at, sizes in enumerate(series) if sizes}, ["direct"]) == stretches


def test_a_path_is_one_whoever_has_proven_it() -> None:
    assert found({0: DIRECT, 1: {"relay": 2000}}, ["direct"]) == [Stretch(0, 1, "direct")]
    assert found({-0.5: DIRECT, 0.5: {"relay": 2000}}, ["direct", "relay"]) == [
        Stretch(0, 0.5, "direct"),
        Stretch(0.5, 1.5, "relay"),
    ]


def test_the_last_second_is_of_the_path_that_was_proven_behind_it() -> None:
    counted: path_series.Counted = {0: DIRECT, 1: RELAY, 2: BOTH}
    begin = [Stretch(0, 1, "direct"), Stretch(1, 2, "relay")]
    assert found(counted, ["direct"]) == found(counted, ["direct"], "other") == [*begin, Stretch(2, 3, "mixed")]
    assert found(counted, ["direct"], "direct") == [*begin, Stretch(2, 3, "direct")]
    assert found({0: BOTH}, ["direct"], "direct") == [Stretch(0, 1, "mixed")]


def test_each_path_is_said_with_the_second_from_which_on_it_was_taken() -> None:
    assert said([Stretch(0, 3, "direct")]) == "direct"
    assert said([Stretch(0, 3, "direct"), Stretch(4, 9, "derp")]) == "direct, derp from 4 s"


def test_samples_are_split_by_the_path_that_was_taken_at_their_moment() -> None:
    stretches = [Stretch(0, 2.5, "direct"), Stretch(3.5, 6, "derp"), Stretch(6, 9, "direct")]
    rows: list[list[object]] = [
        *(["rtt", "s", value, at, "a-b", "a"] for at, value in [(0, 1), (1, 3), (2.4, 2), (3, 99), (4, 7), (5, 9)]),
        ["loss", "ratio", 0.5, None, "a-b", "a"],
        ["cwnd", "B", 5, 1.0, "a-b", "a"],
    ]
    assert split(stretches, rows) == {"rtt (s)": [2, 8, None]}


def site_of(spelling: str, form: str = "pair", shell: FakeShell | None = None) -> Site:
    shell, events = shell or FakeShell(), FakeEvents()
    under = underlay.of("ip6" if "ipv6" in spelling else "ip", topology.read(form), roles=stack.roles(spelling))
    built = stack.build(spelling, under.endpoints, under.topology, under.roles)
    return Site({name: Node(name, shell, events) for name in under.names}, under, built)


def ways_of(site: Site, workload: str = "ping", proven: str = "direct") -> list[str]:
    """The paths of which one is looked for."""
    return [way.path for way in trials._choice(site, invocation.read(workload).pairs(site.underlay.topology), proven)]


def test_packets_are_followed_only_where_they_have_a_choice_and_it_is_known() -> None:
    assert ways_of(site_of("headscale")) == ["direct", "derp"]
    assert ways_of(site_of("headscale"), proven="mixed") == ["direct", "derp"]
    assert ways_of(site_of("wireguard")) == ways_of(site_of("nebula")) == []
    # What a plan demands stands, and so does what was proven of several layers or pairs.
    assert ways_of(site_of("headscale:path=derp"), proven="derp") == []
    assert ways_of(site_of("headscale"), proven="direct, derp") == []
    mesh = site_of("headscale", "mesh:nodes=3")
    assert ways_of(mesh, "ping:pairs=each") == ways_of(mesh, "ping:pairs=together") == []
    assert ways_of(mesh) == ["direct", "derp"]


def rules_of(spelling: str) -> str:
    site = site_of(spelling)
    return path_series.rules(site.underlay, site.pair, claims.ways(site.stack.layers[0], site.pair))


def test_of_a_relay_the_router_counts_what_is_evident_of_its_path() -> None:
    direct = 'iifname { "to-a", "to-b" } oifname { "to-a", "to-b" } add @way-0 { meta hour }'
    headscale, netbird = rules_of("headscale"), rules_of("netbird")
    assert direct in headscale and direct in netbird
    assert 'iifname "to-control" oifname { "to-a", "to-b" } tcp sport 443 add @way-1 { meta hour }' in headscale
    # Two paths through one node are told by the protocol.
    assert len(re.findall(r'iifname "to-control" .* (?:udp|tcp) sport 33080 add @way-\d', netbird)) == 2
    assert "udp sport 4242 add @way-1 { meta hour }" in rules_of("nebula:relay=on,outer=ipv6")


def test_the_router_counts_behind_whatever_blocks_udp() -> None:
    """What is dropped took no path: of two chains at one hook that with the larger number comes later."""
    assert "hook forward priority filter - 1;" in blocks.RULES
    assert "hook forward priority filter + 1;" in rules_of("headscale")


def counted_by(shell: FakeShell, ways: Sequence[Way] = WAYS) -> tuple[dict[float, dict[str, int]], list[str]]:
    """What was counted, and the commands by which."""
    events = FakeEvents()
    under = underlay.of("ip", roles=["relay"])
    with path_series.watched(under, {"router": Node("router", shell, events)}, under.topology.pairs[0], ways) as one:
        assert one == {}
    return one, events.commands


def test_what_was_counted_is_read_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 86400 * 3 + 0.25)
    counted, commands = counted_by(FakeShell({"list table": listed((1, "00:00:01", 900))}))
    assert counted == {0.75: {"relay": 900}}
    assert commands[-1].endswith("nft delete table inet paths")


def test_where_nobody_can_count_nothing_is_counted() -> None:
    for shell, ways in [
        (FakeShell({"nft -f": Result(1, "", "")}), WAYS),
        (FakeShell(), [*WAYS, Way("udp port 9 or tcp port 9 and host 10.0.251.2", "odd", "relay")]),
    ]:
        counted, commands = counted_by(shell, ways)
        assert counted == {} and not any("list table" in one or "delete" in one for one in commands)


@pytest.mark.parametrize(("anew", "path"), [(False, "derp"), (True, "direct")])
def test_what_a_control_plane_says_while_a_stack_enrols_anew_is_no_path(
    anew: bool, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of("headscale", shell=FakeShell({"list table": listed((1, "00:00:01", 90_000))}))
    layer = site.stack.layers[0]
    layer.daemons["a"] = [FakeProcess(Call([], "", None))]

    def restarted(*_: object) -> trials.Executed:
        if anew:
            layer.daemons["a"] = [FakeProcess(Call([], "", None))]
        return trials.Executed(Verdict.OK, "", [], {}, "direct", "direct")

    monkeypatch.setattr(trials, "_execute_beside_relays", restarted)
    assert trials.execute("connect", site, (), FakeEvents(), "direct").path == path
