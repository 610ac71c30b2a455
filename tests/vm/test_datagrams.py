"""Whatever order datagrams arrive in, none is lost that netem did not drop, and they take as long as netem says."""

import statistics
from pathlib import Path

import pytest

from tests.helpers.draws import drawn, mean_moves
from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal import journal
from tunbench.runner.declare.netem_arithmetic import mean_delay

pytestmark = pytest.mark.vm

JITTER = '{ name = "jitter", delay = "10ms", jitter = "10ms" }'
RATE, SECONDS, LENGTH = 10e6, 1, 1300
UDP = f"rate={RATE:.0f},duration={SECONDS}"
GOODPUT = "goodput:highest=20M"

BARE = 0.35e-3
"""Seconds that a datagram takes at most without netem: a link's delay twice, and what the nodes compute."""


@pytest.mark.long
def test_what_is_overtaken_at_the_end_is_not_lost(tmp_path: Path) -> None:
    seeds = 4
    workloads = [f"iperf3-udp:{UDP}", f"iperf3-udp:{UDP},reverse=on", f"iperf2-udp:{UDP}", GOODPUT]
    record = execute(tmp_path / "run", plan(["none"], f'["baseline", {JITTER}]', workloads, seeds))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert values(record, "loss", "none") == [0.0] * 2 * seeds * 3
    assert sum(values(record, "out-of-order", "none", profile="jitter")) > 300 * seeds
    bare, jittered = (values(record, "goodput", "none", profile=name) for name in ("baseline", "jitter"))
    assert len(jittered) == seeds
    assert jittered == pytest.approx(bare, rel=0.02)


def test_of_datagrams_those_are_lost_that_netem_dropped(tmp_path: Path) -> None:
    seeds, sent, workload = 4, round(2 * RATE / 8 / LENGTH), f"iperf3-udp:rate={RATE:.0f},duration=2"
    profile = '[{ name = "lossy", delay = "10ms", jitter = "10ms", loss = "2%" }]'
    record = execute(tmp_path / "run", plan(["none"], profile, [workload], seeds))
    lost = [round(loss * sent) for loss in values(record, "loss", "none")]
    low, high = drawn(seeds * sent, 0.02)
    assert low <= sum(lost) <= high
    told = (event for event in journal.events(tmp_path / "run") if event["event"] == "queue")
    there = [event["counters"]["netem"] for event in told if event["interface"] == "to-b"]
    # What else goes there: some packets of iperf3's connection, which are as often lost.
    others = [netem["packets"] + netem["drops"] - sent for netem in there]
    assert all(0 < number < 60 for number in others)
    # Two shards run beside each other, so the journal has them in any order.
    assert all(
        0 <= dropped - datagrams <= 5
        for dropped, datagrams in zip(sorted(netem["drops"] for netem in there), sorted(lost), strict=True)
    )


def test_each_direction_takes_as_long_as_netem_delays_it(tmp_path: Path) -> None:
    there, back = (20e-3, 5e-3), (4e-3, 7e-3)
    profile = (
        f'{{ name = "uneven", delay = "{there[0]}s", jitter = "{there[1]}s",'
        f' reverse = {{ delay = "{back[0]}s", jitter = "{back[1]}s" }} }}'
    )
    ways = {f"iperf3-udp:{UDP}": there, f"iperf3-udp:{UDP},reverse=on": back}
    record = execute(tmp_path / "run", plan(["none"], f"[{profile}]", list(ways)))
    for workload, (delay, jitter) in ways.items():
        delays = values(record, "one-way-delay", "none", whole=False, workload=workload)
        assert len(delays) > 300
        chance = mean_moves(delays)
        assert abs(statistics.fmean(delays) - mean_delay(delay, jitter) - BARE / 2) < BARE / 2 + chance
        assert max(delays) < delay + jitter + 2 * BARE
    # Of two that are drawn evenly from a width w, the difference is w / 3 on average.
    differences = values(record, "ipdv", "none", whole=False, workload=f"iperf3-udp:{UDP}")
    assert statistics.fmean(differences) == pytest.approx(2 * there[1] / 3, rel=0.15)
