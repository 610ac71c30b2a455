"""Links of virtual Ethernet made wires: the commands in their order, and what is done where a kernel lacks some."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, captured, move_home
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.topology import CONTROL, PAIR
from tunbench.runner.network import underlay, wires
from tunbench.runner.network.underlay import Interface
from tunbench.runner.node import node as node_module
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

CUT = "ethtool -K eth0 tso off gso off tx-udp-segmentation off"
UNKNOWN = Result(1, "", "Error: Specified qdisc kind is unknown.\n")
QUICK = Link("quick", Direction(delay=0), Direction(delay=0))
"""A link without any delay."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kernel that has ifb."""
    move_home(monkeypatch, tmp_path)
    (node_module.ROOT / "sys/module/ifb").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def no_ifb(home: Path) -> None:
    (node_module.ROOT / "sys/module/ifb").rmdir()


def built(
    link: Link, answers: dict[str, Answer] | None = None, roles: tuple[str, ...] = (), kind: str = "ip"
) -> FakeEvents:
    events, shell = FakeEvents(), FakeShell(answers)
    under = underlay.of(kind, PAIR, link, roles)
    made = {name: Node(name, shell, events, ["nsenter", "--"]) for name in under.names}
    wires.build(under, made | {"lab": Node("lab", shell, events)}, events)
    return events


def batches(events: FakeEvents, program: str) -> dict[str, list[str]]:
    """The lines of each batch that a node was given."""
    return {
        one["node"]: one["shell"].splitlines()[1:-1]
        for one in events.of("command")
        if f" {program} -batch" in one["shell"]
    }


def test_a_wire_cuts_and_then_delays() -> None:
    events = built(underlay.WIRE)
    assert events.commands[:2] == [f"ip netns exec {name} {CUT}" for name in ("a", "b")]
    assert batches(events, "ip") == {"router": ["link add from-a up type ifb", "link add from-b up type ifb"]}
    assert batches(events, "tc") == {
        "router": [
            line
            for name in ("a", "b")
            for line in (
                f"qdisc add dev from-{name} root netem limit 100000 delay 150us",
                f"qdisc replace dev to-{name} clsact",
                f"filter add dev to-{name} ingress matchall action mirred egress redirect dev from-{name}",
            )
        ]
    }
    assert len(events.commands) == 4
    assert events.of("warning") == events.of("link") == []


def test_nodes_with_a_role_have_a_wire_too_and_the_edge_has_none() -> None:
    events = built(underlay.WIRE, roles=(CONTROL,))
    assert [one["node"] for one in events.of("command") if CUT in one["shell"]] == ["a", "b", CONTROL]
    assert batches(events, "ip")["router"][-1] == f"link add from-{CONTROL} up type ifb"
    assert not any("edge" in text for text in events.commands)


def test_the_delay_of_a_bridge_is_in_the_bridge() -> None:
    events = built(underlay.WIRE, kind="ethernet")
    assert list(batches(events, "tc")) == ["bridge"]


def test_a_packet_takes_the_delay_of_both_links_that_it_crosses() -> None:
    events = built(Link("any", Direction(delay=0.001), Direction(delay=0.0025)))
    assert batches(events, "tc")["router"][0] == "qdisc add dev from-a root netem limit 100000 delay 3500us"


def test_bundles_pass_uncut_where_segmentation_is_after() -> None:
    events = built(Link("any", QUICK.up, QUICK.down, segmentation="after"))
    assert events.told == []


def test_nothing_is_led_through_another_interface_where_there_is_no_delay() -> None:
    events = built(QUICK)
    assert events.commands == [f"ip netns exec {name} {CUT}" for name in ("a", "b")]


def test_what_arrives_is_put_together_where_the_other_end_hands_on_no_bundles() -> None:
    events = built(replace(QUICK, gro=50e-6))
    assert events.commands[2:] == [
        line
        for name in ("a", "b")
        for line in (
            f"ip netns exec router {CUT.replace('eth0', f'to-{name}')}",
            f"ip netns exec {name} ethtool -K eth0 gro on",
            f"""ip netns exec {name} sh -c 'echo "$1" >"/sys/class/net/$0/gro_flush_timeout"' eth0 50000""",
        )
    ]


