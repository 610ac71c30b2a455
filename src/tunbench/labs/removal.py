"""Removes what lies in the cache."""

import errno
import shutil
from pathlib import Path

from tunbench.labs.image import ImageError


def remove(folder: Path) -> bool:
    """Removes a folder of the cache; whether anything was there. Raises ImageError.

    Where it is a link, as to a larger disk, what it leads to is emptied, and both stay for what is built next.
    """
    try:
        linked = folder.is_symlink() and folder.is_dir()
        parts = list(folder.iterdir()) if linked else [folder]
        for part in parts:
            _remove(part)
        return bool(parts)
    except FileNotFoundError:
        return False
    except OSError as error:
        # What the system names is a file without its folder, or nothing.
        raise ImageError(
            f"cannot remove {folder}: {error.strerror}; {_mend(folder, error)}, or name another cache with "
            "XDG_CACHE_HOME"
        ) from None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _mend(folder: Path, error: OSError) -> str:
    if error.errno == errno.ENOTDIR:
        return f"{folder.parent} has to be a folder"
    return "make it writable, with all that is in it"
