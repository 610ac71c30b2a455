"""The reader of Tunbench's own journals: the record that the events of a run make."""

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tunbench.journal.commands import longest_commands
from tunbench.journal.durations import durations
from tunbench.journal.events import (
    BlockAnswered,
    HostExamined,
    ImpairmentInstalled,
    JournalEvent,
    ProgramVersion,
    ShardStarted,
    show_plainly,
)
from tunbench.journal.fingerprint import fingerprint
from tunbench.journal.folders import label_of_shard
from tunbench.journal.journal import NAME
from tunbench.journal.read import answers, events, finished_shards, head_of
from tunbench.journal.record import Block, Record
from tunbench.journal.trial_result import trial_result
from tunbench.journal.warnings import first_trials, warnings
from tunbench.labs.real_time.host_state import HOST_STATE
from tunbench.plan.shard import canonical
from tunbench.runner.declare import axes


def recognises(folder: Path) -> bool:
    """Whether it is the folder of a run."""
    return os.path.lexists(folder / NAME)


def record(folder: Path) -> Record:
    """All that a run's folder holds. Raises JournalError."""
    with _uncollected():
        return assemble(events(folder))


def assemble(events: Sequence[JournalEvent]) -> Record:
    """The record that a journal's events make, of which the first is its head."""
    head = head_of(events)
    lab = head.manifest["lab"]
    specs = {event.shard: event.spec for event in events if isinstance(event, ShardStarted)}
    commands = longest_commands(events)
    trials = tuple(
        trial_result(lab, specs[shard], trial, commands.get((shard, workload), ""))
        for (shard, workload), trial in first_trials(events).items()
        if shard in specs
    )
    facts = [event.facts for event in events if isinstance(event, HostExamined)]
    manifest = show_plainly({**head.manifest, **({HOST_STATE: facts[-1]} if facts else {})})
    finished = finished_shards(events)
    return Record(
        manifest={**manifest, "programs": _versions(events), "fingerprint": fingerprint(head.manifest, trials)},
        trials=tuple(sorted(trials, key=lambda trial: canonical(dict(trial.cell)))),
        warnings=warnings(events, specs, lab["clock"]),
        durations=durations(events, lab["kind"], head.manifest.get("start", "")),
        interrupted=tuple(sorted(label_of_shard(specs[shard]) for shard in specs if shard not in finished)),
        planned=head.planned + sum(answer.more for answer in answers(events).values()),
        installed=_installed(events),
        blocks=tuple(_block(answer) for answer in answers(events).values()),
        specs={axis: _tables(axis, specs.values()) for axis in axes.SHARD},
        workloads=tuple(dict.fromkeys(name for spec in specs.values() for name in spec.get("workloads", ()))),
    )


def _tables(axis: str, specs: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The values of an axis that are tables, by their names."""
    return {spec[axis]["name"]: spec[axis] for spec in specs if isinstance(spec.get(axis), dict)}


def _block(answer: BlockAnswered) -> Block:
    return Block(answer.cell, answer.repeats, answer.enough, bool(answer.more), answer.widest)


def _installed(events: Iterable[JournalEvent]) -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    """The impairments that were asked for, and the terms that they became; each once."""
    pairs = ((event.asked, event.installed) for event in events if isinstance(event, ImpairmentInstalled))
    return tuple({canonical(list(pair)): pair for pair in pairs}.values())


def _versions(events: Iterable[JournalEvent]) -> dict[str, str]:
    return dict(sorted((event.program, event.text) for event in events if isinstance(event, ProgramVersion)))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, of which JSON has none: in a million lists it takes most of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
