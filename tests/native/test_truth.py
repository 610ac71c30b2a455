"""What the native lab measures is what its own commands.sh gives by hand: side by side, one after the other."""

import math
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from tests.helpers.measuring import execute, plan
from tests.helpers.neighbours import Neighbours, awake
from tunbench.analysis.statistics import estimate
from tunbench.runner.workload import Sample
from tunbench.runner.workloads import iperf3_tcp, ping
from tunbench.runner.workloads.shared.iperf import iperf3_report

pytestmark = [
    pytest.mark.native,
    pytest.mark.reliability,
    pytest.mark.long,
    pytest.mark.timeout(14400),
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

LEAST, MOST = 500, 2500
"""How many pairs there are, until the ratio of the rates is known to PRECISION; who is first alternates. There are
many before anyone asks how well it is known: where one stops as soon as it seems to be, it is not."""

PINGED = 200
"""In how many of them the round trip is measured too."""

PRECISION = 0.005
"""Half of the interval in which the ratio of the rates lies, from which on it is known: were it 0.01, one series in
twenty would say of a lab that measures the same that it is 1 % off."""

PING = "ping:count=100,interval=0.01"
USUAL = "iperf3-tcp:duration=1,congestion=cubic"
"""bbr, which a machine may have by default, had 19 Gbit/s where cubic and reno had 32."""

LARGE = f"{USUAL},length=1MiB,window=512KiB"
"""Writes of 1 MiB: on one core they are faster than those of 128 KiB, of which some tests have 14 Gbit/s and others 28,
so that no series of a day would tell their ratio. With a window of 1 MiB they were faster still (37 Gbit/s instead of
31), and scattered more."""

FASTEST = "iperf3-tcp:duration=1,congestion=reno,length=1MiB,window=1MiB"
"""The highest rate of one core. Cubic's HyStart ends slow start early by chance, and many a connection of which it
does so has half the rate. Reno has no such rule; on one core it is as fast, and loses nothing."""

APART = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""By hand too, nothing is done to the machine's own namespaces."""


class Ratio(NamedTuple):
    """By what one way's rates exceed the other's, with its interval of 95 %."""

    middle: float
    low: float
    high: float


@pytest.fixture(
    params=[("all cores", USUAL), ("one core", LARGE), ("one core", FASTEST)],
    ids=["on all cores", "on one core, large writes", "on one core, highest rate"],
)
def tcp(request: pytest.FixtureRequest) -> Iterator[str]:
    """What is sent on the cores on which both ways run: all of them, or one that no hypervisor moves apart."""
    which, workload = request.param
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before if which == "all cores" else {max(before)})
    yield workload
    os.sched_setaffinity(0, before)


def by_the_lab(folder: Path, workloads: list[str]) -> dict[str, float]:
    text = plan(["none"], '["baseline"]', workloads, clock="real").replace('"vm"', '"native"')
    rows = [row for trial in execute(folder, text, workers=1).trials for row in trial.rows]
    found = [(row["metric"], row["at"], row["value"]) for row in rows]
    return {workload: _of(workload, found) for workload in workloads}


def by_hand(folder: Path, workloads: list[str]) -> dict[str, float]:
    return {
        workload: _of(workload, [(one.metric, one.at, one.value) for one in _printed(folder, workload)])
        for workload in workloads
    }


def _of(workload: str, found: list[tuple[str, float | None, float]]) -> float:
    """What is compared of a workload: the median of the round trips, or the throughput of the whole test."""
    metric, whole = ("rtt", False) if workload == PING else ("throughput", True)
    measured = [value for name, at, value in found if name == metric and (at is None) == whole]
    assert len(measured) == 1 or not whole
    return statistics.median(measured)


