"""The datagrams that a receiver of UDP did not wait for, and how long datagrams took: heard beside it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.node import python
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads.shared import raw_listener
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS, MAX_DIGITS

METRICS = {
    "one-way-delay": Metric(
        "s",
        "from the moment of sending that stands in a datagram to its arrival, of a share of them (RFC 7679)",
        followed=True,
    ),
    "ipdv": Metric(
        "s",
        "difference of the one-way delays of two datagrams that were sent one after the other (RFC 3393), of the share",
        followed_over_options=True,
    ),
}
"""What each workload by UDP has of the datagrams on their way, in each direction."""

TAIL_SECONDS = 0.1
"""Seconds before the end of a test from which on every datagram is heard."""

SHARE = 500
"""Datagrams of a test whose delay is told, about: the more there are, the smaller is their share."""

START_TIMEOUT, END_TIMEOUT = 10.0, raw_listener.LIMIT + 20.0
"""Seconds that the listener may take to start, and to end."""

LONGEST_DELAY = 60.0
"""Seconds that no datagram is on its way. What tells of more was damaged: UDP would not have taken it."""

MAX_STEP = 100_000
"""Nanoseconds by which two clocks may drift apart in a test. A real clock that was set tells no delay."""

SECOND = 1e9
"""Nanoseconds."""

INTEGER = rf"-?\d{{1,{MAX_DIGITS}}}"
SAMPLE = re.compile(rf"^sample ({INTEGER}) ({INTEGER}) ({INTEGER}) ({INTEGER})$", re.ASCII | re.MULTILINE)
EARLY = re.compile(r"^early (\d{1,5})((?: \S+)+)$", re.ASCII | re.MULTILINE)
READ = re.compile(r"^read (\d{1,10})$", re.ASCII | re.MULTILINE)
TAIL = re.compile(r"^tail (\d{1,5})((?: \S+)+)$", re.ASCII | re.MULTILINE)
SPAN = re.compile(r"(-?\d{1,10})(?:\.\.(-?\d{1,10}))?", re.ASCII)
END = re.compile(rf"^end (\d{{1,10}}) ({INTEGER})$", re.ASCII | re.MULTILINE)

MOST_NUMBERS = 10_000_000
"""Datagrams of which it tells at most."""


class Ear(NamedTuple):
    """Where datagrams are heard, from the test's port or to it; and how they are made, by which of the programs."""

    node: Node
    to_port: bool
    port: str
    layout: str
    length: int


class Expected(NamedTuple):
    """How many seconds a test sends at least, and about how many datagrams; those are 0 where no delays are wanted."""

    seconds: float
    datagrams: float = 0


class Arrival(NamedTuple):
    """A datagram: stream, number, and when it was sent, and how long it took, in nanoseconds."""

    stream: int
    number: int
    sent: int
    delay: int


class Heard(NamedTuple):
    """What arrived: a share of all, and stream and number of each datagram near the end, in the order of arrival.

    `early` are those that came before the one by which their stream was accepted: iperf3's client, which waits for it,
    takes them and does not count them (iperf_udp_connect). `read` is how many of the tail came early enough to be read
    before the test ended.
    """

    share: Sequence[Arrival] = ()
    tail: Sequence[tuple[int, int]] = ()
    early: int = 0
    read: int = 0

    def late(self, seen: float, sent: float) -> int:
        """The datagrams, of so many that were sent, that arrived behind the last one that the receiver took.

        `seen` is the highest number of which it knows, or the sum of those of all its streams. Where its socket was
        full it took less than arrived: what came before its last one and not to it is not late, but lost. It may have
        read on behind its highest number, of those that this one had overtaken: until the test ended.
        """
        # A number that was never sent is a damaged one.
        tail = [(at, stream, number) for at, (stream, number) in enumerate(self.tail) if 0 < number <= sent]
        highest = {stream: number - 1 for _, stream, number in reversed(tail)}
        total = sum(highest.values())
        before: set[tuple[int, int]] = set()
        behind: set[tuple[int, int]] = set()
        for at, stream, number in tail:
            overtaken = total == seen and number < highest[stream] and at < self.read
            (before if total < seen or overtaken else behind).add((stream, number))
            total += max(0, number - highest[stream])
            highest[stream] = max(number, highest[stream])
        return len(behind - before)

    def behind_end(self) -> int:
        """The datagrams that arrived behind the one that ends their stream, which has a negative number."""
        ended: set[int] = set()
        before: set[tuple[int, int]] = set()
        behind: set[tuple[int, int]] = set()
        for stream, number in self.tail:
            if number < 0:
                ended.add(stream)
            else:
                (behind if stream in ended else before).add((stream, number))
        return len(behind - before)


