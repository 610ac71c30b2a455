"""Packs a run for whoever verifies it: plan, manifest, journal and digests, and nothing of the user's machine."""

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from tunbench.journal import journal, read
from tunbench.journal.events import JournalEvent
from tunbench.journal.excerpt import excerpt
from tunbench.journal.folders import resume_command
from tunbench.journal.read import MANIFEST
from tunbench.journal.readers.journal import assemble
from tunbench.journal.record import Record
from tunbench.journal.written_by import written_by
from tunbench.labs.unwritable import ANOTHER_FOLDER
from tunbench.plan.load import PlanError
from tunbench.run.manifest import PLUGINS
from tunbench.run.order import RunError
from tunbench.run.verify import digests, their_run
from tunbench.run.verify.archive import DIGESTS, MAX_UNPACKED_BYTES, PLAN, Member, write


def check(file: Path) -> None:
    """Raises RunError where an archive of that name cannot be written."""
    if not file.name.endswith(journal.PACKED):
        raise RunError(
            f"{file} is no name for an archive, which is a tar file under bzip2: let it end in {journal.PACKED}"
        )
    try:
        if not file.parent.is_dir():
            raise RunError(f"cannot write to {file}: there is no folder {file.parent}; make it, or name another file")
        if file.is_dir():
            raise RunError(f"cannot write to {file}: it is a folder; name another file")
    except OSError as error:
        raise RunError(f"cannot write to {file}: {error.strerror}; name another file") from None


def pack(folder: Path, file: Path) -> Record:
    """Writes the archive of a run, and returns its record; the same run gives the same bytes.

    Raises JournalError and RunError, also where `verify` would refuse the archive.
    """
    check(file)
    events = read.events(folder)
    record = assemble(events)
    if not record.trials:
        raise RunError(f"{folder} has no trial that came to its end; there is nothing to pack")
    _check_verifiable(folder, events, record)
    text = json.dumps(record.manifest, indent=1, sort_keys=True) + "\n"
    try:
        with _excerpt_of(folder) as lines:
            members = [_member(PLAN, read.plan(folder)), _member(MANIFEST, text), _whole(journal.NAME, lines)]
            told = {one.name: _digest(one) for one in members}
            members.insert(0, _member(DIGESTS, digests.text(told, events)))
            if sum(one.size for one in members) > MAX_UNPACKED_BYTES:
                raise RunError(
                    f"{folder} has more than {MAX_UNPACKED_BYTES >> 30} GiB without its logs, and no archive takes so "
                    "much: hand its folder on"
                )
            write(file, members)
    except OSError as error:
        raise RunError(f"cannot write to {file}: {error.strerror}; make room, or name another file") from None
    return record


def _check_verifiable(folder: Path, events: Sequence[JournalEvent], record: Record) -> None:
    """Raises RunError and JournalError where nobody could verify all of a run.

    An archive has a manifest of its own: a change from before would not be seen in it.
    """
    if counting := their_run.unverifiable(events, "its shards"):
        raise RunError(f"{folder}: {counting}; go on with: {resume_command(folder)}")
    if changed := their_run.changed_since_its_end(folder, record):
        raise RunError(f"{changed}; {journal.MEND}")
    # A plan with a plug-in cannot be read without it, and none is needed to pack a run.
    if PLUGINS not in record.manifest:
        try:
            read.loaded_plan(folder)
        except PlanError as error:
            whose = written_by(record.manifest)
            raise RunError(
                f"{folder} was not begun like this; pack it with {whose or 'its Tunbench'}\n{error}"
            ) from None


@contextmanager
def _excerpt_of(folder: Path) -> Iterator[IO[bytes]]:
    """What of a run's journal is for others, in a file without a name. Raises JournalError and RunError."""
    with ExitStack() as stack:
        try:
            lines = stack.enter_context(tempfile.TemporaryFile())
            for event in journal.each(folder):
                if kept := excerpt(event):
                    lines.write(json.dumps(kept, separators=(",", ":")).encode() + b"\n")
            lines.flush()
        except OSError as error:
            raise RunError(f"cannot copy the journal of {folder}: {error.strerror}; {ANOTHER_FOLDER}") from None
        yield lines


def _member(name: str, text: str) -> Member:
    return _whole(name, io.BytesIO(text.encode()))


def _whole(name: str, content: IO[bytes]) -> Member:
    return Member(name, content, content.seek(0, io.SEEK_END))


def _digest(member: Member) -> str:
    member.content.seek(0)
    whole = hashlib.sha256()
    while piece := member.content.read(1 << 20):
        whole.update(piece)
    return whole.hexdigest()
