"""What comes of fetching files over QUIC: when a client said what, what arrived, and which packets were lost."""

import re
from statistics import median
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.workload import Sample
from tunbench.runner.workloads.quic.programs import Marks
from tunbench.runner.workloads.shared.output_bounds import COUNT, LARGEST_PACKET, last_words

RUN = re.compile(r"run\n((?:said \d{1,13} [^\n]*\n)*)end (-?\d{1,3}) (\d{1,13})\n", re.ASCII)
SAID = re.compile(r"^said (\d+) (.*)$", re.ASCII | re.MULTILINE)
LOGGED = re.compile(rf"sent ({COUNT})\n((?:(?:lost|probe) \w+ {COUNT}\n)*)", re.ASCII)

NANOSECONDS = 1e-9


class Run(NamedTuple):
    """What a client said, with the seconds since it first spoke; how it ended, and for how many seconds it ran."""

    said: list[tuple[float, str]]
    status: int
    took: float

    def moment(self, pattern: str) -> float | None:
        """When it first said such a thing."""
        return next((moment for moment, text in self.said if re.search(pattern, text)), None)


def read(text: str) -> list[Run]:
    """What clients did, one after the other. Raises WorkloadFailed where it is torn."""
    found = [Run(_said(lines), int(status), int(took) * NANOSECONDS) for lines, status, took in RUN.findall(text)]
    if not found or RUN.sub("", text):
        raise WorkloadFailed(f"what runs the client did not come to its end: {last_words(text)}")
    for run in found:
        # Moments of writes are those of the real clock, which nobody sets meanwhile.
        if any(moment > run.took for moment, _ in run.said):
            raise WorkloadFailed(f"the client said something after its {run.took:g} s: {last_words(text)}")
    return found


def _said(lines: str) -> list[tuple[float, str]]:
    return [(int(moment) * NANOSECONDS, said) for moment, said in SAID.findall(lines)]


def parse(text: str, marks: Marks, count: int) -> tuple[list[Sample], str]:
    """Handshake and first byte of each of so many connections, and why some failed, if any. Raises WorkloadFailed.

    A client may end well whose handshake did not: what it said decides. `at` are the seconds that those before took.
    """
    runs = read(text)
    if len(runs) != count:
        raise WorkloadFailed(f"{len(runs)} connections of {count} were begun")
    found: list[Sample] = []
    failures: list[str] = []
    at = 0.0
    for run in runs:
        began, done, first = (run.moment(one) for one in (marks.begins, marks.handshake, marks.first_byte))
        if began is None or done is None or first is None or run.status:
            failures.append(_why(run, marks, done is None))
        elif not began <= done <= first:
            raise WorkloadFailed(f"a client had the first byte before the handshake: {last_words(text)}")
        else:
            found += [Sample("handshake", done - began, at), Sample("first-byte", first - began, at)]
        at = round(at + run.took, 6)
    return found, f"{len(failures)} of {count} connections had no answer: {failures[0]}" if failures else ""


def start_and_end(text: str, marks: Marks) -> float:
    """Seconds that a client takes to begin and to end: what those of one byte took beside it, in the median.

    Raises WorkloadFailed.
    """
    runs = read(text)
    beside = [run.took - first for run in runs if (first := run.moment(marks.first_byte)) is not None]
    if not beside:
        raise WorkloadFailed("no client had an answer")
    return median(beside)


def _why(run: Run, marks: Marks, in_handshake: bool) -> str:
    """What a client said of its failure."""
    named = [found[0] + text[found.end() :] for _, text in run.said if (found := re.search(marks.failed, text))]
    what = "the handshake did not end" if in_handshake else "nothing came behind the handshake"
    said = f", {named[0][:120]}" if named else ""
    return f"{what} (status {run.status} after {run.took:.3g} s{said})"


def duration(text: str, marks: Marks, says_when: bool, beside: float) -> float:
    """Seconds from the first packet of the one client until it had everything. Raises WorkloadFailed.

    Of one that does not say when, it is all of its time but what it takes `beside`, to begin and to end.
    """
    [run, *more] = read(text)
    began, done = run.moment(marks.begins), run.moment(marks.first_byte)
    if more or run.status or (says_when and (began is None or done is None)):
        raise WorkloadFailed(f"the client ended with status {run.status}: {_why(run, marks, done is None)}")
    took = (done or 0) - (began or 0) if says_when else run.took - beside
    if took <= 0:
        raise WorkloadFailed("the client had everything as it began")
    return took


def lost(text: str, size: int) -> int:
    """The packets that the server took for lost, by its log, but probes of the path's MTU. Raises WorkloadFailed."""
    found = LOGGED.fullmatch(text)
    if not found:
        raise WorkloadFailed(f"the server's log was not counted: {last_words(text)}")
    packets, words = int(found[1]), [line.partition(" ")[::2] for line in found[2].splitlines()]
    lost_ones = [packet for kind, packet in words if kind == "lost"]
    if len(set(lost_ones)) != len(lost_ones) or len(lost_ones) > packets or packets * LARGEST_PACKET < size:
        raise WorkloadFailed(f"the server's log has {packets} packets for {size} B, and {len(lost_ones)} lost ones")
    return len(set(lost_ones) - {packet for kind, packet in words if kind == "probe"})


def ending(text: str) -> str:
    """How a client ended that did not get everything, as far as it told."""
    runs = read(text)
    status, took = runs[-1].status, runs[-1].took
    said = f", and said: {runs[-1].said[-1][1][:100]}" if runs[-1].said else ""
    return f"the client ended with status {status} after {took:.3g} s{said}"
