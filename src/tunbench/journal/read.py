"""Reads a journal: what was run, which shards are done, and the trials with their samples."""

import gc
import hashlib
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tunbench.journal import files, journal, validation
from tunbench.journal.folders import folder_of, named, place
from tunbench.journal.record import Block, Record, Sample, TrialResult, Warned
from tunbench.labs.real_time import noise
from tunbench.plain_text import plain
from tunbench.plan.shard import canonical
from tunbench.plan.toml.bounds import MAX_FILE_BYTES
from tunbench.runner.declare import axes

Event = dict[str, Any]
Key = tuple[str, str]
"""A shard's id and a workload's spelling: one trial of a run."""

UNEQUAL = "unequal"
"""The warning of a trial that was executed twice in virtual time, and came out otherwise."""


def record(folder: Path) -> Record:
    """All that a run's folder holds. Raises JournalError."""
    with _uncollected():
        events = journal.events(folder, kinds=validation.EVENTS)
        header(events, str(folder / journal.NAME))
        return assemble(events)


def begun(folder: Path) -> Event:
    """The event that a run's journal begins with. Raises JournalError."""
    return header(journal.events(folder, 1), str(folder / journal.NAME))


def plan(folder: Path) -> str:
    """The text of the plan that a run was begun with. Raises JournalError."""
    path = folder / "plan.toml"
    try:
        return files.text(path, MAX_FILE_BYTES)
    except OSError as error:
        raise journal.JournalError(f"cannot read {path}: {error.strerror}") from None


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


def assemble(events: list[Event]) -> Record:
    """The record that a journal's events make. Raises JournalError where they do not begin with a run."""
    head = header(events)
    specs = {event["shard"]: event["spec"] for event in events if _is_state(event, "started")}
    finished = finished_shards(events)
    typed = _commands(events)
    texts: dict[str, str] = {}
    results = [
        result(head, specs[shard], event, typed.get((shard, workload), ""), texts)
        for (shard, workload), event in trials(events).items()
        if shard in specs
    ]
    record = Record(
        manifest={**_plain({**head["manifest"], **_conditions(events)}), "programs": _versions(events)},
        trials=tuple(sorted(results, key=lambda result: canonical(result.cell))),
        warnings=(*_warnings(events, specs), *_unequal(head, events, specs)),
        durations=_durations(events, native=head["manifest"]["lab"]["kind"] == "native"),
        interrupted=tuple(sorted(place(specs[shard]) for shard in specs if shard not in finished)),
        planned=head["planned"] + sum(answer["more"] for answer in answers(events).values()),
        installed=_installed(events),
        blocks=_blocks(events),
        profiles={spec["profile"]["name"]: spec["profile"] for spec in specs.values()},
        workloads=tuple(dict.fromkeys(name for spec in specs.values() for name in spec.get("workloads", ()))),
    )
    record.manifest["fingerprint"] = fingerprint(record)
    return record


def header(events: list[Event], name: str = "the journal") -> Event:
    """The event that a journal begins with; `name` is for messages. Raises JournalError."""
    if not events or events[0]["event"] != "run":
        raise journal.JournalError(f"{name} does not begin with its run: there is nothing in it; begin a new run")
    if events[0].get("journal") != journal.VERSION:
        raise journal.JournalError(
            f"{name} was written by another version of Tunbench; read it with that version, which is named in it"
        )
    return events[0]


def finished_shards(events: Iterable[Event]) -> set[str]:
    """The ids of the shards that came to their end."""
    return {event["shard"] for event in events if _is_state(event, "finished")}


def trials(events: Iterable[Event]) -> dict[Key, Event]:
    """The events of finished trials. A shard that was executed again tells its trials again: the first one counts."""
    found: dict[Key, Event] = {}
    for event in events:
        if event["event"] == "trial":
            found.setdefault((event["shard"], event["workload"]), event)
    return found


def answers(events: Iterable[Event]) -> dict[tuple[str, int], Event]:
    """Whether the cells of a group were narrow enough, by the group and its number of repeats; the first one counts."""
    found: dict[tuple[str, int], Event] = {}
    for event in events:
        if event["event"] == "block":
            found.setdefault((event["group"], event["repeats"]), event)
    return found


def substance(trial: Event) -> str:
    """What must come out equal when a shard is executed again: verdict and samples, in canonical form."""
    return canonical([trial["workload"], trial["verdict"], trial["samples"]])


