"""Round trips while TCP fills the tunnel: irtt beside iperf3, up, down and both ways at once."""

import json
import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import UNBOUNDED, Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.json_output import value_at
from tunbench.runner.node.shell import Process, wait_until
from tunbench.runner.workload import About, Load, Sample, Trial, now
from tunbench.runner.workloads.shared import irtt
from tunbench.runner.workloads.shared.iperf import iperf3, iperf3_report
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS, last_words
from tunbench.runner.workloads.shared.server_process import serving

PHASES = {"up": (), "down": ("--reverse",), "both": ("--bidir",)}
"""What loads the tunnel in each phase: the arguments of iperf3's client."""

ABOUT = About(
    name="loaded-latency",
    summary="round trips by irtt, idle and beside TCP flows up, down and both ways: how much the load adds",
    options={
        "interval": Option("duration", "10ms", "seconds between requests", low=0.001, high=60),
        "duration": Option("duration", "2s", "seconds of each phase", low=0.1, high=600),
        "flows": Option("count", "4", "TCP flows in each direction", low=1, high=128),
        "direction": Option("choice", "all", "the phases under load", choices=("all", *PHASES)),
    },
    metrics={
        "rtt-idle": Metric("s", "round-trip time without load", main=True),
        "loss-idle": Metric("ratio", "requests without a reply, without load", question=Question.LATE),
    }
    | {
        f"{name}-{phase}": metric
        for phase, way in (("up", "to the server"), ("down", "from the server"), ("both", "both ways at once"))
        for name, metric in (
            ("rtt", Metric("s", f"round-trip time beside TCP {way}", main=True)),
            ("loss", Metric("ratio", f"requests without a reply beside TCP {way}", question=Question.LATE)),
            # What a load adds may be less than nothing.
            ("increase", Metric("s", f"what TCP {way} adds to the median round-trip time", bounds=UNBOUNDED)),
            ("rpm", Metric("1/min", f"round trips a minute, one after the other, beside TCP {way}", True)),
            ("throughput", Metric("bit/s", f"payload of TCP {way} that arrived meanwhile", True, main=True)),
        )
    },
    headline=tuple(f"rpm-{phase}" for phase in PHASES),
    programs={"irtt": "irtt", "iperf3": "iperf3"},
    version=("irtt", "version"),
)

RAMP = 1.0
"""Seconds that TCP has to fill the tunnel before the first request."""

INTERVAL = 0.1
"""Seconds of one interval in iperf3's reports, unless a phase would have more than MAX_INTERVALS."""

MAX_INTERVALS = 100

JSON_TIMEOUT = 5.0
"""Seconds in which both ends of iperf3 must have printed their JSON."""

TRIMMED = 0.95
"""The share of the round trips, from the shortest, that is averaged for `rpm`."""


class Interval(NamedTuple):
    """What arrived in one interval of iperf3's: its beginning and length in seconds, and bytes of payload."""

    start: float
    seconds: float
    bytes: float


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return (float(options["duration"]) + RAMP) * len(_phases(options)) + float(options["duration"])


def load(options: Options) -> Load:
    """What it offers."""
    return Load()


def execute(trial: Trial) -> None:
    """Measures without load, and then beside each load."""
    began = now()
    with irtt.server(trial) as address:
        idle = _round_trips(trial, address, "idle", began)
        for phase in _phases(trial.options):
            with _loaded(trial, phase):
                start = now()
                trips = _round_trips(trial, address, phase, began)
                took = now() - start
            trial.samples += compared(phase, idle, trips)
            trial.samples.append(Sample(f"throughput-{phase}", sum(_arrived(trial, phase, took))))


def compared(phase: str, idle: Sequence[float], loaded: Sequence[float]) -> list[Sample]:
    """What a load adds to the median of the round-trip times (in s), and the round trips a minute beside it.

    A minute holds 60 s ÷ the mean of the shortest 95 %: draft-ietf-ippm-responsiveness takes the same mean, of what
    whole HTTP exchanges take.
    """
    if not idle or not loaded:
        raise WorkloadFailed(f"no request was answered {'beside the load' if idle else 'without load'}")
    shortest = sorted(loaded)[: max(1, round(TRIMMED * len(loaded)))]
    return [
        Sample(f"increase-{phase}", statistics.median(loaded) - statistics.median(idle)),
        Sample(f"rpm-{phase}", 60 / max(statistics.fmean(shortest), 1e-9)),
    ]


def parse(text: str) -> list[Interval]:
    """What arrived at the node whose iperf3 printed this JSON, each interval once. Raises WorkloadFailed.

    iperf3 is ended from outside, so that its JSON has an error, and the server's may have its last interval twice.
    """
    data = _read(text)
    if data is None:
        raise WorkloadFailed(f"iperf3 printed no JSON: {last_words(text)}")
    told = iperf3_report.items(data, "intervals")
    names = sorted({name for interval in told for name in _received(interval)})
    if not names:
        return []
    once = [one for index, one in enumerate(told) if not index or one != told[index - 1]]
    if any(_received(one) != names[:1] for one in once):
        raise WorkloadFailed(f"iperf3 does not say in each interval what it received: {' and '.join(names)}")
    found = iperf3_report.intervals({"intervals": once}, names[0])
    iperf3_report.check_intervals(found)
    return [Interval(one.begin, one.total.seconds, one.total.size) for one in found]


