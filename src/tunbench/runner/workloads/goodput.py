"""The highest rate of UDP at which loss stays under a bound: a search after RFC 2544, section 26.1, by iperf3."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import IP, UDP
from tunbench.runner.workload import About, Load, Sample, Trial, now
from tunbench.runner.workloads.shared import arrivals
from tunbench.runner.workloads.shared.arrivals import NOTHING, Heard
from tunbench.runner.workloads.shared.iperf import iperf3, iperf3_report
from tunbench.runner.workloads.shared.iperf.iperf3_report import Total

USUAL_LENGTH = 1300
"""Bytes of payload where nothing else is said."""

ABOUT = About(
    name="goodput",
    summary="iperf3 over UDP at many rates: the highest at which no datagram is lost, and at which few are",
    options={
        "loss": Option("ratio", "0.5%", "datagrams that goodput-lossy may lose"),
        "length": Option("size", str(USUAL_LENGTH), "payload of a datagram in bytes", low=16, high=65507),
        "frame": Option(
            "size",
            "0",
            "bytes of the Ethernet frame that a datagram fills; 0: as length says",
            low=64,
            high=9018,
            zero=True,
        ),
        "duration": Option("seconds", "1", "whole seconds that one rate is sent", low=1, high=600),
        "resolution": Option("ratio", "5%", "the search ends where two rates differ by less", low=0.001, high=1),
        "lowest": Option("rate", "2M", "bits a second that are tried at least", low=1000, high=1e12),
        "highest": Option("rate", "10G", "bits a second that are tried at most", low=1000, high=1e12),
    },
    metrics={
        "goodput": Metric(
            "bit/s",
            "payload each second at the highest rate that lost nothing",
            more_is_better=True,
            main=True,
            followed=True,
        ),
        "goodput-lossy": Metric(
            "bit/s", "payload that arrived each second at the highest rate within the bound", more_is_better=True
        ),
        "packet-rate": Metric("1/s", "datagrams each second at that rate, RFC 2544's frames a second", True),
        "trial-rate": Metric(
            "bit/s", "payload that was sent each second, in each trial of the search", more_is_better=None
        ),
        "trial-loss": Metric(
            "ratio",
            "datagrams that did not arrive, in each trial of the search",
            more_is_better=None,
            question=Question.LATE,
        ),
    },
    programs={"iperf3": "iperf3"},
    version=("iperf3", "--version"),
)

MAX_TRIALS = 12
"""Trials of one search at most."""

INTERVALS = 10
"""Intervals in which the server counts while one rate is sent."""

MIN_DATAGRAMS = 100
"""Datagrams that a trial sends at least: with fewer, its loss says little."""

LEAST_LENGTH = 16
"""Bytes of payload that iperf3 fills: a moment and a number of 64 bits at most."""

ETHERNET_AND_CHECKSUM = 18
"""Bytes of a frame around its packet: IEEE 802.3, section 3.1.1. RFC 2544, section 9.1, counts both."""

PACING = 100
"""Microseconds between the moments at which iperf3 sends what is due: at its own 1000, datagrams come in bursts."""


class Attempt(NamedTuple):
    """One trial: the rate asked for, sent, and arriving while it was steady (all bit/s of payload); the loss."""

    asked: float
    offered: float
    arriving: float
    loss: float

    @property
    def goodput(self) -> float:
        """The payload that came out each second, in bit/s."""
        return min(self.offered * (1 - self.loss), self.arriving)


class Search(NamedTuple):
    """What is searched: rates from `lowest` to `highest` (bit/s), until they differ by less than `resolution`."""

    lowest: float
    highest: float
    resolution: float

    def passes(self, attempt: Attempt, bound: float) -> bool:
        """Whether loss stays within the bound, and what is not lost arrives as fast as it is sent.

        A queue that fills loses nothing until it is full: RFC 2544 sends for 60 s, this here for a second or so.
        """
        kept = attempt.offered * (1 - attempt.loss)
        return attempt.loss <= bound and attempt.arriving >= kept * (1 - self.resolution)

    def passing(self, attempts: Sequence[Attempt], bound: float) -> list[Attempt]:
        """The rates that pass, below all that do not."""
        ceiling = self._ceiling(attempts, bound)
        return [one for one in attempts if self.passes(one, bound) and one.asked < ceiling]

    def found(self, attempts: Sequence[Attempt], bound: float) -> float:
        """The most payload that came out each second at a rate that passes, in bit/s; 0 where none does."""
        return max((one.goodput for one in self.passing(attempts, bound)), default=0.0)

    def next(self, attempts: Sequence[Attempt], bound: float) -> float | None:
        """The rate to try next, in bit/s; None where the search has come to its end.

        First the highest rate, then what arrived of it, or the lowest where that does not pass; then the geometric
        mean of the highest that passes and the lowest that does not.
        """
        if not attempts:
            return self.highest
        ceiling = self._ceiling(attempts, bound)
        if math.isinf(ceiling):
            return None
        if passing := self.passing(attempts, bound):
            floor = max(one.asked for one in passing)
            return math.sqrt(floor * ceiling) if ceiling > floor * (1 + self.resolution) else None
        if any(one.asked <= self.lowest for one in attempts):
            return None
        guess = attempts[0].arriving
        return guess if len(attempts) == 1 and self.lowest < guess < ceiling else self.lowest

    def _ceiling(self, attempts: Sequence[Attempt], bound: float) -> float:
        """The lowest rate that does not pass. What could not even be sent counts with what was sent of it."""
        failing = [min(one.asked, one.offered) for one in attempts if not self.passes(one, bound)]
        return max(min(failing), self.lowest * (1 + self.resolution)) if failing else math.inf


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 8.0 * float(options["duration"])


def load(options: Options) -> Load:
    """What it offers."""
    return Load()


def check(options: Options, given: Mapping[str, str]) -> None:
    """Raises ValueError where the size of a datagram is said twice."""
    if options["frame"] and "length" in given:
        raise ValueError("the options frame and length exclude each other: both say how large a datagram is")


def payload_of(options: Options, family: int) -> int:
    """The bytes of payload of a datagram. Raises Unsupported where a frame has no room for what iperf3 writes there."""
    length = int(options["length"])
    if frame := int(options["frame"]):
        length = frame - ETHERNET_AND_CHECKSUM - IP[family].size - UDP.size
        if length < LEAST_LENGTH:
            least = LEAST_LENGTH + frame - length
            raise Unsupported(f"a frame of {frame} B is too small for iperf3 over IPv{family}: give {least} B or more")
    return length


def execute(trial: Trial) -> None:
    """Searches for both bounds; what was tried for the first counts for the second."""
    length = payload_of(trial.options, trial.overlay.family)
    trial.options = {**trial.options, "length": length}
    options, began = trial.options, now()
    fewest = MIN_DATAGRAMS * 8 * length / float(options["duration"])
    lowest = max(float(options["lowest"]), fewest)
    search = Search(lowest, max(float(options["highest"]), lowest), float(options["resolution"]))
    attempts: list[Attempt] = []
    bounds = {"goodput": 0.0, "goodput-lossy": float(options["loss"])}
    for bound in bounds.values():
        run(search, bound, attempts, lambda rate: _attempt(trial, rate, began))
    trial.samples += [Sample(metric, search.found(attempts, bound)) for metric, bound in bounds.items()]
    trial.samples.append(Sample("packet-rate", search.found(attempts, 0) / (8 * length)))


def run(search: Search, bound: float, attempts: list[Attempt], attempt: Callable[[float], Attempt]) -> None:
    """Tries rates until the search ends, or until they are MAX_TRIALS."""
    while len(attempts) < MAX_TRIALS and (rate := search.next(attempts, bound)) is not None:
        attempts.append(attempt(rate))


def parse(data: dict[str, Any], asked: float, heard: Heard = NOTHING) -> Attempt:
    """The trial in the client's JSON with the server's in it, and what the server did not wait for.

    Raises WorkloadFailed.
    """
    sent = iperf3_report.consistent(iperf3_report.datagrams(data))
    return Attempt(asked, sent.sent.rate, arriving(data, sent.received), sent.loss(heard))


def arriving(data: dict[str, Any], received: Total) -> float:
    """The payload that arrived each second, in bit/s, without the intervals in which the first and the last came."""
    intervals = iperf3_report.intervals(data.get("server_output_json"), "sum")
    iperf3_report.check_filling(intervals, received)
    counted = [one.total for one in intervals]
    filled = [index for index, one in enumerate(counted) if one.size]
    steady = counted[filled[0] + 1 : filled[-1]] if filled else []
    time = sum(one.seconds for one in steady)
    rate = 8 * sum(one.size for one in steady) / time if time else 0.0
    if not math.isfinite(rate):
        raise WorkloadFailed(f"iperf3's server counted {rate:g} bit/s")
    return rate


def _attempt(trial: Trial, rate: float, began: float) -> Attempt:
    duration = float(trial.options["duration"])
    at = round(now() - began, 6)
    data, heard = iperf3.measure_udp(
        *(trial, arrivals.Expected(duration), [trial.server]),
        *("--bitrate", f"{rate:.0f}", "--length", str(trial.options["length"])),
        *("--pacing-timer", str(PACING), "--time", f"{duration:.0f}", "--get-server-output"),
        server_arguments=("--json", "--interval", f"{duration / INTERVALS:g}"),
    )
    number = 1 + sum(name.startswith("iperf3-") for name in trial.outputs)
    del trial.outputs["iperf3.json"]
    trial.outputs[f"iperf3-{number}.json"] = json.dumps(data, separators=(",", ":"))
    trial.outputs[f"arrivals-{number}.txt"] = trial.outputs.pop(arrivals.output(trial.server.name))
    attempt = parse(data, rate, heard[trial.server.name])
    trial.samples += [Sample("trial-rate", attempt.offered, at), Sample("trial-loss", attempt.loss, at)]
    return attempt
