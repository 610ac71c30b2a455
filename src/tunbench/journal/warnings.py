"""The warnings that stand in a journal; others follow from what was measured."""

from collections.abc import Iterable, Sequence
from typing import Any

from tunbench.journal.events import HostExamined, JournalEvent, PacketsOutside, TrialEnded, WarningRaised
from tunbench.journal.fingerprint import substance
from tunbench.journal.folders import label_of_shard, label_of_trial
from tunbench.journal.record import Warned
from tunbench.runner.declare.warnings import WarningKind

Specs = dict[str, dict[str, Any]]
"""The specification of each shard, by its id."""


def warnings(events: Sequence[JournalEvent], specs: Specs, clock: str) -> tuple[Warned, ...]:
    """All of them, each once: of the host, of shards, of trials."""
    found = [*_of_host(events), *_of_shards(events, specs), *_outside(events, specs), *_noisy(events, specs)]
    if clock == "virtual":
        found += _unequal(events, specs)
    return tuple(dict.fromkeys(found))


def first_trials(events: Iterable[JournalEvent]) -> dict[tuple[str, str], TrialEnded]:
    """The trials by shard and workload. A shard that was executed again tells them again: the first one counts."""
    found: dict[tuple[str, str], TrialEnded] = {}
    for event in events:
        if isinstance(event, TrialEnded):
            found.setdefault((event.shard, event.workload), event)
    return found


def _of_host(events: Iterable[JournalEvent]) -> list[Warned]:
    examined = (event for event in events if isinstance(event, HostExamined))
    return [Warned(name, "this machine", text) for event in examined for name, text in event.warnings]


def _of_shards(events: Iterable[JournalEvent], specs: Specs) -> list[Warned]:
    return [
        Warned(event.name, label_of_shard(specs[event.shard]), event.text)
        for event in events
        if isinstance(event, WarningRaised) and event.shard in specs
    ]


def _outside(events: Iterable[JournalEvent], specs: Specs) -> list[Warned]:
    return [
        Warned(
            WarningKind.OUTSIDE,
            label_of_shard(specs[event.shard]),
            f"{event.packets} packets, the first: {event.first}",
        )
        for event in events
        if isinstance(event, PacketsOutside) and event.shard in specs
    ]


def _noisy(events: Iterable[JournalEvent], specs: Specs) -> list[Warned]:
    return [
        Warned(WarningKind.NOISY, label_of_trial(specs[trial.shard], trial.workload), trial.noisy)
        for trial in first_trials(events).values()
        if trial.noisy and trial.shard in specs
    ]


def _unequal(events: Iterable[JournalEvent], specs: Specs) -> list[Warned]:
    """The trials that came out otherwise when they were executed again, on the clock that has equal results."""
    first: dict[tuple[str, str], TrialEnded] = {}
    found = []
    for event in events:
        if isinstance(event, TrialEnded) and event.shard in specs:
            earlier = first.setdefault((event.shard, event.workload), event)
            if earlier is not event and substance(earlier) != substance(event):
                where = label_of_trial(specs[event.shard], event.workload)
                found.append(Warned(WarningKind.UNEQUAL, where, "the first result is kept"))
    return found
