"""The digests of a packed run: SHA-256 of each file, and of what each trial measured, so that a change has a place."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tunbench.journal import files
from tunbench.journal.events import JournalEvent, ShardStarted
from tunbench.journal.fingerprint import substance
from tunbench.journal.folders import folder_of
from tunbench.journal.warnings import first_trials
from tunbench.run.order import RunError
from tunbench.run.verify.archive import DIGESTS, MEMBERS, MEND

LINE = re.compile(r"([0-9a-f]{64})  ([!-~][ -~]*)")
"""A digest and a name, as sha256sum(1) prints them."""

MAX_BYTES = 256 << 20
"""A plan has a million trials at most (MAX_TRIALS), and a line of them some 200 bytes."""

FILES = tuple(name for name in MEMBERS if name != DIGESTS)
"""The files that the digests are of."""


def of_trials(events: Sequence[JournalEvent]) -> dict[str, str]:
    """The digest of what must come out equal of each trial, by the name of its folder."""
    specs = {event.shard: event.spec for event in events if isinstance(event, ShardStarted)}
    return {
        str(folder_of(specs[shard], workload)): hashlib.sha256(substance(trial).encode()).hexdigest()
        for (shard, workload), trial in first_trials(events).items()
        if shard in specs
    }


def text(of_files: Mapping[str, str], events: Sequence[JournalEvent]) -> str:
    """The file that holds them, in the form of sha256sum(1)."""
    found = {**of_files, **dict(sorted(of_trials(events).items()))}
    return "".join(f"{digest}  {name}\n" for name, digest in found.items())


def changed(folder: Path, events: Sequence[JournalEvent]) -> tuple[list[str], list[str]]:
    """The files of an unpacked run that are not what its digests say, and the trials that measured something else.

    A trial that only one side has is one of them. Raises RunError and OSError.
    """
    told, found = _told(folder), of_trials(events)
    files_changed = [name for name in FILES if told.pop(name, "") != _of_file(folder / name)]
    return files_changed, [name for name in dict.fromkeys([*told, *found]) if told.get(name) != found.get(name)]


def _told(folder: Path) -> dict[str, str]:
    told = {}
    for line in files.text(folder / DIGESTS, MAX_BYTES).removesuffix("\n").split("\n"):
        found = LINE.fullmatch(line)
        if not found:
            raise RunError(f"{folder / DIGESTS} is damaged; {MEND}")
        told[found[2]] = found[1]
    return told


def _of_file(path: Path) -> str:
    with files.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
