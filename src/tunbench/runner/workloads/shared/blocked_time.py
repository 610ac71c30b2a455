"""What the workloads share that take the tunnel down: a stream of probes, and what it tells."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.failures import StackFailed, WorkloadFailed
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.node import python
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.stack import ANSWER_TIMEOUT
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.workloads.shared import probe_stream
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS, MAX_DIGITS

LONGEST_STREAM = 3600.0
"""Seconds after which a stream of probes ends by itself, if nobody ended it."""

START_TIMEOUT, END_TIMEOUT = 5.0, 5.0
"""Seconds that the program may take to start, and to end."""

NANOSECONDS = 1e-9

LAST_LINE_LENGTH = 200
"""Characters that hold the last line of the program at least."""

FIELDS = {"ready": 0, "begin": 1, "gap": 3, "alive": 2, "end": 3}
"""The numbers in each line that the program prints."""


class Gap(NamedTuple):
    """A time without answers, in seconds of the lab's clock."""

    begin: float
    end: float


class Observed(NamedTuple):
    """What a stream of probes saw: gaps, moments from which requests were answered, and how many of how many were.

    `seconds` passed from its beginning to the last answer of which it told, and `silence` (in s) is the longest time of
    which it told neither that answers came nor that none did.
    """

    gaps: list[Gap]
    answered: list[float]
    requests: int
    replies: int
    seconds: float
    silence: float


@contextmanager
def ready(node: Node, overlay: Overlay, address: str, interval: float, name: str) -> Iterator[Path]:
    """Has a stream of probes ready until it is left; yields the file in which it tells what was answered."""
    program, log = node.home / "probe.py", node.log(name)
    go, stop = (node.home / f"{name}.{word}" for word in ("go", "stop"))
    node.run("rm", "-f", str(log), str(go), str(stop))
    if not node.exists(program):
        node.write(program, python.source(probe_stream))
    arguments = (overlay.interface, address, f"{interval:g}", f"{LONGEST_STREAM:g}", str(go), str(stop))
    process = node.start(*node.python, str(program), *arguments, log=name)
    try:
        if not wait_until(lambda: _last_line(node, log) != "", START_TIMEOUT, 0.005):
            raise WorkloadFailed(f"the probe did not start within {START_TIMEOUT:g} s")
        yield log
    finally:
        for file in (go, stop):
            node.touch(file)
        wait_until(lambda: process.poll() is not None, END_TIMEOUT)
        process.kill()


def begin(node: Node, log: Path) -> None:
    """Lets a stream of probes begin."""
    node.touch(log.with_suffix(".go"))


def answered_since(node: Node, log: Path, moment: float) -> bool:
    """Whether a probe that was sent after that moment of the lab's clock has been answered. Raises WorkloadFailed."""
    kind, *words = _last_line(node, log).split(" ")
    return kind in ("gap", "alive") and _numbers(kind, words)[-1] * NANOSECONDS > moment


def answers(node: Node, log: Path, timeout: float, unless: Callable[[], object] = lambda: None) -> bool:
    """Waits for the first answer; False where `timeout` seconds were not enough, or `unless` says it is in vain."""
    wait_until(lambda: answered_since(node, log, 0) or bool(unless()), timeout, 0.005)
    node.note(f"until grep -q ^gap {log}; do sleep 0.02; done")
    return answered_since(node, log, 0) and not unless()


def wait_for_answer(node: Node, log: Path, layer: Tunnel) -> None:
    """Waits until a probe of the node through a layer has been answered. Raises StackFailed."""
    if not answers(node, log, ANSWER_TIMEOUT, layer.ended):
        raise StackFailed(
            f"{layer.about.name}: {layer.ended() or f'no probe was answered within {ANSWER_TIMEOUT:g} s'}"
        )


class Answer(NamedTuple):
    """A line that tells of an answer at `end` to the request of `sent`, and of a gap since `start`, in nanoseconds."""

    kind: str
    start: int
    end: int
    sent: int


class Printed(NamedTuple):
    """What the program printed: when it began, in nanoseconds, the answers of which it tells, and its counts."""

    began: int
    answers: list[Answer]
    requests: int
    replies: int


