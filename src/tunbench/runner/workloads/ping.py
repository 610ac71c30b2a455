"""Round-trip times by ping, one sample a reply."""

import math
import re

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.icmp import REFUSED

ABOUT = About(
    name="ping",
    summary="ICMP echo: round-trip time of every reply, and loss",
    options={
        "count": Option("count", "100", "echo requests to send", low=1, high=10_000_000),
        "interval": Option(
            "duration", "0.01", "seconds between requests; ping itself sends no faster", low=0.01, high=3600
        ),
        # Below 16 bytes there is no room for the time of sending, and ping tells no round-trip time.
        "size": Option("size", "56", "payload in bytes, as ping's -s", low=16, high=65507),
        "df": Option("switch", "off", "do not fragment: what does not fit is refused and lost, as ping's -M do"),
    },
    metrics={
        "rtt": Metric("s", "round-trip time", main=True),
        "loss": Metric("ratio", "requests without a reply", question=Question.LATE),
        "duplicates": Metric("count", "replies that came twice", question=Question.LATE),
        "refused": Metric(
            "count",
            "with df: requests that a node or a router refused because they did not fit",
            question=Question.LATE,
        ),
    },
    programs=("ping",),
    packages=("iputils-ping",),
    version=("ping", "-V"),
)

LINGER = 5.0
"""Seconds that ping waits for the last reply."""

REPLY = re.compile(r"icmp_seq=(\d{1,5}) ttl=\d+ time=(\d{1,12}(?:\.\d{1,9})?) ms( \(DUP!\))?", re.ASCII)
SUMMARY = re.compile(r"^(\d{1,12}) packets transmitted, (\d{1,12}) received.*", re.ASCII | re.MULTILINE)
DUPLICATES = re.compile(r", \+(\d{1,12}) duplicates", re.ASCII)
ERRORS = re.compile(r", \+(\d{1,12}) errors", re.ASCII)
LOSS = re.compile(r" (\d{1,3}(?:\.\d{1,9})?(?:e-\d\d)?)% packet loss", re.ASCII)
EXTREMES = re.compile(
    r"^rtt min/avg/max/mdev = (\d{1,12}\.\d{3})/(\d{1,12}\.\d{3})/(\d{1,12}\.\d{3})/\d{1,12}\.\d{3} ms",
    re.ASCII | re.MULTILINE,
)

NUMBERS = 1 << 16
"""Echo requests are numbered modulo this: RFC 792, "Sequence Number"."""

LATE = NUMBERS // 8
"""Requests by which a reply is behind another one at most: those of 80 s at the shortest interval."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["count"]) * float(options["interval"])


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: ping itself waits busily for its turn."""
    return 0.0008 * float(options["count"])


def execute(trial: Trial) -> None:
    """Pings from the client to the server."""
    options = trial.options
    result = trial.client.try_run(
        *("ping", "-n", "-c", str(options["count"]), "-i", f"{options['interval']:g}", "-s", str(options["size"])),
        *(("-M", "do") if options["df"] else ()),
        *("-W", f"{LINGER:g}", trial.target),
        # ping may send as late as a few ticks of the kernel after its interval.
        timeout=float(options["count"]) * (float(options["interval"]) + 0.02) + LINGER + 10,
    )
    trial.outputs["ping.txt"] = result.stdout + result.stderr
    trial.samples += parse(trial.outputs["ping.txt"], float(options["interval"]), bool(options["df"]))