def fingerprint(record: Record) -> str:
    """SHA-256 over all samples and verdicts in canonical order and form; `no promise` outside the virtual clock.

    It is the same whatever the order of trials and of the samples within a trial.
    """
    if record.manifest["lab"]["clock"] != "virtual":
        return "no promise"
    lines = sorted(
        canonical([trial.cell, trial.verdict, sorted(trial.samples, key=_in_order)]) for trial in record.trials
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _in_order(sample: Sample) -> tuple[str, str, str, str, float, float]:
    """What samples are sorted by: all they have, a value of the whole trial before those with a moment."""
    metric, unit, value, at, pair, node = sample
    return metric, unit, pair, node, -math.inf if at is None else at, value


def result(
    head: Event, spec: Event, event: Event, command: str = "", texts: dict[str, str] | None = None
) -> TrialResult:
    """A trial, from the event that a journal begins with, what its shard was given, and the event of its end.

    `texts` holds each name of a metric, unit, pair and node once for many trials: a run has millions of them.
    """
    cell = {
        **{axis: named(spec[axis]) for axis in axes.SHARD},
        "workload": event["workload"],
        **{name: spec[name] for name in ("repeat", "seed")},
    }
    lab = head["manifest"]["lab"]
    once = ({} if texts is None else texts).setdefault
    samples = tuple(
        (once(metric, metric), once(unit, unit), float(value), moment, once(pair, pair), once(node, node))
        for metric, unit, value, at, pair, node in event["samples"]
        for moment in (None if at is None else float(at),)
    )
    folder = str(folder_of(spec, event["workload"]))
    return TrialResult(
        cell,
        event["verdict"],
        plain(event["reason"]),
        folder,
        samples,
        _plain(event.get("logs", {})),
        command,
        lab["kind"],
        lab["clock"],
        _noise(event),
    )


def _commands(events: Iterable[Event]) -> dict[Key, str]:
    """The command of each trial that took longest; waiting for something to come up is none."""
    under_way: dict[str, str] = {}
    longest: dict[Key, tuple[float, str]] = {}
    for event in events:
        if event["event"] == "phase":
            under_way[event["shard"]] = event.get("workload", "") if event["name"] == "trial" else ""
        elif event["event"] == "command" and under_way.get(event["shard"]):
            key = (event["shard"], under_way[event["shard"]])
            took, shell = event.get("took") or 0.0, event["shell"]
            if not shell.startswith("until ") and took > longest.get(key, (-1.0, ""))[0]:
                longest[key] = (took, shell)
    return {key: plain(shell) for key, (_, shell) in longest.items()}


def _warnings(events: Iterable[Event], specs: dict[str, Event]) -> tuple[Warned, ...]:
    found = {
        Warned(event["name"], place(specs[event["shard"]]), plain(event["text"])): None
        for event in events
        if event["event"] == "warning" and event["shard"] in specs
    }
    outside = {
        Warned(
            "outside",
            place(specs[event["shard"]]),
            f"{event['packets']} packets, the first: {plain(event['first'][0])}",
        ): None
        for event in events
        if event["event"] == "outside" and event["shard"] in specs
    }
    condition = {
        Warned(name, "this machine", plain(text)): None
        for event in events
        if event["event"] == "condition"
        for name, text in event["findings"]
    }
    noisy = {
        Warned(noise.NAME, place(specs[shard], workload), _noise(event)): None
        for (shard, workload), event in trials(events).items()
        if _noise(event) and shard in specs
    }
    return (*condition, *found, *outside, *noisy)


def _unequal(head: Event, events: Iterable[Event], specs: dict[str, Event]) -> tuple[Warned, ...]:
    """The trials that came out otherwise when they were executed again, on the clock that has equal results."""
    if head["manifest"]["lab"]["clock"] != "virtual":
        return ()
    first = trials(events)

    def differs(event: Event) -> bool:
        earlier = first[event["shard"], event["workload"]]
        return earlier is not event and substance(earlier) != substance(event)

    found = {
        Warned(UNEQUAL, place(specs[event["shard"]], event["workload"]), "the first result is kept"): None
        for event in events
        if event["event"] == "trial" and event["shard"] in specs and differs(event)
    }
    return tuple(found)


def _noise(trial: Event) -> str:
    """What disturbed a trial."""
    return plain(trial.get(noise.NAME, ""))


def _conditions(events: Iterable[Event]) -> dict[str, Any]:
    """The facts of the machine, as they were found when it was last examined."""
    facts = [event["facts"] for event in events if event["event"] == "condition"]
    return {"condition": facts[-1]} if facts else {}


def _blocks(events: Iterable[Event]) -> tuple[Block, ...]:
    return tuple(
        Block({axis: one[axis] for axis in axes.SHARD}, one["repeats"], one["enough"], bool(one["more"]), one["widest"])
        for one in answers(events).values()
    )


def _installed(events: Iterable[Event]) -> tuple[tuple[Event, Event], ...]:
    """The impairments that were asked for, and the terms that they became; each once."""
    told = (event for event in events if event["event"] == "impairment")
    pairs = ((event["asked"], event["installed"].get("terms", {})) for event in told)
    return tuple({canonical(list(pair)): pair for pair in pairs}.values())


def _durations(events: Iterable[Event], native: bool) -> dict[str, float]:
    """Seconds of the lab's time in each phase, over all shards.

    The clock of a machine of its own begins with its boot. The native lab has that of this machine: what of a shard's
    wall clock is in none of its phases is counted as its boot.
    """
    sums: dict[str, float] = {}
    last: dict[str, tuple[str, float]] = {}
    began: dict[str, float] = {}
    for event in events:
        if event["event"] == "phase":
            name, since = last.get(event["shard"], ("boot", 0.0))
            if event["name"] == "nodes":
                name, since = "boot", event["at"] if native else 0.0
                began[event["shard"]] = event["at"]
            sums[name] = sums.get(name, 0.0) + max(0.0, event["at"] - since)
            last[event["shard"]] = (event["name"], event["at"])
        elif native and _is_state(event, "finished") and event["shard"] in began:
            inside = last[event["shard"]][1] - began[event["shard"]]
            sums["boot"] = sums.get("boot", 0.0) + max(0.0, event.get("wall", 0.0) - inside)
    return sums


def _versions(events: Iterable[Event]) -> dict[str, str]:
    return dict(sorted((event["program"], plain(event["text"])) for event in events if event["event"] == "version"))


def _plain(value: Any) -> Any:
    """JSON whose texts a terminal and a page can show."""
    if isinstance(value, dict):
        return {plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return plain(value) if isinstance(value, str) else value


def _is_state(event: Event, state: str) -> bool:
    return event["event"] == "shard" and bool(event["state"] == state)
