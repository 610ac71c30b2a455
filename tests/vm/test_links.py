"""A link is like a wire: packets are cut before anything judges them; rate, delay and queue are what they say."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.draws import drawn
from tests.helpers.measuring import execute, plan, values
from tunbench.journal import journal

pytestmark = pytest.mark.vm

FULL_FRAME = 1514
"""Bytes of the largest frame on Ethernet, as the kernel counts it."""

EVERY_KIND = ["none", "vxlan", "gre", "ipsec", "wireguard", "openvpn", "nebula", "headscale"]
"""Those that hand bundles over and those that send packet by packet, in the kernel and in user space."""


def counted(run: Path, workload: str) -> Iterator[dict[str, Any]]:
    """What each place has counted while a workload lasted."""
    told = (event for event in journal.events(run) if event["event"] == "queue" and event["workload"] == workload)
    return (event["counters"] | {"node": event["node"], "interface": event["interface"]} for event in told)


@pytest.mark.parametrize(
    ("loss", "stacks"),
    [
        (0.02, ["none", "wireguard", "openvpn"]),
        pytest.param(0.02, EVERY_KIND, marks=pytest.mark.long),
        pytest.param(0.002, EVERY_KIND, marks=pytest.mark.long),
    ],
)
def test_one_packet_in_so_many_is_lost_whoever_sends_it(loss: float, stacks: list[str], tmp_path: Path) -> None:
    profile = f'[{{ name = "lossy", delay = "1ms", loss = "{loss:.1%}", reverse = {{ delay = "1ms" }} }}]'
    workload = "iperf3-tcp:duration=1"
    record = execute(tmp_path / "run", plan(stacks, profile, [workload]))
    assert {trial.verdict for trial in record.trials} == {"ok"}
    found = [one["netem"] for one in counted(tmp_path / "run", workload) if one["interface"] == "to-b"]
    assert len(found) == len(stacks)
    for netem in found:
        judged = netem["packets"] + netem["drops"]
        low, high = drawn(judged, loss)
        assert low <= netem["drops"] <= high
        assert judged > 500
        assert netem["bytes"] / netem["packets"] <= FULL_FRAME, "bundles pass as one packet"


def test_a_round_trip_over_two_links_takes_four_times_their_delay(tmp_path: Path) -> None:
    links = '["wire", { name = "long", delay = "1ms" }, { name = "one-sided", up = { delay = "5ms" }, delay = "0s" }]'
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', ["ping:count=20"], link=links))
    processing = 60e-6
    for link, delay in (("wire", 4 * 75e-6), ("long", 4e-3), ("one-sided", 2 * 5e-3)):
        least = min(values(record, "rtt", "none", whole=False, link=link))
        assert delay <= least < delay + processing


def test_a_frame_of_a_narrow_link_takes_its_time_to_be_sent(tmp_path: Path) -> None:
    links = """[
      { name = "ten", rate = "10M" },
      { name = "cake", rate = "10M", queue = "cake" },
      { name = "atm", rate = "2M", framing = "atm" },
      { name = "asymmetric", up = { rate = "1M" }, down = { rate = "16M" } },
    ]"""
    pings = {size: f"ping:count=5,interval=0.1,size={size}" for size in (56, 1400)}
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', list(pings.values()), link=links))
    processing = 80e-6
    for size, ping in pings.items():
        # ICMP, IPv4 and Ethernet; check sequence, preamble and gap. PPPoE over LLC/SNAP has 40 bytes beside IP.
        bits, cells = 8 * (size + 8 + 20 + 14 + 24), 8 * 53 * math.ceil((size + 8 + 20 + 40) / 48)
        # The longest that a kernel sends of its own accord, a report of MLDv2 with 76 bytes of IP.
        own_bits, own_cells = 8 * (76 + 14 + 24), 8 * 53 * math.ceil((76 + 40) / 48)
        # A round trip crosses two links upwards and two downwards.
        for link, sent, behind in (
            ("ten", 4 * bits / 10e6, own_bits / 10e6),
            ("cake", 4 * bits / 10e6, own_bits / 10e6),
            ("atm", 4 * cells / 2e6, own_cells / 2e6),
            ("asymmetric", 2 * bits / 1e6 + 2 * bits / 16e6, own_bits / 1e6),
        ):
            found = sorted(values(record, "rtt", "none", whole=False, workload=ping, link=link))
            assert len(found) == 5
            assert sent + 4 * 75e-6 <= found[0] <= found[-2] < sent + 4 * 75e-6 + processing
            assert found[-1] < sent + 4 * 75e-6 + processing + behind, "one of five may come behind such a frame"


def test_a_rate_counts_what_ethernet_does(tmp_path: Path) -> None:
    small, full = "iperf3-udp:rate=20M,length=18,duration=1", "iperf3-tcp:duration=2"
    links = '[{ name = "ten", rate = "10M" }, { name = "atm", rate = "10M", framing = "atm" }]'
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', [small, full], link=links))
    # 18 bytes of payload make the shortest frame of Ethernet; what waits in the queue at the end arrives late.
    [throughput] = values(record, "throughput", "none", workload=small, link="ten")
    assert throughput == pytest.approx(10e6 * 18 / 84, rel=0.02)
    [throughput] = values(record, "throughput", "none", workload=full, link="ten")
    assert throughput == pytest.approx(10e6 * 1448 / 1538, rel=0.01)
    # PPPoE over LLC/SNAP: 1,492 bytes of IP have 40 beside them, and fill 32 cells of 53 bytes.
    [throughput] = values(record, "throughput", "none", workload=full, link="atm")
    assert throughput == pytest.approx(10e6 * 1440 / (math.ceil((1492 + 40) / 48) * 53), rel=0.01)


@pytest.mark.long
def test_a_gigabit_carries_what_1000base_t_does(tmp_path: Path) -> None:
    text = plan(["none"], '["baseline"]', ["iperf3-tcp:duration=2"], link='"1G"')
    machine = 'machine = { name = "fast", cpu.speed = 8000 }\n[lab]'
    [throughput] = values(execute(tmp_path / "run", text.replace("[lab]", machine)), "throughput", "none")
    assert throughput == pytest.approx(1e9 * 1448 / 1538, rel=0.005)


def test_a_queue_holds_its_own_sender_back_and_drops_what_others_send(tmp_path: Path) -> None:
    workload = "iperf3-udp:rate=20M,length=1200,duration=1"
    links = (
        '[{ name = "own", rate = "10M", queue = 1000 }, { name = "others", down = { rate = "10M", queue = "20ms" } }]'
    )
    execute(tmp_path / "run", plan(["none"], '["low"]', [workload], link=links))
    # Of both links together, whichever has come to its end first.
    dropped: Counter[tuple[str, str]] = Counter()
    for one in counted(tmp_path / "run", workload):
        dropped[one["node"], one["interface"]] += one["link"]["drops"]
    assert ("a", "eth0") in dropped
    assert dropped["a", "eth0"] == 0
    # Half of 20 Mbit/s for a second finds no room, but for what the queue holds.
    offered = 20e6 / 8 / 1200
    passed = 10e6 / 8 / (1200 + 8 + 20 + 14 + 24)
    assert dropped["router", "to-b"] == pytest.approx(offered - passed, rel=0.05)


@pytest.mark.parametrize(("gro", "frames"), [("50us", 4), ("100us", 8)])
def test_a_card_puts_together_what_comes_between_two_interrupts(tmp_path: Path, gro: str, frames: int) -> None:
    workload = "iperf3-tcp:duration=1"
    link = f'{{ name = "card", rate = "1G", gro = "{gro}" }}'
    text = plan(["none"], '["baseline"]', [workload], link=link)
    execute(tmp_path / "run", text.replace("[lab]", 'machine = "mesh-testbed-2026"\n[lab]'))
    of = {one["interface"]: one["link"]["packets"] for one in counted(tmp_path / "run", workload) if "link" in one}
    # A frame takes 12.3 µs, TCP acknowledges each bundle, and where the sender's own end, a shorter one ends, too.
    assert 0.9 * frames < of["to-b"] / of["to-a"] < 1.05 * frames


def test_what_overtakes_as_a_bundle_arrives_as_one_where_a_card_puts_it_together(tmp_path: Path) -> None:
    workload = "iperf3-tcp:duration=4"
    profile = '[{ name = "above", delay = "4ms", jitter = "7ms", loss = "1%", placement = "endpoints" }]'
    throughput, segments = {}, {}
    for gro in ("0s", "200us"):
        link = f'{{ name = "card", rate = "1G", gro = "{gro}" }}'
        text = plan(["none"], profile, [workload], link=link, repeats=5)
        record = execute(tmp_path / gro, text.replace("[lab]", 'machine = "mesh-testbed-2026"\n[lab]'))
        throughput[gro] = sum(values(record, "throughput", "none"))
        of: Counter[str] = Counter()
        for one in counted(tmp_path / gro, workload):
            of[one["node"]] += one["netem"]["packets"] if "netem" in one else 0
        segments[gro] = of["a"] / of["b"]
    # What comes apart is acknowledged packet by packet while something is missing: 1.13 segments each over five seeds,
    # and 2.37 behind a card of igb's, with 26 % more throughput. With 50 µs streams as short as these tell nothing.
    assert segments["0s"] < 1.2
    assert segments["200us"] > 1.6 * segments["0s"]
    assert throughput["200us"] > 1.1 * throughput["0s"]


def test_bundles_pass_uncut_where_a_link_says_so(tmp_path: Path) -> None:
    workload = "iperf3-tcp:duration=3"
    execute(tmp_path / "run", plan(["none", "vxlan"], '["low"]', [workload], link='"aggregates"'))
    of_netem = [one["netem"] for one in counted(tmp_path / "run", workload) if one["interface"] == "to-b"]
    # Counted are segments, and judged were bundles: a loss of 0.25 % drops far fewer than that. One stack alone has
    # 3 to 13 drops, too few to tell a quarter from less.
    low, _ = drawn(sum(netem["packets"] for netem in of_netem), 0.0025)
    assert sum(netem["drops"] for netem in of_netem) < low / 4