def throughput(intervals: Sequence[Interval], last: float) -> float:
    """The payload that arrived each second, in bit/s, in so many last seconds. Raises WorkloadFailed."""
    end = max((one.start + one.seconds for one in intervals), default=0)
    steady = [one for one in intervals if one.start >= end - last]
    time = sum(one.seconds for one in steady)
    if time <= 0:
        raise WorkloadFailed(f"iperf3 told nothing of its last {last:g} s")
    rate = 8 * sum(one.bytes for one in steady) / time
    if not math.isfinite(rate):
        raise WorkloadFailed(f"iperf3 counted {rate:g} bit/s")
    return rate


def _received(interval: Any) -> list[str]:
    """The names of the sums of what was received."""
    names = interval if isinstance(interval, dict) else {}
    return [name for name in names if value_at(interval, name, "sender") is False]


def _phases(options: Options) -> list[str]:
    return [phase for phase in PHASES if options["direction"] in ("all", phase)]


def _round_trips(trial: Trial, address: str, phase: str, began: float) -> list[float]:
    """The round-trip times of a phase, in seconds; they and the loss become samples."""
    at = now() - began
    interval, duration = float(trial.options["interval"]), float(trial.options["duration"])
    trips = irtt.measure(trial, address, duration, interval, f"irtt-{phase}.json")
    trial.samples += [Sample(f"rtt-{phase}", rtt, round(at + sent, 6)) for sent, rtt in trips.answered]
    trial.samples.append(Sample(f"loss-{phase}", trips.loss))
    return [rtt for _, rtt in trips.answered]


@contextmanager
def _loaded(trial: Trial, phase: str) -> Iterator[None]:
    """TCP flows through the tunnel: there for RAMP already, and until the end."""
    port, log = trial.port(iperf3.PORT), _log(phase)
    for node in (trial.client, trial.server):
        node.remove(node.log(log))
    duration = float(trial.options["duration"])
    told = ("--json", "--interval", f"{max(INTERVAL, duration / MAX_INTERVALS):g}")
    # Longer than irtt may take: the flows are ended when it has ended.
    longest = duration + RAMP + irtt.CLIENT_GRACE + iperf3.CLIENT_GRACE
    serve = ("iperf3", "--server", "--one-off", "--port", port, *told)
    with serving(trial.server, *serve, log=log, port=port):
        client = trial.client.start(
            *("iperf3", "--client", trial.target, "--port", port, *told, "--time", f"{longest:.0f}"),
            *("--parallel", str(trial.options["flows"]), *PHASES[phase]),
            log=log,
        )
        try:
            _flowing(trial, client, phase)
            trial.client.run("sleep", f"{RAMP:g}")
            yield
            if client.poll() is not None:
                raise WorkloadFailed(f"iperf3 ended before irtt: {_printed(trial, phase)[0][-LAST_WORDS:].strip()}")
        finally:
            client.stop()
            trial.client.note("kill $!")
            # What was told to end still prints all that it has counted.
            wait_until(lambda: all(_read(text) is not None for text in _printed(trial, phase)), JSON_TIMEOUT)


def _flowing(trial: Trial, client: Process, phase: str) -> None:
    """Waits until all flows are connected, besides the connection that controls them: TCP may need a second try."""
    flows = int(trial.options["flows"]) * (2 if phase == "both" else 1)
    listed = f"ss -Htn state established sport = :{trial.port(iperf3.PORT)} | wc -l"
    connected = ("sh", "-c", f"test $({listed}) -gt {flows}")
    if not trial.server.until(*connected, unless=lambda: client.poll() is not None):
        raise WorkloadFailed(f"iperf3 did not connect its flows: {_printed(trial, phase)[0][-LAST_WORDS:].strip()}")


def _arrived(trial: Trial, phase: str, took: float) -> list[float]:
    """The throughput in each direction of a phase that took so long, in bit/s: counted by whoever received it."""
    client, server = _printed(trial, phase)
    texts = {"up": [server], "down": [client], "both": [client, server]}[phase]
    return [throughput(parse(text), max(took, float(trial.options["duration"]))) for text in texts]


def _printed(trial: Trial, phase: str) -> list[str]:
    return [node.read(node.log(_log(phase))) for node in (trial.client, trial.server)]


def _read(text: str) -> Any:
    """The JSON in a text; None where it has not come to its end."""
    try:
        return json.JSONDecoder().raw_decode(text[text.index("{") :])[0]
    except (ValueError, RecursionError):
        return None


def _log(phase: str) -> str:
    return f"iperf3-{phase}"
