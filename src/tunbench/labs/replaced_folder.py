"""A folder of the cache that is built beside itself, and takes its place at once or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.labs.unwritable import in_cache

BUILDING = ".building-"


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A scratch folder beside `folder`; `image` in it takes the place of that at the end, at once or not at all.

    Raises ImageError where it cannot be made.
    """
    with in_cache(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        made = tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{BUILDING}{os.getpid()}-")
    with made as name:
        fresh = Path(name) / "image"
        fresh.mkdir()
        yield Path(name)
        _make_way(folder)
        fresh.rename(folder)


def sweep(folder: Path) -> None:
    """Removes from a folder of the cache what builds left behind that were killed."""
    for path in folder.glob(f"{BUILDING}*-*"):
        pid = path.name.removeprefix(BUILDING).split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(path, ignore_errors=True)


def _make_way(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
