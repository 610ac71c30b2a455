"""Reads a journal: its events, once, as types, and the record that they make."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tunbench.journal import files, journal
from tunbench.journal.commands import longest_commands
from tunbench.journal.durations import durations
from tunbench.journal.events import (
    BlockAnswered,
    HostExamined,
    ImpairmentInstalled,
    JournalEvent,
    Line,
    ProgramVersion,
    RunBegun,
    ShardEnded,
    ShardStarted,
    TrialEnded,
    read_event,
    show_plainly,
    without_files,
)
from tunbench.journal.fingerprint import fingerprint
from tunbench.journal.folders import folder_of, label_of_shard, name_of_value
from tunbench.journal.record import Block, Record, TrialResult
from tunbench.journal.warnings import first_trials, warnings
from tunbench.plan import load
from tunbench.plan.load import Loaded
from tunbench.plan.shard import canonical
from tunbench.plan.toml.bounds import MAX_FILE_BYTES
from tunbench.runner.declare import axes


def record(folder: Path) -> Record:
    """All that a run's folder holds. Raises JournalError."""
    with _uncollected():
        return assemble(events(folder))


def events(folder: Path) -> list[JournalEvent]:
    """The events of a run's journal, its head first. Raises JournalError."""
    return read_lines(journal.each(folder), str(folder / journal.NAME))


def begun(folder: Path) -> RunBegun:
    """The head of a run's journal. Raises JournalError."""
    [head] = read_lines(journal.events(folder, 1), str(folder / journal.NAME))
    assert isinstance(head, RunBegun)
    return head


def plan(folder: Path) -> str:
    """The text of the plan that a run was begun with. Raises JournalError."""
    path = folder / "plan.toml"
    try:
        return files.text(path, MAX_FILE_BYTES)
    except OSError as error:
        raise journal.JournalError(f"cannot read {path}: {error.strerror}") from None


def loaded_plan(folder: Path) -> Loaded:
    """The plan of a run as it was begun, with what stands beside it. Raises JournalError and PlanError."""
    return load.read(plan(folder), folder / "plan.toml", begun(folder).overrides)


def read_lines(lines: Iterable[Line], name: str = "the journal") -> list[JournalEvent]:
    """The events of a journal's lines; `name` is for messages. Raises JournalError where they begin with no run."""
    found: list[JournalEvent] = []
    for line in lines:
        if not found:
            _check_head(line, name)
        event = read_event(line)
        if event and (kept := without_files(event)):
            found.append(kept)
    if not found:
        raise journal.JournalError(_no_run(name))
    return found


def _check_head(line: Line, name: str) -> None:
    if line["event"] != "run":
        raise journal.JournalError(_no_run(name))
    if line.get("journal") != journal.VERSION:
        raise journal.JournalError(
            f"{name} was written by another version of Tunbench; read it with that version, which is named in it"
        )


def _no_run(name: str) -> str:
    return f"{name} does not begin with its run: there is nothing in it; begin a new run"


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


def assemble(events: Sequence[JournalEvent]) -> Record:
    """The record that a journal's events make, of which the first is its head."""
    head = head_of(events)
    lab = head.manifest["lab"]
    specs = {event.shard: event.spec for event in events if isinstance(event, ShardStarted)}
    commands = longest_commands(events)
    trials = tuple(
        result(lab, specs[shard], trial, commands.get((shard, workload), ""))
        for (shard, workload), trial in first_trials(events).items()
        if shard in specs
    )
    facts = [event.facts for event in events if isinstance(event, HostExamined)]
    manifest = show_plainly({**head.manifest, **({"condition": facts[-1]} if facts else {})})
    finished = finished_shards(events)
    return Record(
        manifest={**manifest, "programs": _versions(events), "fingerprint": fingerprint(head.manifest, trials)},
        trials=tuple(sorted(trials, key=lambda trial: canonical(trial.cell))),
        warnings=warnings(events, specs, lab["clock"]),
        durations=durations(events, lab["kind"]),
        interrupted=tuple(sorted(label_of_shard(specs[shard]) for shard in specs if shard not in finished)),
        planned=head.planned + sum(answer.more for answer in answers(events).values()),
        installed=_installed(events),
        blocks=tuple(_block(answer) for answer in answers(events).values()),
        profiles={spec["profile"]["name"]: spec["profile"] for spec in specs.values()},
        workloads=tuple(dict.fromkeys(name for spec in specs.values() for name in spec.get("workloads", ()))),
    )


def head_of(events: Sequence[JournalEvent]) -> RunBegun:
    """The head of a journal's events."""
    head = events[0]
    assert isinstance(head, RunBegun)
    return head


def finished_shards(events: Iterable[JournalEvent]) -> set[str]:
    """The ids of the shards that came to their end."""
    return {event.shard for event in events if isinstance(event, ShardEnded) and event.finished}


def answers(events: Iterable[JournalEvent]) -> dict[tuple[str, int], BlockAnswered]:
    """Whether the cells of a group were narrow enough, by the group and its number of repeats; the first one counts."""
    found: dict[tuple[str, int], BlockAnswered] = {}
    for event in events:
        if isinstance(event, BlockAnswered):
            found.setdefault((event.group, event.repeats), event)
    return found


def result(lab: dict[str, Any], spec: dict[str, Any], trial: TrialEnded, command: str = "") -> TrialResult:
    """A trial, from what the manifest says of the lab, what its shard was given, and the event of its end."""
    cell = {
        **{axis: name_of_value(spec[axis]) for axis in axes.SHARD},
        "workload": trial.workload,
        **{name: spec[name] for name in ("repeat", "seed")},
    }
    return TrialResult(
        cell,
        trial.verdict,
        trial.reason,
        str(folder_of(spec, trial.workload)),
        trial.samples,
        trial.logs,
        command,
        lab["kind"],
        lab["clock"],
        trial.noisy,
    )


def _block(answer: BlockAnswered) -> Block:
    return Block(answer.cell, answer.repeats, answer.enough, bool(answer.more), answer.widest)


def _installed(events: Iterable[JournalEvent]) -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    """The impairments that were asked for, and the terms that they became; each once."""
    pairs = ((event.asked, event.installed) for event in events if isinstance(event, ImpairmentInstalled))
    return tuple({canonical(list(pair)): pair for pair in pairs}.values())


def _versions(events: Iterable[JournalEvent]) -> dict[str, str]:
    return dict(sorted((event.program, event.text) for event in events if isinstance(event, ProgramVersion)))