def parse(text: str) -> Observed:
    """What the program saw. Raises WorkloadFailed."""
    printed = consistent(read(text))
    began, answers = printed.began, printed.answers
    before = [began, *(one.end for one in answers)]
    silences = [
        (one.start if one.kind == "gap" else one.end) - last for one, last in zip(answers, before, strict=False)
    ]
    return Observed(
        [Gap(one.start * NANOSECONDS, one.end * NANOSECONDS) for one in answers if one.kind == "gap"],
        [one.sent * NANOSECONDS for one in answers],
        printed.requests,
        printed.replies,
        (before[-1] - began) * NANOSECONDS,
        max(silences, default=0) * NANOSECONDS,
    )


def read(text: str) -> Printed:
    """What the program printed. Raises WorkloadFailed where a line is torn, or the first or last ones are missing."""
    lines = [line.split(" ") for line in text.splitlines()]
    numbers = [_numbers(kind, words) for kind, *words in lines]
    kinds = [kind for kind, *_ in lines]
    if kinds[:2] != ["ready", "begin"] or kinds[-1] != "end" or not text.endswith("\n"):
        raise WorkloadFailed(f"the probe's output has no beginning or no end: {text[-LAST_WORDS:]!r}")
    if any(kind not in ("gap", "alive") for kind in kinds[2:-1]):
        raise WorkloadFailed("the probe's output begins or ends twice")
    [began], (requests, replies, _) = numbers[1], numbers[-1]
    answers: list[Answer] = []
    for kind, values in zip(kinds[2:-1], numbers[2:-1], strict=True):
        # An answer that ends no gap follows the one before it.
        start, end, sent = values if kind == "gap" else (answers[-1].end if answers else began, *values)
        answers.append(Answer(kind, start, end, sent))
    return Printed(began, answers, requests, replies)


def consistent(printed: Printed) -> Printed:
    """The same, where moments are in order, and counts are those of the answers. Raises WorkloadFailed."""
    began, answers, last = printed.began, printed.answers, printed.began
    for one in answers:
        if not last <= one.start <= one.end or not began <= one.sent <= one.end:
            told = [one.start, one.end, one.sent] if one.kind == "gap" else [one.end, one.sent]
            raise WorkloadFailed(f"the probe's moments are out of order: {one.kind} {' '.join(map(str, told))}")
        last = one.end
    if answers and (answers[0].kind != "gap" or answers[0].start != began):
        first = answers[0].start if answers[0].kind == "gap" else answers[0].end
        raise WorkloadFailed(f"the probe's first answer ends no gap from its beginning: {answers[0].kind} {first}")
    # Of an answer that comes twice it may tell twice.
    told_of = len({one.sent for one in answers})
    if not told_of <= printed.replies <= printed.requests or bool(printed.replies) != bool(answers):
        raise WorkloadFailed(
            f"the probe counted {printed.replies} answers to {printed.requests} requests, and tells of {told_of}"
        )
    return printed


def check_time(seen: Observed, interval: float, longest: float) -> None:
    """Raises WorkloadFailed where the probe had no time for its requests, one each `interval` seconds.

    So many seconds as `longest` it may have gone on after the last answer of which it told.
    """
    if seen.requests > (seen.seconds + longest) / interval + 1:
        raise WorkloadFailed(
            f"the probe counted {seen.requests} requests, one each {interval:g} s, in {seen.seconds:g} s"
        )


def check_signs(seen: Observed, interval: float) -> None:
    """Raises WorkloadFailed where the probe was silent for longer than it can be: a line of it is lost.

    It tells of the first answer that comes SIGN after the last one that it told of, or of the gap before that.
    """
    # The probe is given six digits of its interval.
    if seen.silence > probe_stream.SIGN * NANOSECONDS + 1.01 * probe_stream.LEAST_GAP * interval:
        raise WorkloadFailed(f"the probe told neither of answers nor of a gap for {seen.silence:.3g} s")


def blocked(seen: Observed, event: float, interval: float) -> float:
    """The longest time without an answer that ended after the event, in seconds.

    The interval that lies between two answers anyway is taken off.
    """
    return max([0.0, *(gap.end - gap.begin - interval for gap in seen.gaps if gap.end > event)])


def _numbers(kind: str, words: list[str]) -> list[int]:
    sound = all(word.isascii() and word.isdigit() and len(word) < MAX_DIGITS for word in words)
    if not sound or len(words) != FIELDS.get(kind):
        raise WorkloadFailed(f"the probe printed {' '.join([kind, *words])[:80]!r}")
    return [int(word) for word in words]


def _last_line(node: Node, log: Path) -> str:
    """The last whole line of a file that grows; empty as long as there is none."""
    lines = node.tail(log, LAST_LINE_LENGTH).split("\n")
    return lines[-2] if len(lines) > 1 else ""