def parse(text: str, interval: float, df: bool = False) -> list[Sample]:
    """The samples in ping's output; `interval` in seconds places each in time. Raises WorkloadFailed.

    With `df`, what did not fit is lost, and counted as refused where anybody said so.
    """
    summary = SUMMARY.search(text)
    if not summary:
        raise WorkloadFailed(f"ping printed no summary: {text[-200:].strip()!r}")
    sent, received = int(summary[1]), int(summary[2])
    if sent == 0 or received > sent or not _agrees(LOSS.search(summary[0]), (sent - received) / sent):
        raise WorkloadFailed(f"ping's summary makes no sense: {summary[0]}")
    replies = REPLY.findall(text)
    first = [(int(seq), float(ms)) for seq, ms, duplicate in replies if not duplicate]
    if len(first) != received:
        raise WorkloadFailed(f"ping counted {received} replies and printed {len(first)}")
    twice = len(replies) - len(first)
    if twice != (counted := _counted(DUPLICATES, summary[0])):
        raise WorkloadFailed(f"ping counted {counted} duplicates and printed {twice}")
    if replies:
        _check_extremes(text, [float(ms) for _, ms, _ in replies])
    numbers = _unwrapped([seq for seq, _ in first], sent)
    # A reply whose number was corrupted may have that of another one, or of none.
    answered = {number for number in numbers if 1 <= number <= sent}
    if 2 * len(answered) < len(numbers):
        raise WorkloadFailed(f"ping printed {len(numbers)} first replies to {len(answered)} requests")
    samples = [
        Sample("rtt", ms / 1000, round((number - 1) * interval, 6))
        for number, (_, ms) in zip(numbers, first, strict=True)
        if number in answered
    ]
    samples.append(Sample("loss", (sent - received) / sent))
    samples.append(Sample("duplicates", twice))
    if df:
        samples.append(Sample("refused", _refused(text, _counted(ERRORS, summary[0]))))
    return samples


def _counted(kind: re.Pattern[str], summary: str) -> int:
    """How many of a kind ping counted; it says nothing of none."""
    found = kind.search(summary)
    return int(found[1]) if found else 0


def _refused(text: str, errors: int) -> int:
    """How many requests were refused. Raises WorkloadFailed where they are more than the errors that ping counted."""
    refused = len(REFUSED.findall(text))
    if refused > errors:
        raise WorkloadFailed(f"ping counted {errors} errors and printed {refused} requests that were refused")
    return refused


def _agrees(printed: re.Match[str] | None, loss: float) -> bool:
    """Whether ping printed this loss, of whose percentage it has six digits."""
    return printed is not None and math.isclose(float(printed[1]), 100 * loss, rel_tol=1e-5)


def _check_extremes(text: str, times: list[float]) -> None:
    """Raises WorkloadFailed where the round-trip times (in ms) are not those that ping sums up."""
    summed = EXTREMES.search(text)
    if not summed:
        raise WorkloadFailed(f"ping summed up none of {len(times)} round-trip times: {text[-200:].strip()!r}")
    low, mean, high = map(float, summed.groups())
    if not low <= mean <= high:
        raise WorkloadFailed(f"ping's summary makes no sense: {summed[0]}")
    # Replies have three digits, and the summary has microseconds: of the mean, which is that of duplicates too, whole
    # ones (iputils 20221126, ping_common.c, gather_statistics() and finish()).
    if not (math.isclose(min(times), low, rel_tol=0.006) and math.isclose(max(times), high, rel_tol=0.006)):
        raise WorkloadFailed(f"ping printed {min(times):g} to {max(times):g} ms and summed up {low:g} to {high:g} ms")
    printed = math.fsum(times) / len(times)
    if abs(printed - mean) > 0.006 * mean + 0.001:
        raise WorkloadFailed(f"ping printed {printed:g} ms on average and summed up {mean:g} ms")


def _unwrapped(seqs: list[int], sent: int) -> list[int]:
    """The numbers of the requests that were answered; one that was never sent is of a reply that was corrupted.

    Replies go on, also behind a long time without any, and are LATE at most. One whose number leaps ahead, and whose
    next reply does not go on from there, was corrupted: nothing is concluded from it for the others.
    """
    if sent < NUMBERS:
        return seqs
    numbers, last = [], 0
    for seq, following in zip(seqs, [*seqs[1:], *seqs[-1:]], strict=True):
        number = last - LATE + (seq - last + LATE) % NUMBERS
        numbers.append(number)
        leaps, alone = number > last + LATE // 2, abs((following - seq + LATE) % NUMBERS - LATE) > LATE // 2
        if number <= sent and not (leaps and alone):
            last = max(last, number)
    return numbers
