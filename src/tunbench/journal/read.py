"""Reads a journal: its events, once, as types, and the plan beside them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tunbench.journal import files, journal, validation
from tunbench.journal.bounds import MAX_FACTS, MAX_MANIFEST_BYTES
from tunbench.journal.checks import InvalidEvent
from tunbench.journal.events import (
    BlockAnswered,
    JournalEvent,
    Line,
    RunBegun,
    ShardEnded,
    read_event,
    without_files,
)
from tunbench.journal.journal import MEND
from tunbench.journal.written_by import written_by
from tunbench.plan import load
from tunbench.plan.expand import digest_of_shards, expand
from tunbench.plan.load import Loaded
from tunbench.plan.toml.bounds import MAX_FILE_BYTES

MANIFEST = "manifest.json"


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
        raise journal.JournalError(f"cannot read {path}: {error.strerror}; {MEND}") from None


def manifest(folder: Path) -> dict[str, Any]:
    """What manifest.json says of a run that came to its end. Raises JournalError, and FileNotFoundError without one."""
    path = folder / MANIFEST
    try:
        text = files.text(path, MAX_MANIFEST_BYTES)
        # Counted first: each sign may become a table, which takes a hundred times the memory.
        if sum(map(text.count, ",[{")) > 2 * MAX_FACTS:
            raise InvalidEvent(f"it has more than {MAX_FACTS} names and values")
        found: dict[str, Any] = journal.DECODER.decode(text)
        validation.check_manifest(found)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise journal.JournalError(f"cannot read {path}: {error.strerror}; {MEND}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise journal.JournalError(f"{path} is damaged: {journal.reason(error, 'no manifest')}; {MEND}") from None
    return found


def loaded_plan(folder: Path) -> Loaded:
    """The plan of a run as it was begun, with what stands beside it.

    Raises PlanError, and JournalError where it asks for other shards than the run did.
    """
    head, path = begun(folder), folder / "plan.toml"
    loaded = load.read(plan(folder), path, head.overrides)
    if digest_of_shards(loaded.plan, expand(loaded.plan)) != head.manifest.get("shards"):
        whose = written_by(head.manifest)
        raise journal.JournalError(
            f"{path} does not ask for the shards that the head of {journal.NAME} names; one of them was changed, or "
            f"it is from another version of Tunbench{whose and f': {whose}'}; {MEND}"
        )
    return loaded


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
        whose = written_by(line.get("manifest")) or "that version"
        raise journal.JournalError(f"{name} was written by another version of Tunbench; read it with {whose}")


def _no_run(name: str) -> str:
    return f"{name} does not begin with its run: there is nothing in it; begin a new run"


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