NOTHING = Heard()


@contextmanager
def heard(trial: Trial, ears: Sequence[Ear], expected: Expected) -> Iterator[None]:
    """Hears what arrives, from before a test begins until nothing comes any more; what was told is in the outputs."""
    with ExitStack() as stack:
        for ear in ears:
            stack.enter_context(_heard(trial, ear, expected))
        yield


def output(node: str) -> str:
    """The name of what was told of the arrivals at a node."""
    return f"arrivals-{node}.txt"


@contextmanager
def _heard(trial: Trial, ear: Ear, expected: Expected) -> Iterator[None]:
    node, name = ear.node, f"arrivals-{ear.port}"
    overlay = trial.overlays[node.name]
    program, log, stop = node.home / "arrivals.py", node.log(name), node.home / f"{name}.stop"
    node.run("rm", "-f", str(log), str(stop))
    if not node.exists(program):
        node.write(program, python.source(raw_listener))
    arguments = (
        *(str(overlay.family), overlay.interface, str(int(ear.to_port)), ear.port, ear.layout, str(ear.length)),
        *(str(_share(expected.datagrams)), f"{max(0.0, expected.seconds - TAIL_SECONDS):g}", str(stop)),
    )
    process = node.start(*node.python, str(program), *arguments, log=name)
    try:
        if not wait_until(lambda: node.tail(log) != "", START_TIMEOUT, 0.005):
            raise WorkloadFailed(f"what hears the datagrams did not start within {START_TIMEOUT:g} s")
        yield
        node.touch(stop)
        wait_until(lambda: process.poll() is not None, END_TIMEOUT)
        trial.outputs[output(node.name)] = node.read(log)
    finally:
        process.kill()


def _share(datagrams: float) -> int:
    """The share of so many datagrams of which the delays are told, of 2^32."""
    return min(raw_listener.ALL, int(raw_listener.ALL * SHARE / datagrams)) if datagrams else 0


def parse(text: str) -> Heard:
    """What the listener told. Raises WorkloadFailed where it did not come to its end."""
    end = END.search(text)
    if not end:
        raise WorkloadFailed(f"what hears the datagrams ended without a result: {text[-LAST_WORDS:].strip()!r}")
    told = [Arrival(*map(int, numbers)) for numbers in SAMPLE.findall(text)] if abs(int(end[2])) <= MAX_STEP else []
    share = [one for one in told if 0 <= one.delay / SECOND <= LONGEST_DELAY]
    read = READ.search(text)
    early = set(_numbers(EARLY.findall(text)))
    return Heard(share, _numbers(TAIL.findall(text)), len(early), int(read[1]) if read else 0)


def _numbers(lines: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Stream and number of each datagram that stands in lines of a stream and its numbers. Raises WorkloadFailed."""
    found: list[tuple[int, int]] = []
    for stream, words in lines:
        for word in words.split():
            span = SPAN.fullmatch(word)
            first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, -1)
            if not 0 <= last - first <= MOST_NUMBERS - len(found):
                raise WorkloadFailed(f"what hears the datagrams told of {word[:LAST_WORDS]!r}")
            found += [(int(stream), number) for number in range(first, last + 1)]
    return found


def samples(one: Heard, receiver: str = "") -> list[Sample]:
    """The one-way delays, and the differences of two that were sent one after the other; `at` is when it was sent.

    One that came twice counts when it came first.
    """
    first = {(each.stream, each.number): each for each in reversed(one.share)}
    began = min((each.sent for each in one.share), default=0)
    found = []
    for each in sorted(first.values(), key=lambda each: (each.sent, each.stream, each.number)):
        at = round((each.sent - began) / SECOND, 6)
        found.append(Sample("one-way-delay", each.delay / SECOND, at, receiver))
        if before := first.get((each.stream, each.number - 1)):
            found.append(Sample("ipdv", abs(each.delay - before.delay) / SECOND, at, receiver))
    return found
