"""What cannot be written, in words and with the mend: a folder of the cache, or one for what is there for a while."""

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.labs.image import ImageError

ANOTHER_FOLDER = "make room, or name another folder with the variable TMPDIR"
"""The mend where what is there for a while has no place."""


@contextmanager
def in_cache(folder: Path, mistake: type[Exception] = ImageError) -> Iterator[None]:
    """Within it an OSError is a mistake of the user's, which names the file, or this folder of the cache."""
    try:
        yield
    except OSError as error:
        # Of a write, the system does not say to which file.
        what = error.filename or folder
        mend = "make room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable"
        raise mistake(
            f"cannot write to {what}: {error.strerror or error}; {mend}, or name another cache with XDG_CACHE_HOME"
        ) from None


@contextmanager
def temporary_folder(mistake: type[Exception] = ImageError) -> Iterator[Path]:
    """A folder that is gone afterwards. Raises a mistake of the user's where there is no place for one."""
    try:
        made = tempfile.TemporaryDirectory(prefix="tunbench-")
    except OSError as error:
        raise mistake(f"cannot make a folder for a while: {error.strerror or error}; {ANOTHER_FOLDER}") from None
    with made as name:
        yield Path(name)