def _printed(folder: Path, workload: str) -> list[Sample]:
    """What the last command of a trial's commands.sh printed."""
    [script] = [
        path
        for path in folder.glob("trials/none/baseline/*/repeat-1/commands.sh")
        if workload.split(":")[0] in path.parts[-3]
    ]
    done = subprocess.run(
        [*APART, "sh", "-c", f"mount -t tmpfs tmpfs /run && exec sh {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return ping.parse(done.stdout, 0.01) if workload == PING else iperf3_tcp.parse(iperf3_report.load(done.stdout))


def ratio_of(ratios: list[float]) -> Ratio:
    """Hodges and Lehmann's estimate: the median of geometric means of two each, and signed ranks for its ends.

    It assumes that a ratio and its reciprocal are as likely where both ways measure the same, as turns make them. In
    normal scatter it is as narrow as a median's of half as many again. Source: Hollander, Wolfe and Chicken,
    Nonparametric Statistical Methods (2014), sections 3.2 and 3.3; in the normal approximation.
    """
    logs, n = np.log(ratios), len(ratios)
    first, second = np.triu_indices(n)
    means = np.sort((logs[first] + logs[second]) / 2)
    rank = math.floor(len(means) / 2 - norm.ppf(0.975) * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    ends = means[max(rank - 1, 0)], means[min(len(means) - rank, len(means) - 1)]
    return Ratio(*(float(one) for one in np.exp([np.median(means), *ends])))


def _unknown(found: Ratio) -> bool:
    return found.high - found.low > 2 * PRECISION


class Series:
    """What both ways measured, side by side."""

    def __init__(self, folder: Path, tcp: str) -> None:
        self.folder = folder
        self.tcp = tcp
        self.lab: list[dict[str, float]] = []
        self.hand: list[dict[str, float]] = []
        self.left_out: list[str] = []
        by_the_lab(folder / "scripts", [PING, tcp])

    def throughput(self) -> Ratio:
        """What the lab measured by what was measured by hand."""
        return ratio_of([lab[self.tcp] / hand[self.tcp] for lab, hand in zip(self.lab, self.hand, strict=True)])

    def measure(self, cores: Neighbours) -> None:
        """A pair, which is left out where the cores were not near to each other all the time.

        `left_out` has who measured when they were moved.
        """
        done = len(self.lab)
        workloads = [PING, self.tcp] if done < PINGED else [self.tcp]
        ways = {
            "lab": lambda: by_the_lab(self.folder / f"run-{done}-{len(self.left_out)}", workloads),
            "hand": lambda: by_hand(self.folder / "scripts", workloads),
        }
        cores.come_near()
        pair: dict[str, dict[str, float]] = {}
        for way in sorted(ways, reverse=bool(done % 2)):
            pair[way] = ways[way]()
            if not cores.near():
                self.left_out.append(way)
                return
        self.lab.append(pair["lab"])
        self.hand.append(pair["hand"])


def test_the_lab_measures_what_its_commands_give_by_hand(
    tmp_path: Path, tcp: str, record_property: Callable[[str, object], None]
) -> None:
    series = Series(tmp_path, tcp)
    with awake() as cores:
        while len(series.lab) < LEAST or (_unknown(series.throughput()) and len(series.lab) < MOST):
            series.measure(cores)
    lab, hand = series.lab[:PINGED], series.hand[:PINGED]
    throughput = series.throughput()
    rtt = estimate([one[PING] - other[PING] for one, other in zip(lab, hand, strict=True)])
    found = (
        f"throughput: lab ÷ hand {throughput.middle:.4f} ({throughput.low:.4f} to {throughput.high:.4f}) at "
        f"{statistics.median(one[tcp] for one in series.hand) / 1e9:.1f} Gbit/s; round trip: lab − hand "
        f"{rtt.median * 1e6:+.2f} µs ({rtt.low * 1e6:+.2f} to {rtt.high * 1e6:+.2f}) at "
        f"{statistics.median(one[PING] for one in hand) * 1e6:.0f} µs; {len(series.lab)} and {PINGED} pairs, and "
        f"{len(series.left_out)} left out because the cores were moved, of them {series.left_out.count('lab')} while "
        "the lab measured"
    )
    record_property("reliability", found)
    print(found)
    assert not _unknown(throughput), f"the machine is too restless to say: {found}"
    assert abs(throughput.middle - 1) < 0.01, found
    assert abs(rtt.median) < 2e-6, found
