"""TCP under loss carries what the literature says: Mathis' formula for Reno, the window of RFC 9438 for CUBIC."""

import math
import statistics
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers import cubic
from tests.helpers.measuring import execute, plan, values
from tunbench.journal import journal
from tunbench.journal.record import Record

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(3600)]

MSS = {"none": 1448, "wireguard": 1368}
"""Bytes of payload in a segment: of the MTU, 1500 or 1420, 20 are IPv4's, 20 TCP's, 12 its timestamps'."""

FEWEST_DROPS = 150

SEEDS = 10

CUBIC_SEEDS = 20
"""Flows of 100 s move their mean by 4.7 % from seeds to seeds, as flows of `cubic` do by arithmetic."""

SETTLED_SECONDS = 20
"""Slow start ends at the first loss, with up to thirty times the window that losses leave later on."""


class Flow(NamedTuple):
    """What the flows of a cell had together: bit/s, seconds of a round trip, packets judged and dropped by netem."""

    throughput: float
    rtt: float
    judged: int
    dropped: int

    @property
    def loss(self) -> float:
        """The ratio of packets that were dropped."""
        return self.dropped / self.judged


def flows(run: Path, record: Record, stack: str, profile: str, workload: str, seeds: int = SEEDS) -> Flow:
    """The flows of a stack under a profile, over all seeds."""
    shards = {
        event["shard"]
        for event in journal.events(run)
        if event["event"] == "shard"
        and event["state"] == "started"
        and (event["spec"]["stack"], event["spec"]["profile"]["name"]) == (stack, profile)
    }
    counters = [
        event["counters"]["netem"]
        for event in journal.events(run)
        if event["event"] == "queue" and event["shard"] in shards and event["interface"] == "to-b"
    ]
    assert len(counters) == seeds
    return Flow(
        statistics.fmean(values(record, "throughput", stack, profile=profile, workload=workload)),
        statistics.fmean(values(record, "tcp-rtt", stack, whole=False, profile=profile, workload=workload)),
        sum(one["packets"] + one["drops"] for one in counters),
        sum(one["drops"] for one in counters),
    )


def far(name: str, delay: str, loss: str) -> str:
    """A profile of a delay each way, and a loss on the way there."""
    return f'{{ name = "{name}", delay = "{delay}", loss = "{loss}", reverse = {{ delay = "{delay}" }} }}'


@pytest.mark.parametrize(("loss", "seconds"), [("0.2%", 60), ("1%", 20), ("2%", 20)])
def test_reno_carries_what_mathis_says(loss: str, seconds: int, tmp_path: Path) -> None:
    workload = f"iperf3-tcp:congestion=reno,duration={seconds}"
    text = plan(list(MSS), f"[{far('far', '20ms', loss)}]", [workload], SEEDS)
    record = execute(tmp_path / "run", text)
    for stack, mss in MSS.items():
        found = flows(tmp_path / "run", record, stack, "far", workload)
        assert found.dropped >= FEWEST_DROPS
        # Linux grows its window by the segments that are acknowledged: b is 1 however few acknowledgements there
        # are. Source: Mathis, Semke, Mahdavi, Ott, The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm,
        # Computer Communication Review 27 (1997).
        expected = 8 * mss / found.rtt * math.sqrt(3 / (2 * found.loss))
        print(f"{stack} {loss}: {found}, expected {expected / 1e6:.2f} Mbit/s, {found.throughput / expected - 1:+.1%}")
        assert found.throughput == pytest.approx(expected, rel=0.15)


def test_cubic_carries_what_its_rfc_says_where_its_window_is_larger_than_renos(tmp_path: Path) -> None:
    workload = "iperf3-tcp:congestion=cubic,duration=120"
    text = plan(["none"], f"[{far('far', '100ms', '0.1%')}]", [workload], CUBIC_SEEDS)
    record = execute(tmp_path / "run", text)
    found = flows(tmp_path / "run", record, "none", "far", workload, CUBIC_SEEDS)
    assert found.dropped >= FEWEST_DROPS
    even = cubic.window_of_even_losses(found.loss, found.rtt)
    assert even > math.sqrt(3 / (2 * found.loss))
    window = cubic.window_of_random_losses(found.loss, found.rtt)
    carried = settled(record) * found.rtt / (8 * MSS["none"])
    print(f"{found}, {carried:.1f} segments: {carried / even - 1:+.1%} of even losses, {carried / window - 1:+.1%}")
    assert carried == pytest.approx(window, rel=0.15)


def settled(record: Record) -> float:
    """The mean of what flows carried a second when what slow start had left to them was gone, in bit/s."""
    rows = (row for trial in record.trials for row in trial.rows if row["metric"] == "throughput")
    return statistics.fmean(row["value"] for row in rows if row["at"] is not None and row["at"] >= SETTLED_SECONDS)
