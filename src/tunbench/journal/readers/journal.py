"""The reader of Tunbench's own journals: the record that the events of a run make."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
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
    TrialEnded,
    show_plainly,
)
from tunbench.journal.fingerprint import fingerprint
from tunbench.journal.folders import folder_of, label_of_shard, name_of_value
from tunbench.journal.read import answers, events, finished_shards, head_of
from tunbench.journal.record import Block, Record, TrialResult
from tunbench.journal.warnings import first_trials, warnings
from tunbench.labs.real_time.host_state import HOST_STATE
from tunbench.plan.shard import canonical
from tunbench.runner.declare import axes


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
        durations=durations(events, lab["kind"]),
        interrupted=tuple(sorted(label_of_shard(specs[shard]) for shard in specs if shard not in finished)),
        planned=head.planned + sum(answer.more for answer in answers(events).values()),
        installed=_installed(events),
        blocks=tuple(_block(answer) for answer in answers(events).values()),
        profiles={spec["profile"]["name"]: spec["profile"] for spec in specs.values()},
        workloads=tuple(dict.fromkeys(name for spec in specs.values() for name in spec.get("workloads", ()))),
    )


def trial_result(lab: dict[str, Any], spec: dict[str, Any], trial: TrialEnded, command: str = "") -> TrialResult:
    """A trial, from what the manifest says of the lab, what its shard was given, and the event of its end."""
    cell = {
        **{axis: name_of_value(spec[axis]) for axis in axes.SHARD},
        "workload": trial.workload,
        **{name: spec[name] for name in ("repeat", "seed")},
    }
    return TrialResult(
        cell=MappingProxyType(cell),
        verdict=trial.verdict,
        reason=trial.reason,
        folder=str(folder_of(spec, trial.workload)),
        lab=lab["kind"],
        clock=lab["clock"],
        samples=trial.samples,
        logs=trial.logs,
        command=command,
        noisy=trial.noisy,
    )


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
