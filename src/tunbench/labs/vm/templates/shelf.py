"""Where templates lie in the cache: each made by one process while others wait, checked before it is used, and bounded.

A template is a folder of files with their digests. It is made beside its place and moved there when it is whole, so
that whoever is killed leaves nothing that looks like one.
"""

import fcntl
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tunbench.labs.lab import LabError
from tunbench.labs.vm.templates import seal

MOST, MOST_BYTES = 32, 20 << 30
"""Templates, and bytes of them on the disk, that are kept at most; those that were not used for longest go first.

One that has booted has 140 MB, one with a cluster 1.2 GB or more, of which a study needs one for each of its stacks.
"""

ROOM_BYTES = 512 << 20
"""What making one may take at most."""

MAKING, LOCK = ".making-", ".lock"

Make = Callable[[Path], None]
"""Makes a template in an empty folder."""


class Shelf:
    """A folder of templates, each by the name of what it was made from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self) -> None:
        """Makes the folder. Raises LabError where it is another's, or nothing can be put into it."""
        another = "name another cache with XDG_CACHE_HOME"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if reason := seal.foreign(self.folder):
                raise LabError(f"{self.folder} {reason}, so that others could change what shards start from; {another}")
            with tempfile.TemporaryFile(dir=self.folder):
                pass
            room = shutil.disk_usage(self.folder).free + sum(map(_bytes_of, self._templates()))
        except OSError as error:
            raise LabError(f"cannot write to {self.folder}: {error.strerror}; make it writable, or {another}") from None
        if room < ROOM_BYTES:
            raise LabError(
                f"{self.folder} has room for {room >> 20} MiB, and a template takes up to {ROOM_BYTES >> 20}; make "
                f"room, or {another}"
            )
        for template in self._templates():
            if reason := seal.foreign(template):
                _remove_foreign(template, reason)

    @contextmanager
    def held(self, name: str, make: Make) -> Iterator[Path]:
        """A template that is whole, and stays there within; it is made first where there is none.

        Raises OSError where it cannot be put there, and whatever `make` raises.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place, lock = self.folder / name, self.folder / f"{name}{LOCK}"
        while True:
            with _locked(lock, fcntl.LOCK_SH):
                if seal.whole(place):
                    os.utime(place)
                    yield place
                    return
            with _locked(lock, fcntl.LOCK_EX):
                # Whoever has waited here finds that another one has made it meanwhile.
                if not seal.whole(place):
                    self._put(place, make)

    def _put(self, place: Path, make: Make) -> None:
        making = self.folder / f"{MAKING}{place.name}"
        for old in (making, place):
            _remove(old)
        self._make_room()
        making.mkdir(mode=0o700)
        try:
            make(making)
            seal.close(making)
            making.rename(place)
            if not seal.whole(place):
                raise OSError(f"{place} does not stay as it was made")
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _make_room(self) -> None:
        """Removes what was not used for longest, but for what others use right now, until another one has its place."""
        taken = {template: _bytes_of(template) for template in self._templates()}
        for oldest in sorted(taken, key=_used):
            if len(taken) < MOST and sum(taken.values()) + ROOM_BYTES <= MOST_BYTES:
                return
            lock = self.folder / f"{oldest.name}{LOCK}"
            with suppress(OSError), _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
                _remove(oldest)
                lock.unlink()
                del taken[oldest]

    def _templates(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.is_dir() and not path.name.startswith(".")]


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    """Holds a lock, which the kernel takes back however its holder ends. Raises OSError."""
    while True:
        with path.open("ab") as file:
            fcntl.flock(file, how)
            if _is(file, path):
                yield
                return


def _is(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still there: whoever waits for the lock of one that was removed has none."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def _remove_foreign(template: Path, reason: str) -> None:
    try:
        _remove(template)
    except OSError:
        raise LabError(
            f"{template} {reason}, and cannot be removed; remove it with: sudo rm -r {shlex.quote(str(template))}"
        ) from None


def _remove(path: Path) -> None:
    """Raises OSError where it is still there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _bytes_of(template: Path) -> int:
    with suppress(OSError):
        return sum(512 * path.stat().st_blocks for path in template.iterdir())
    return 0


def _used(template: Path) -> float:
    with suppress(OSError):
        return template.stat().st_mtime
    return 0.0
