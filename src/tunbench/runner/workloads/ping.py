"""Round-trip times by ping, one sample a reply."""

import math
import re
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.icmp import REFUSED
from tunbench.runner.workloads.shared.output_bounds import COUNT, FRACTION, last_words

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
        "dscp": Option("count", "0", "DSCP of the requests, 46 is EF (RFC 3246)", low=0, high=63),
        "df": Option("switch", "off", "do not fragment: what does not fit is refused and lost, as ping's -M do"),
    },
    metrics={
        "rtt": Metric("s", "round-trip time", main=True, followed=True, at_a_glance=True),
        "loss": Metric("ratio", "requests without a reply", question=Question.LATE, followed=True, at_a_glance=True),
        "duplicates": Metric("count", "replies that came twice", question=Question.LATE),
        "refused": Metric(
            "count",
            "with df: requests that a node or a router refused because they did not fit",
            question=Question.LATE,
        ),
    },
    programs={"ping": "iputils-ping"},
    version=("ping", "-V"),
)

LINGER_SECONDS = 5.0
"""Seconds that ping waits for the last reply."""

REPLY = re.compile(rf"icmp_seq=(\d{{1,5}}) ttl=\d+ time=({COUNT}(?:{FRACTION})?) ms( \(DUP!\))?", re.ASCII)
SUMMARY = re.compile(rf"^({COUNT}) packets transmitted, ({COUNT}) received.*", re.ASCII | re.MULTILINE)
DUPLICATES = re.compile(rf", \+({COUNT}) duplicates", re.ASCII)
ERRORS = re.compile(rf", \+({COUNT}) errors", re.ASCII)
LOSS = re.compile(r" (\d{1,3}(?:\.\d{1,9})?(?:e-\d\d)?)% packet loss", re.ASCII)
LOST_CARRY = re.compile(r"([1-9]\d+)\.10|([1-9])\.100", re.ASCII)
"""How iputils s20180629 prints what it rounds up to the next millisecond: `49.10` for 50.0, and `1.100` for 2.00.

It prints one digit from 10 ms on and two from 1 ms on: ping_common.c, gather_statistics(), of that version.
"""

EXTREMES = re.compile(
    rf"^rtt min/avg/max/mdev = ({COUNT}\.\d{{3}})/({COUNT}\.\d{{3}})/({COUNT}\.\d{{3}})/{COUNT}\.\d{{3}} ms",
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
        # ping takes the whole octet, of which the lower two bits are those of ECN: RFC 3168, section 5.
        *(("-Q", str(int(options["dscp"]) << 2)) if options["dscp"] else ()),
        *("-W", f"{LINGER_SECONDS:g}", trial.target),
        # ping may send as late as a few ticks of the kernel after its interval.
        timeout=float(options["count"]) * (float(options["interval"]) + 0.02) + LINGER_SECONDS + 10,
    )
    trial.outputs["ping.txt"] = result.stdout + result.stderr
    trial.samples += parse(trial.outputs["ping.txt"], float(options["interval"]), bool(options["df"]))


class Reply(NamedTuple):
    """The first reply to the request of that number, counted from 1, and its round-trip time."""

    number: int
    ms: float


class Printed(NamedTuple):
    """What ping printed: replies and requests that were refused, and behind them its summary.

    `repeated` are the round-trip times of replies that came twice, and `extremes` those of all: the shortest, the mean
    and the longest. Ping says nothing of what it counts none of.
    """

    replies: list[Reply]
    repeated: list[float]
    refused: int
    summary: str
    sent: int
    received: int
    loss: float | None
    duplicates: int
    errors: int
    extremes: tuple[float, float, float] | None
    last_words: str

    @property
    def times(self) -> list[float]:
        """All round-trip times in milliseconds."""
        return [*(one.ms for one in self.replies), *self.repeated]

    @property
    def answered(self) -> set[int]:
        """The requests that were answered. A reply whose number was corrupted may have that of another, or of none."""
        return {one.number for one in self.replies if 1 <= one.number <= self.sent}


def parse(text: str, interval: float, df: bool = False) -> list[Sample]:
    """The samples in ping's output; `interval` in seconds places each in time. Raises WorkloadFailed.

    With `df`, what did not fit is lost, and counted as refused where anybody said so.
    """
    printed = consistent(read(text))
    answered = printed.answered
    samples = [
        Sample("rtt", one.ms / 1000, round((one.number - 1) * interval, 6))
        for one in printed.replies
        if one.number in answered
    ]
    samples.append(Sample("loss", (printed.sent - printed.received) / printed.sent))
    samples.append(Sample("duplicates", len(printed.repeated)))
    return [*samples, Sample("refused", printed.refused)] if df else samples


