"""Files that may come from someone else, such as a run's: no link is followed, to read or to write."""

import errno
import os
import stat
from io import BufferedReader, FileIO
from pathlib import Path


def opened(path: Path) -> BufferedReader:
    """A file to be read. Raises OSError where it is a link, or no regular file: a pipe or device may never end."""
    return os.fdopen(_descriptor(path, os.O_RDONLY), "rb")


def appended(path: Path) -> FileIO:
    """A file to be appended to, without a buffer; it is made where there is none. Raises OSError."""
    return FileIO(_descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")


def text(path: Path, most: int) -> str:
    """The text of a file of at most so many bytes. Raises OSError, also where it is larger or no UTF-8."""
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, f"byte {error.start} is not UTF-8") from None


def write(path: Path, data: bytes | str) -> None:
    """Writes a file anew: it takes the place of what stands there, so that no link is followed, once it is whole.

    Raises OSError; then what stood there still does.
    """
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(new, flags, 0o666), "wb") as file:
            file.write(data.encode(errors="replace") if isinstance(data, str) else data)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_named(path: Path, data: bytes | str) -> None:
    """Writes a file that somebody named. Raises OSError where a link, a pipe or a device has the name.

    In its place would stand a file where others look for it, such as /dev/stdout, or behind it somebody else's.
    """
    if os.path.lexists(path):
        _check(path, path.lstat())
    write(path, data)


def folder(run: Path, way: Path) -> Path:
    """The folder at a way within a run's, which is made. Raises OSError where a link would lead elsewhere."""
    run.mkdir(parents=True, exist_ok=True)
    made = run
    for part in way.parts:
        made = made / part
        if made.is_symlink():
            raise OSError(errno.ELOOP, f"{made} is a link, and may lead out of the folder")
        made.mkdir(exist_ok=True)
    return made


def _descriptor(path: Path, flags: int) -> int:
    """A regular file that is open. Raises OSError.

    It is looked at before, as opening a device may act, and after, as it may be another one by then: so nothing waits.
    """
    if not flags & os.O_CREAT or os.path.lexists(path):
        _check(path, path.lstat())
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        _check(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path, status: os.stat_result) -> None:
    kind = status.st_mode
    if stat.S_ISLNK(kind):
        raise OSError(errno.ELOOP, f"{path.name} is a link, and may lead out of the folder")
    if stat.S_ISDIR(kind):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, f"{path.name} is no regular file")