def test_what_is_put_together_is_counted_without_its_header() -> None:
    # veth_xdp_rcv() counts what eth_type_trans() has left of a frame.
    for gro, header in ((0.0, 14), (50e-6, 0)):
        under = underlay.of("ip", PAIR, replace(QUICK, gro=gro))
        assert [one.framing for one in under.endpoints.values()] == [header, header]


def test_a_bundle_holds_the_full_frames_that_come_between_two_interrupts() -> None:
    # A frame of 1514 bytes is 1538 on the wire, and takes 12.3 µs at 1 Gbit/s.
    for seconds, frames in ((50e-6, 4), (100e-6, 8), (245e-6, 19)):
        events = built(Link("card", QUICK.up, QUICK.down._replace(rate=1e9), gro=seconds))
        size = f"ip link set dev eth0 gro_max_size {1500 * frames}"
        assert [f"ip netns exec {name} {size}" for name in ("a", "b")] == [
            one for one in events.commands if "gro_max_size" in one
        ]


def test_without_ethtool_nothing_can_be_cut() -> None:
    with pytest.raises(
        Unsupported, match=r'program ethtool is not installed.*: install it, or name the link "aggregates"'
    ):
        built(underlay.WIRE, {"command -v": Result(1, "", "")})


@pytest.mark.usefixtures("no_ifb")
def test_a_module_that_is_not_loaded_is_loaded_without_interfaces_of_its_own() -> None:
    def load(_: object) -> Result:
        (node_module.ROOT / "sys/module/ifb").mkdir()
        return Result(0, "", "")

    events = built(underlay.WIRE, {"modprobe ifb": load})
    assert "modprobe ifb numifbs=0" in events.commands
    assert list(batches(events, "tc")) == ["router"]
    assert events.of("warning") == []


@pytest.mark.usefixtures("no_ifb")
@pytest.mark.parametrize("modprobe", [Result(0, "", ""), Result(1, "", "modprobe: FATAL: Module ifb not found")])
def test_a_kernel_without_ifb_has_no_base_delay_and_says_so(modprobe: Result) -> None:
    events = built(underlay.WIRE, {"modprobe ifb": modprobe})
    assert batches(events, "tc") == batches(events, "ip") == {}
    assert [(one["name"], one["text"]) for one in events.of("warning")] == [
        ("link-differs", "this kernel has no delay for a link (module ifb): round trips are 300 µs shorter")
    ]


def test_a_kernel_without_netem_has_no_base_delay_and_says_so() -> None:
    events = built(underlay.WIRE, {"tc -batch": UNKNOWN})
    assert [(one["name"], one["text"]) for one in events.of("warning")] == [
        ("link-differs", "this kernel has no netem (module sch_netem): round trips are 300 µs shorter")
    ]


@pytest.mark.usefixtures("no_ifb")
@pytest.mark.parametrize(("there_and_back", "refused"), [(0.0005, False), (0.000501, True)])
def test_a_delay_of_more_than_a_millisecond_is_not_left_out(there_and_back: float, refused: bool) -> None:
    link = Link("any", Direction(delay=there_and_back), Direction(delay=there_and_back))
    if refused:
        with pytest.raises(Unsupported, match="no delay for a link"):
            built(link)
    else:
        assert len(built(link).of("warning")) == 1


def test_without_netem_a_longer_delay_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="no netem"):
        built(Link("any", Direction(delay=0.002)), {"tc -batch": UNKNOWN})


LINE = Link("line", Direction(500e6, 0, 0, 0.05), Direction(5e9, 0, 100))

NARROW = Link("narrow", Direction(5e6, 0, 0, 0.05), Direction(50e6, 0, 100))
"""One whose frames take their time."""

TBF = "tbf rate {}bit burst 3028 peakrate {}bit mtu 1514 limit {} mpu 84 overhead 24 linklayer ethernet"


def test_packets_wait_where_they_enter_a_link() -> None:
    events = built(LINE)
    up, down = TBF.format(500_000_000, 1_000_000_000, 2032 * 1514), TBF.format(5 * 10**9, 10**10, 1_000_000_000)
    assert batches(events, "tc") == {
        "a": [f"qdisc replace dev eth0 root handle 2: {up}"],
        "b": [f"qdisc replace dev eth0 root handle 2: {up}"],
        "router": [
            line
            for name in ("a", "b")
            for line in (
                f"qdisc replace dev to-{name} root handle 2: {down}",
                f"qdisc add dev to-{name} parent 2:1 handle 3: pfifo limit 100",
            )
        ],
    }


