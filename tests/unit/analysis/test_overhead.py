"""What a stack adds to a packet: computed from its formats, and read from captures."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, captured, move_home, pcap, two_nodes
from tunbench.analysis import overhead
from tunbench.analysis.overhead import Limits, Sizes
from tunbench.journal.record import Record, TrialResult
from tunbench.runner import registry
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import ETHERNET, IP, UDP, Format, Header, cut
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.proof.fragments import Sent, joined
from tunbench.runner.tunnel import in_ipv6
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import overhead as measured
from tunbench.runner.workloads import pmtu
from tunbench.runner.workloads.shared.iperf import iperf3_report
from tunbench.runner.workloads.shared.output_bounds import LARGEST_PACKET


def header(size: int) -> Header:
    return Header("header", size, "nowhere")


formats = st.builds(
    Format,
    outside=st.tuples(st.builds(header, st.integers(0, 100))),
    inside=st.tuples(st.builds(header, st.integers(0, 20))),
    block=st.sampled_from([1, 4, 8, 16]),
    kept=st.sampled_from([0, 20, 40]),
    clipped=st.just(False),
)


@given(form=formats, below=st.integers(576, 9000))
def test_the_largest_packet_fits_and_the_next_one_does_not(form: Format, below: int) -> None:
    largest = form.largest(below)
    assert form.size(largest, largest) <= below
    assert form.size(largest + 1, largest + 1) > below


@given(form=formats, packet=st.integers(40, 9000))
def test_a_packet_grows_by_its_headers_and_less_than_a_block(form: Format, packet: int) -> None:
    added = form.size(packet, 65535) - packet
    headers = sum(one.size for one in (*form.outside, *form.inside))
    assert headers <= added < headers + form.block
    assert (form.size(packet, 65535) - form.outside[0].size - form.kept) % form.block == 0


def test_padding_within_the_mtu_leaves_the_largest_packet_as_it_is() -> None:
    form = Format((header(60),), block=16, clipped=True)
    assert form.largest(1481) == 1421
    assert form.size(1421, 1421) == 1481
    assert form.size(1409, 1421) == 1481
    assert form.size(50, 1421) == 124


@pytest.mark.parametrize(
    ("stack", "packet", "added"),
    [
        ("none", 100, (0,)),
        ("ipip", 100, (20,)),
        ("wireguard", 84, (60 + 12,)),
        ("wireguard:outer=ipv6", 84, (80 + 12,)),
        ("wireguard+vxlan", 84, (60 + 10, 50)),
        ("vxlan+ipip", 1000, (50, 20)),
    ],
)
def test_each_layer_adds_what_its_format_says(stack: str, packet: int, added: tuple[int, ...]) -> None:
    assert overhead.computed(overhead.built(stack), packet).added == added


@pytest.mark.parametrize(
    ("stack", "limits"),
    [
        ("none", Limits(1500, 1460)),
        ("none:underlay=ip6", Limits(1500, 1440)),
        ("wireguard", Limits(1440, 1400)),
        ("vxlan:inner=ipv6", Limits(1450, 1390)),
        ("gre:mtu=1000", Limits(1000, 960)),
    ],
)
def test_the_mtu_and_the_mss_follow(stack: str, limits: Limits) -> None:
    assert overhead.limits(overhead.built(stack)) == limits


@pytest.mark.parametrize("name", registry.tunnel_names())
def test_every_header_names_its_size_and_its_source(name: str) -> None:
    kind = registry.tunnel(name)
    for outer in kind.about.outer:
        form = kind.format(resolve(kind.takes(), {}, name), outer)
        for one in (*form.outside, *form.inside):
            assert one.name and one.size > 0
            assert re.search(r"RFC \d+|IEEE|section|\.(c|h|hpp|rs)\b|\.go\b|draft", one.source), one


@pytest.mark.parametrize(
    ("packet", "mtu", "version", "pieces"),
    [
        (1500, 1500, 4, [1500]),
        # 1,426 B after the header are no whole units of 8.
        (1480, 1446, 4, [1444, 56]),
        (1501, 1500, 4, [1500, 21]),
        (3000, 1500, 4, [1500, 1500, 40]),
        (1520, 1500, 6, [1496, 80]),
    ],
)
def test_a_packet_is_cut_as_the_rfcs_say(packet: int, mtu: int, version: int, pieces: list[int]) -> None:
    assert cut(packet, mtu, version) == pieces


@pytest.mark.parametrize(
    ("stack", "sizes", "unfragmented"),
    [
        ("wireguard:mtu=1500", Sizes(1500, (1580,), (2,)), 1440),
        # 1409 B are filled up to 1424, which are 1504 outside.
        ("wireguard:mtu=1500,outer=ipv6", Sizes(1500, (1636,), (2,)), 1408),
        # An interface cuts what it is given; policies take it, and what they make of it is cut between the nodes.
        ("ipsec:mode=xfrm+wireguard:mtu=1420", Sizes(1420, (1612, 1500), (2, 2)), 1376),
        ("ipsec+wireguard:mtu=1420", Sizes(1420, (1556, 1480), (2, 1)), 1376),
        # They make smaller packets by themselves.
        ("yggdrasil", Sizes(53049, (53245,), (1,)), 53049),
        ("zerotier", Sizes(2800, (2866,), (1,)), 2800),
    ],
)
def test_what_does_not_fit_below_a_layer_is_cut_there(stack: str, sizes: Sizes, unfragmented: int) -> None:
    built = overhead.built(stack)
    assert overhead.computed(built, sizes.packet) == sizes
    assert overhead.limits(built).mtu == unfragmented


def test_what_is_cut_is_measured_where_its_layers_allow_it() -> None:
    assert overhead.packets(overhead.built("ipsec+wireguard:mtu=1420"), ())["overhead:full=on"] == 1420
    # GRE forbids that its packets are cut, or what is inside of them does.
    assert overhead.packets(overhead.built("ipsec+gre:mtu=1446"), ()) == {}


def test_a_packet_that_fills_the_mtu_is_always_among_them() -> None:
    asked = overhead.packets(overhead.built("wireguard:mtu=600"), (16, 600))
    assert asked == {"overhead:payload=16": 44, "overhead:full=on": 600}


def record(*values: tuple[str, float], verdict: str = "ok", reason: str = "") -> Record:
    samples = tuple((metric, "B", value, None, "a-b", "a") for metric, value in values)
    trial = TrialResult({"stack": "ipip", "workload": "pmtu"}, Verdict(verdict), reason, "", "vm", "virtual", samples)
    return Record({}, (trial,), (), {}, (), 1)


def test_what_was_measured_agrees_or_does_not() -> None:
    sizes = {("ipip", "overhead:payload=16"): Sizes(44, (64,)), ("ipip", "overhead:full=on"): Sizes(1480, (1500,))}
    same = record(("pmtu", 1480), ("mss", 1440))
    assert overhead.check(same, sizes, "ipip", (16,)).agrees
    assert not overhead.check(record(("pmtu", 1480), ("mss", 1439)), sizes, "ipip", (16,)).agrees
    assert not overhead.check(record(("pmtu", 1480)), sizes, "ipip", (16,)).agrees
    for key in sizes:
        wrong = sizes | {key: Sizes(sizes[key].packet, (sizes[key].below[0] + 1,))}
        in_two = sizes | {key: sizes[key]._replace(pieces=(2,))}
        assert not overhead.check(same, in_two, "ipip", (16,)).agrees
        assert not overhead.check(same, wrong, "ipip", (16,)).agrees
        missing = {other: size for other, size in sizes.items() if other != key}
        assert not overhead.check(same, missing, "ipip", (16,)).agrees


def test_a_failure_says_its_reason() -> None:
    assert overhead.check(record(verdict="failed", reason="no answer"), {}, "ipip", (16,)).reason == "no answer"


@pytest.mark.parametrize(
    ("ipv4", "ipv6"),
    [
        ("udp port 4789 and udp[8] & 0x08 != 0", "udp port 4789 and ip6[48] & 0x08 != 0"),
        ("udp port 7 and udp[8:4] = 0x04000000", "udp port 7 and ip6[48:4] = 0x04000000"),
        ("ip proto 47 and ip[22:2] = 0x6558", "ip6 proto 47 and ip6[42:2] = 0x6558"),
        ("tcp port 443", "tcp port 443"),
    ],
)
def test_a_filter_for_ipv4_becomes_one_for_ipv6(ipv4: str, ipv6: str) -> None:
    assert in_ipv6(ipv4) == ipv6


@pytest.mark.parametrize(
    ("sizes", "size"),
    [
        ([104] * 9, 104),
        ([104] * 9 + [90] * 18 + [1500], 104),
        ([133] * 7 + [129] * 2, 133),
        ([410, 409, 408, 409, 410] * 2, 410),
        ([99] * 18 + [120] * 9, 120),
        ([176, 177, 178, 179, 180, 181, 182, 181, 180] + [1472] * 4, 182),
    ],
)
def test_the_size_that_is_seen_as_often_as_it_was_sent(sizes: list[int], size: int) -> None:
    assert measured.parse([Sent(one) for one in sizes]) == Sent(size)


@pytest.mark.parametrize("sizes", [[], [104] * 4, [104] * 4 + [1500, 90]])
def test_a_size_that_is_not_seen_as_often_is_none(sizes: list[int]) -> None:
    with pytest.raises(WorkloadFailed, match="no size was seen as often as most of 9 requests"):
        measured.parse([Sent(one) for one in sizes])


def test_many_sizes_are_looked_at_as_fast_as_few() -> None:
    # Compared each with each they would take hours.
    sizes = [*range(1_000_000), *[1_000_000] * 9]
    assert measured.parse([Sent(one) for one in sizes]) == Sent(1_000_000)


def fragment(version: int, size: int, number: int) -> bytes:
    """The first bytes of a fragment of the packet with that identification, and zeros."""
    if version == 4:
        return bytes([0x45, 0, 0, 0, *number.to_bytes(2, "big"), 0x20, 0]).ljust(size, b"\0")
    return (bytes([0x60, 0, 0, 0, 0, 0, 44]).ljust(44, b"\0") + number.to_bytes(4, "big")).ljust(size, b"\0")


@pytest.mark.parametrize("version", [4, 6])
def test_fragments_are_joined_by_what_they_are_of(version: int) -> None:
    packets = [fragment(version, 1444, 1), fragment(version, 1444, 2), bytes(100), fragment(version, 56, 1), bytes(100)]
    assert joined(packets) == [Sent(1500, 2), Sent(1444), Sent(100), Sent(100)]


def test_what_is_cut_below_one_layer_is_carried_by_several_packets_below_the_next() -> None:
    inside = [Sent(1500, 2)] * 9 + [Sent(200)] * 2
    between = [Sent(1500), Sent(112)] * 9 + [Sent(96)] * 30
    assert measured.carried([between, inside]) == [Sent(1612, 2), Sent(1500, 2)]
    assert measured.carried([[Sent(1534, 2)] * 9, [Sent(1480)] * 9]) == [Sent(1534, 2), Sent(1480)]
    # Two of three pieces have one size.
    assert measured.parse([Sent(1500)] * 18 + [Sent(112)] * 9, 3) == Sent(3112, 3)
    with pytest.raises(WorkloadFailed, match="no size was seen"):
        measured.carried([[Sent(1500)] * 9, inside])


@given(limit=st.integers(0, LARGEST_PACKET), guess=st.integers(0, LARGEST_PACKET))
def test_probing_finds_the_limit_whatever_it_begins_with(limit: int, guess: int) -> None:
    assert pmtu.largest(lambda packet: packet <= limit, guess) == limit


def test_probing_is_short_where_the_guess_is_right() -> None:
    asked: list[int] = []

    def passes(packet: int) -> bool:
        asked.append(packet)
        return packet <= 1440

    assert pmtu.largest(passes, 1440) == 1440
    assert asked == [1440, 1441]


def test_the_mss_counts_the_timestamps_in() -> None:
    assert pmtu.parse(iperf3_report.load(captured("iperf3-tcp.json"))).value == 1448 + 12


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


SMALL = {"payload=16": 44, "full=on": overhead.built("tinc:compression=1").overlay["a"].mtu}


def looking(shell: FakeShell, mtu: int = 1480, **given: str) -> Trial:
    client, server = two_nodes(shell, FakeEvents())

    @contextmanager
    def view() -> Iterator[tuple[Node, str]]:
        yield client, "eth0"

    overlays = {name: Overlay("ipip-0", address, 24, mtu) for name, address in (("a", "10.10.0.1"), ("b", "10.10.0.2"))}
    options = resolve(measured.ABOUT.options, given, "overhead")
    return Trial(options, client, server, overlays, [view])


def sends(size: int, log: Path, call: Call) -> None:
    log.write_text("listening on eth0\n")
    path = Path(call.argv[call.argv.index("-w") + 1])
    path.write_bytes(pcap([bytes(14 + size)] * measured.ECHOES))


def test_the_overhead_is_what_is_larger_on_the_wire(home: Path) -> None:
    shell = FakeShell({"eth0/mtu": "1500\n"}, {"tcpdump": lambda call, log: sends(64, log, call)})
    trial = looking(shell, payload="16")
    measured.execute(trial)
    assert [(one.metric, one.value) for one in trial.samples] == [("overhead", 20), ("pieces", 1)]
    assert json.loads(trial.outputs["overhead.json"]) == {"packet": 44, "below": [64], "pieces": [1]}
    [ping] = [text for text in shell.texts if text.startswith("ping")]
    assert "-M do" in ping and "-s 16" in ping


def test_a_packet_that_does_not_fit_is_not_sent(home: Path) -> None:
    shell = FakeShell()
    with pytest.raises(Unsupported, match="a packet of 1028 B does not fit into the overlay, whose MTU is 1000 B"):
        measured.execute(looking(shell, mtu=1000, payload="1000"))
    assert shell.calls == []


def test_a_packet_that_does_not_fit_into_one_below_is_not_sent(home: Path) -> None:
    shell = FakeShell({"eth0/mtu": "1500\n"})
    with pytest.raises(
        Unsupported, match="a packet of 2000 B does not fit into one between the nodes, which have 1500"
    ):
        measured.execute(looking(shell, mtu=2000, full="on"))
    assert shell.started == []


def test_where_a_layer_compresses_the_sizes_are_bounds() -> None:
    sizes = {("tinc:compression=1", f"overhead:{name}"): Sizes(packet, (90,)) for name, packet in SMALL.items()}
    found = overhead.check(Record({}, (), (), {}, (), 0), sizes, "tinc:compression=1", (16,))
    assert [row.spare for row in found.rows] == [1500, 1500]
    assert all(row.agrees for row in found.rows)
    assert not found.rows[0]._replace(measured=Sizes(44, (200,))).agrees
    assert not found.rows[0]._replace(measured=None).agrees


def test_a_fragment_on_the_wire_is_no_passing(home: Path) -> None:
    path = home / "a" / "fragments-0.pcap"
    fragments: list[bytes] = []

    def answer(call: Call) -> Result:
        size = int(call.argv[call.argv.index("-s") + 1]) + 28
        if 1400 < size <= 1480:
            fragments.append(bytes(1514))
            path.write_bytes(pcap(fragments))
        return Result(0 if size <= 1480 else 1, "", "")

    def begin(call: Call, log: Path) -> None:
        log.write_text("listening on eth0\n")
        path.write_bytes(pcap([]))

    answers: dict[str, Answer] = {
        "ping": answer,
        "route get": captured("route-plain.json"),
        "ss -H": "LISTEN\n",
        "--client": captured("iperf3-tcp.json"),
    }
    trial = looking(FakeShell(answers, {"tcpdump": begin, "iperf3": lambda *_: 0}))
    pmtu.execute(trial)
    values = {one.metric: one.value for one in trial.samples}
    # What passes in fragments does not vanish.
    assert values == {"pmtu": 1400, "discovered": 1480, "black-hole": 0, "interruptions": 0, "mss": 1460}


def test_the_usual_headers() -> None:
    assert [one.size for one in (IP[4], IP[6], UDP, ETHERNET)] == [20, 40, 8, 14]


@pytest.mark.parametrize("stack", ["openvpn:auth=none,mssfix=1300", "yggdrasil"])
def test_a_clamped_mss_may_be_smaller_than_what_the_mtu_allows(stack: str) -> None:
    found = overhead.check(Record({}, (), (), {}, (), 0), {}, stack, ())._replace(rows=[])
    assert found.bound
    smaller = found.computed._replace(mss=found.computed.mss - 100)
    assert found._replace(measured=smaller).agrees
    assert not found._replace(measured=found.computed._replace(mss=found.computed.mss + 1)).agrees
    assert not found._replace(measured=smaller._replace(mtu=1)).agrees
    assert not found._replace(measured=smaller, bound=False).agrees


def test_an_mss_is_no_bound_elsewhere() -> None:
    assert not overhead.check(Record({}, (), (), {}, (), 0), {}, "openvpn", ()).bound
