"""A run of somebody else: its folder or archive, read as what anybody may have written."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tunbench import __version__
from tunbench.journal import read
from tunbench.journal.events import JournalEvent, RunBegun, ShardStarted, TrialEnded, show_plainly
from tunbench.journal.folders import label_of_shard
from tunbench.journal.journal import JournalError
from tunbench.journal.read import MANIFEST
from tunbench.journal.readers.journal import assemble
from tunbench.journal.record import Record
from tunbench.journal.written_by import VERSION, of_commit
from tunbench.labs.unwritable import temporary_folder
from tunbench.plain_text import line
from tunbench.run.order import RunError
from tunbench.run.verify import archive, digests
from tunbench.run.verify.archive import DIGESTS, MEND
from tunbench.runner.node.json_output import value_at

MAX_NAMED = 3
"""Trials or shards that a message names."""


class TheirRun(NamedTuple):
    """What a run's folder says: `name` is what its reader calls it, `events` and `record` are those of its journal.

    `changed` says what was changed of its samples after it had come to its end; empty where nothing was. `given` is
    what the reader brings for it: options of the command line, as they were typed.
    """

    name: str
    folder: Path
    plan: str
    events: Sequence[JournalEvent]
    record: Record
    changed: str
    given: Sequence[str] = ()

    @property
    def head(self) -> RunBegun:
        """How the run was begun."""
        return read.head_of(self.events)


def command(their: TheirRun, *options: str) -> str:
    """The command that verifies a run with what was given and these options, on one line that can be copied."""
    return " ".join(["tunbench verify", *map(_quoted, (their.name, *their.given)), *options])


def command_as(what: str, name: str) -> str:
    """The command that builds what a run had, on one line that can be copied."""
    return f"tunbench {what} --as {_quoted(name)}"


def _quoted(name: str) -> str:
    quoted = shlex.quote(name)
    return line(quoted, len(quoted))


@contextmanager
def opened(run: Path, given: Sequence[str] = ()) -> Iterator[TheirRun]:
    """A run, whose archive is unpacked meanwhile. Raises RunError and JournalError."""
    if _is_folder(run):
        yield _read(run, run)._replace(given=given)
    else:
        with temporary_folder(RunError) as folder:
            archive.unpack(run, folder)
            with _named(run, folder):
                their = _read(run, folder)
            yield their._replace(given=given)


def _is_folder(run: Path) -> bool:
    """Whether a run is a folder, and no archive. Raises RunError where there is neither, or it cannot be looked at."""
    name_one = "name a run's folder, or what tunbench pack made of it"
    try:
        run.lstat()
        return run.is_dir()
    except FileNotFoundError:
        raise RunError(f"{run}: there is no such file or folder; {name_one}") from None
    except OSError as error:
        raise RunError(f"{run} cannot be read: {error.strerror}; make it readable, or {name_one}") from None


@contextmanager
def _named(run: Path, folder: Path) -> Iterator[None]:
    """Within it messages name the archive, and not the folder to which it was unpacked."""
    try:
        yield
    except (RunError, JournalError) as error:
        raise type(error)(str(error).replace(str(folder), str(run))) from None


def _read(run: Path, folder: Path) -> TheirRun:
    try:
        manifest = read.manifest(folder)
    except FileNotFoundError:
        # Where there is no journal either, that it is no run is all there is to say.
        read.begun(folder)
        raise RunError(
            f"{run} has no {MANIFEST}, which a run gets at its end. Its author goes on with it by tunbench run "
            "--resume, and packs it with: tunbench pack RUN FILE"
        ) from None
    _check_version(run, manifest)
    events = read.events(folder)
    record = assemble(events)
    _check_manifest(run, manifest, show_plainly(read.head_of(events).manifest))
    changed = _changed(run, folder, events) or _other_fingerprint(run, manifest, record)
    return TheirRun(str(run), folder, read.plan(folder), events, record, changed)


def _check_version(run: Path, manifest: dict[str, Any]) -> None:
    """Raises RunError where the run is from a newer Tunbench than this one, or from none."""
    version, commit = value_at(manifest, "tunbench", "version"), value_at(manifest, "tunbench", "commit")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise RunError(f"{run}: {MANIFEST} does not say which version of Tunbench it is from; {MEND}")
    if _numbers(version) > _numbers(__version__):
        raise RunError(
            f"{run} is from Tunbench {version}, which is newer than this one, {__version__}; install {version}"
            f"{of_commit(commit)}"
        )


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def _check_manifest(run: Path, manifest: dict[str, Any], of_journal: dict[str, Any]) -> None:
    """Raises RunError where the manifest does not say what its journal says before the run began."""
    for key, value in of_journal.items():
        if manifest.get(key) != value:
            raise RunError(
                f'{run}: "{line(key, 100)}" of {MANIFEST} is not what its journal says, one of them was changed; {MEND}'
            )


def _changed(run: Path, folder: Path, events: Sequence[JournalEvent]) -> str:
    """What of the samples is not what was packed. Raises RunError where anything else is not."""
    if not os.path.lexists(folder / DIGESTS):
        return ""
    try:
        changed, trials = digests.changed(folder, events)
    except OSError as error:
        raise RunError(f"{run}: {error.strerror} ({DIGESTS}); {MEND}") from None
    if trials:
        named = ", ".join(line(name, 200) for name in trials[:MAX_NAMED])
        more = f" and {len(trials) - MAX_NAMED} more" if len(trials) > MAX_NAMED else ""
        return f"{run} was changed after it was packed: its digests are not those of {named}{more}"
    if changed:
        raise RunError(f"{run} was changed after it was packed: its digests are not those of {changed[0]}; {MEND}")
    return ""


def unverifiable(events: Sequence[JournalEvent], all_shards: str) -> str:
    """Which of the shards came to no end and have trials, in words: those are in the report and in the fingerprint."""
    ended = read.finished_shards(events)
    measured = {event.shard for event in events if isinstance(event, TrialEnded)} - ended
    specs = {event.shard: event.spec for event in events if isinstance(event, ShardStarted)}
    counting = [label_of_shard(spec) for shard, spec in specs.items() if shard in measured]
    if not counting:
        return ""
    more = f" and {len(counting) - MAX_NAMED} more" if len(counting) > MAX_NAMED else ""
    return (
        f"{len(counting)} of {all_shards} did not come to an end, so that nobody can verify their trials, which count "
        f"all the same: {line('; '.join(counting[:MAX_NAMED]), 600)}{more}"
    )


def changed_since_its_end(run: Path, record: Record) -> str:
    """What was changed of a run's folder after it had come to its end; empty where nothing was. Raises JournalError.

    One that goes on has more trials than its manifest was made of: that of a run which is not whole says nothing.
    """
    if record.missing or record.interrupted:
        return ""
    try:
        return _other_fingerprint(run, read.manifest(run), record)
    except FileNotFoundError:
        return ""


def _other_fingerprint(run: Path, manifest: dict[str, Any], record: Record) -> str:
    if manifest.get("fingerprint") == record.fingerprint:
        return ""
    return (
        f"{run} was changed after it had come to its end: the fingerprint of its journal, {record.fingerprint[:12]}…, "
        f"is not that of {MANIFEST}, {line(str(manifest.get('fingerprint')), 12)}"
    )