def test_what_goes_down_a_narrow_link_waits_before_the_interface_and_is_sent_behind() -> None:
    events = built(NARROW)
    assert batches(events, "tc")["a"] == [
        f"qdisc replace dev eth0 root handle 2: {TBF.format(5 * 10**6, 10**7, 30280)}"
    ]
    made = [one["shell"].splitlines()[1:-1] for one in events.of("command") if "router ip -batch" in one["shell"]]
    assert made == [[f"link add {before}{name} up type ifb" for name in ("a", "b")] for before in ("from-", "q-to-")]
    arriving, leaving = (
        one["shell"].splitlines()[1:-1] for one in events.of("command") if "router tc -batch" in one["shell"]
    )
    assert arriving[:3] == [
        "qdisc add dev from-a root netem limit 100000 rate 5000000bit 24",
        "qdisc replace dev to-a clsact",
        "filter add dev to-a ingress matchall action mirred egress redirect dev from-a",
    ]
    assert leaving == [
        line
        for name in ("a", "b")
        for line in (
            f"qdisc replace dev q-to-{name} root handle 2: {TBF.format(50 * 10**6, 10**8, 1_000_000_000)}",
            f"qdisc add dev q-to-{name} parent 2:1 handle 3: pfifo limit 100",
        )
    ] + [
        line
        for name in ("a", "b")
        for line in (
            f"qdisc replace dev to-{name} root netem limit 100000 rate 50000000bit 24",
            f"qdisc replace dev to-{name} clsact",
            f"filter add dev to-{name} egress matchall action mirred egress redirect dev q-to-{name}",
        )
    ]


@pytest.mark.usefixtures("no_ifb")
def test_without_ifb_a_narrow_link_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="module ifb"):
        built(NARROW)


def test_what_the_kernel_made_of_a_rate_is_told() -> None:
    shown = captured("qdisc-link.json")
    events = built(NARROW, {"qdisc show": shown})
    tbf = next(one for one in json.loads(shown) if one["kind"] == "tbf")
    assert [(one["node"], one["interface"], one["asked"], one["installed"]) for one in events.of("link")] == [
        ("a", "eth0", {"delay": 0, "rate": 5e6, "queue_seconds": 0.05}, tbf),
        ("b", "eth0", {"delay": 0, "rate": 5e6, "queue_seconds": 0.05}, tbf),
        ("router", "to-a", {"delay": 0, "rate": 50e6, "queue_packets": 100}, tbf),
        ("router", "to-b", {"delay": 0, "rate": 50e6, "queue_packets": 100}, tbf),
    ]
    # The kernel of the capture has 50 Mbit/s everywhere.
    assert [(one["name"], one["text"]) for one in events.of("warning")] == [
        ("link-differs", f"{name}/eth0: rate: asked for 5e+06 bit/s, installed is 5e+07") for name in ("a", "b")
    ]


def test_a_direction_without_a_rate_has_no_shaper() -> None:
    events = built(Link("any", LINE.up, QUICK.down))
    assert list(batches(events, "tc")) == ["a", "b"]
    events = built(Link("any", QUICK.up, LINE.down))
    assert list(batches(events, "tc")) == ["router"]


def test_a_kernel_without_tbf_is_unsupported() -> None:
    with pytest.raises(Unsupported, match=r"^this kernel has no tbf \(module sch_tbf\)$"):
        built(LINE, {"tc -batch": UNKNOWN})


def entrances(under: underlay.Underlay) -> dict[Interface, Direction]:
    return {one.interface: one.way for one in wires.entrances(under)}


def test_the_interfaces_that_a_rate_is_on() -> None:
    under = underlay.of("ethernet", PAIR, Link("any", LINE.up, QUICK.down))
    assert entrances(under) == {Interface("a", "eth0"): LINE.up, Interface("b", "eth0"): LINE.up}
    assert entrances(underlay.of("ip")) == {}