def read(text: str) -> Printed:
    """What ping printed. Raises WorkloadFailed where it printed no summary."""
    summary = SUMMARY.search(text)
    if not summary:
        raise WorkloadFailed(f"ping printed no summary: {last_words(text)}")
    sent, replies = int(summary[1]), REPLY.findall(text)
    first = [(int(seq), _milliseconds(ms)) for seq, ms, duplicate in replies if not duplicate]
    numbers = _unwrapped([seq for seq, _ in first], sent)
    loss, extremes = LOSS.search(summary[0]), EXTREMES.search(text)
    return Printed(
        [Reply(number, ms) for number, (_, ms) in zip(numbers, first, strict=True)],
        [_milliseconds(ms) for _, ms, duplicate in replies if duplicate],
        len(REFUSED.findall(text)),
        summary[0],
        sent,
        int(summary[2]),
        float(loss[1]) / 100 if loss else None,
        _counted(DUPLICATES, summary[0]),
        _counted(ERRORS, summary[0]),
        (float(extremes[1]), float(extremes[2]), float(extremes[3])) if extremes else None,
        last_words(text),
    )


def consistent(printed: Printed) -> Printed:
    """The same, where the summary is that of the replies. Raises WorkloadFailed."""
    sent, received, replies = printed.sent, printed.received, printed.replies
    if sent == 0 or received > sent or not _agrees(printed.loss, sent, sent - received):
        raise WorkloadFailed(f"ping's summary makes no sense: {printed.summary}")
    if len(replies) != received:
        raise WorkloadFailed(f"ping counted {received} replies and printed {len(replies)}")
    if len(printed.repeated) != printed.duplicates:
        raise WorkloadFailed(f"ping counted {printed.duplicates} duplicates and printed {len(printed.repeated)}")
    if printed.times:
        _check_extremes(printed.extremes, printed.times, printed.last_words)
    if 2 * len(printed.answered) < len(replies):
        raise WorkloadFailed(f"ping printed {len(replies)} first replies to {len(printed.answered)} requests")
    if printed.refused > printed.errors:
        raise WorkloadFailed(
            f"ping counted {printed.errors} errors and printed {printed.refused} requests that were refused"
        )
    return printed


def _counted(kind: re.Pattern[str], summary: str) -> int:
    """How many of a kind ping counted; it says nothing of none."""
    found = kind.search(summary)
    return int(found[1]) if found else 0


def _milliseconds(printed: str) -> float:
    """The milliseconds of a reply, with the carry that one version of ping loses."""
    carried = LOST_CARRY.fullmatch(printed)
    return float(int(carried[1] or carried[2]) + 1) if carried else float(printed)


def _agrees(printed: float | None, sent: int, lost: int) -> bool:
    """Whether ping printed this loss: six digits of its percentage or, in old versions, whole percents of it.

    Those are rounded down: finish() of ping_common.c, iputils s20180629.
    """
    if printed is None:
        return False
    return math.isclose(printed, lost / sent, rel_tol=1e-5) or math.isclose(100 * printed, 100 * lost // sent)


def _check_extremes(extremes: tuple[float, float, float] | None, times: list[float], words: str) -> None:
    """Raises WorkloadFailed where the round-trip times (in ms) are not those that ping sums up."""
    if not extremes:
        raise WorkloadFailed(f"ping summed up none of {len(times)} round-trip times: {words}")
    low, mean, high = extremes
    if not low <= mean <= high:
        raise WorkloadFailed(f"ping's summary makes no sense: rtt min/avg/max/mdev = {low:g}/{mean:g}/{high:g}/… ms")
    # Replies have three digits, and the summary has microseconds: of the mean, which is that of duplicates too, whole
    # ones (iputils 20221126, ping_common.c, gather_statistics() and finish()).
    if not (math.isclose(min(times), low, rel_tol=0.006) and math.isclose(max(times), high, rel_tol=0.006)):
        raise WorkloadFailed(f"ping printed {min(times):g} to {max(times):g} ms and summed up {low:g} to {high:g} ms")
    average = math.fsum(times) / len(times)
    if abs(average - mean) > 0.006 * mean + 0.001:
        raise WorkloadFailed(f"ping printed {average:g} ms on average and summed up {mean:g} ms")


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
