"""Trials that came out otherwise when they were executed again: in which value, and from which event on."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, zip_longest
from pathlib import Path
from typing import NamedTuple

from tunbench.journal import journal
from tunbench.journal.events import (
    CommandRan,
    JournalEvent,
    PacketsOutside,
    PhaseBegan,
    ShardEnded,
    ShardStarted,
    TrialEnded,
    WarningRaised,
    read_event,
)
from tunbench.journal.fingerprint import substance
from tunbench.journal.folders import label_of_trial
from tunbench.journal.record import Sample
from tunbench.journal.warnings import first_trials
from tunbench.plain_text import line
from tunbench.plan.shard import Shard
from tunbench.runner.declare.metrics import BRING_UP

NOT_THERE = "nothing"
"""What stands for a trial or a sample that one side does not have."""

MAX_TEXT = 120
"""Characters of a command, and of a reason."""

Numbered = tuple[int, JournalEvent]
"""An event, and the line of the journal on which it stands."""


class EventDifference(NamedTuple):
    """The first event of a shard that is another one here: its line in the run's journal, and both in words.

    `measured` says whether it is that of the trial's own result: then all that led to it is equal.
    """

    line: int
    theirs: str
    here: str
    measured: bool


class UnequalTrial(NamedTuple):
    """A trial that came out otherwise: `what` is a metric with its place, or the verdict; `theirs` and `here` say both.

    Of its `samples`, so many are `unequal`.
    """

    shard: str
    trial: str
    what: str
    theirs: str
    here: str
    unequal: int
    samples: int
    event: EventDifference | None = None


def unequal_trials(
    shards: Iterable[Shard], theirs: Sequence[JournalEvent], here: Sequence[JournalEvent]
) -> list[UnequalTrial]:
    """The trials of these shards that have not the same verdict and samples in the events of both journals."""
    sides = first_trials(theirs), first_trials(here)
    found = []
    for shard in shards:
        for workload in (BRING_UP, *(one.name for one in shard.workloads)):
            a, b = (side.get((shard.id, workload)) for side in sides)
            if (a and substance(a)) != (b and substance(b)):
                label = label_of_trial(shard.spec(), workload)
                found.append(UnequalTrial(shard.id, label, *_difference(a, b)))
    return found


def with_events(found: Iterable[UnequalTrial], theirs: Path, here: Path) -> list[UnequalTrial]:
    """The same with the first event of their shards that is another one, given the folders of both runs."""
    found = list(found)
    ids = {one.shard for one in found}
    sides = _events_of(theirs, ids), _events_of(here, ids)
    first = {id: _first_difference(sides[0].get(id, []), sides[1].get(id, [])) for id in ids}
    return [one._replace(event=first[one.shard]) for one in found]


def _difference(a: TrialEnded | None, b: TrialEnded | None) -> tuple[str, str, str, int, int]:
    """What differs, both in words, how many samples do, and of how many."""
    if a is None or b is None or a.verdict != b.verdict:
        return "verdict", _verdict(a), _verdict(b), 0, len(a.samples) if a else 0
    pairs = [pair for pair in zip_longest(a.samples, b.samples) if pair[0] != pair[1]]
    one, other = pairs[0]
    return _what(one or other), _value(one, other), _value(other, one), len(pairs), len(a.samples)


def _verdict(trial: TrialEnded | None) -> str:
    if trial is None:
        return NOT_THERE
    return f"{trial.verdict}: {line(trial.reason, MAX_TEXT)}" if trial.reason else str(trial.verdict)


def _what(sample: Sample) -> str:
    """The metric of a sample, its moment in a series, and where it was measured."""
    metric, _, _, at, pair, node = sample
    return " ".join([line(metric), *([] if at is None else [f"at {at!r} s"]), f"({line(pair)}, {line(node)})"])


def _value(sample: Sample | None, other: Sample | None) -> str:
    """The value as it is, to the last digit; with all that it is of where the other one is of something else."""
    if sample is None:
        return NOT_THERE
    value = f"{sample[2]!r} {sample[1]}"
    same = other is None or sample[:2] + sample[3:] == other[:2] + other[3:]
    return value if same else f"{_what(sample)} {value}"


def _events_of(folder: Path, ids: set[str]) -> dict[str, list[Numbered]]:
    """The events of each shard as it was executed to its end, less what no clock of the lab decides."""
    found: dict[str, list[Numbered]] = {}
    ended: set[str] = set()
    for number, event in _numbered(folder):
        id = getattr(event, "shard", "")
        if id not in ids or id in ended:
            continue
        if isinstance(event, ShardStarted):
            found[id] = []
        elif isinstance(event, ShardEnded):
            ended |= {id} if event.finished else set()
        elif isinstance(event, PhaseBegan | CommandRan | WarningRaised | PacketsOutside | TrialEnded):
            # Files and logs are left out of what is packed.
            kept = event._replace(logs={}, files={}) if isinstance(event, TrialEnded) else event
            found.setdefault(id, []).append((number, kept))
    return found


def _numbered(folder: Path) -> Iterator[tuple[int, JournalEvent | None]]:
    for number, told in zip(count(1), journal.each(folder), strict=False):
        yield number, read_event(told)


def _first_difference(theirs: Sequence[Numbered], here: Sequence[Numbered]) -> EventDifference | None:
    last = theirs[-1][0] if theirs else 0
    for a, b in zip_longest(theirs, here):
        if a is None or b is None or a[1] != b[1]:
            events = a[1] if a else None, b[1] if b else None
            measured = all(isinstance(event, TrialEnded) for event in events)
            return EventDifference(a[0] if a else last, _words(events[0]), _words(events[1]), measured)
    return None


def _words(event: JournalEvent | None) -> str:
    match event:
        case PhaseBegan():
            return f"the phase {line(' '.join([event.name, event.workload]).strip(), MAX_TEXT)} at {event.at!r} s"
        case CommandRan():
            return f"`{line(event.shell, MAX_TEXT)}` in {event.took!r} s"
        case WarningRaised() | PacketsOutside():
            return "a warning"
        case TrialEnded():
            return f"the result of {line(event.workload, MAX_TEXT)}"
    return NOT_THERE
