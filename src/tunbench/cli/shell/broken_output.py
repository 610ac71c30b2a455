"""What becomes of a command whose output has no reader any more, no room, or no letters for what it says."""

import errno
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter, RawIOBase, TextIOWrapper
from typing import TextIO

from tunbench.cli.shell.errors import BAD_INPUT, complain

CLOSED = 141
"""Exit code where nobody reads the output any more: a shell has 128 + 13 for what SIGPIPE ended."""

FAILED = 1
"""Exit code of typer and rich where nobody reads the output any more; but a gate's is an answer."""

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE)
"""What write(2) says of an output that takes no more."""


@contextmanager
def written() -> Iterator[None]:
    """Ends the command with CLOSED where nobody reads its output, with a line and BAD_INPUT where it fits nowhere."""
    if not sys.stdout:
        # It was closed before the command began.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.stdout = _whole(sys.stdout)
    output = os.dup(sys.stdout.fileno())
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except SystemExit as ended:
        _leave(sys.stderr)
        if ended.code == FAILED and _unread(output):
            sys.exit(CLOSED)
        raise
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        _leave(sys.stdout)
        if error.errno == errno.EPIPE:
            sys.exit(CLOSED)
        complain(f"the output cannot be written: {error.strerror}")
        _leave(sys.stderr)
        sys.exit(BAD_INPUT)


def _whole(stream: TextIO) -> TextIO:
    """The stream, such that all of a text is written or an error raised: without a buffer, Python drops what is left.

    With PYTHONUNBUFFERED its standard streams have none.
    """
    if isinstance(stream, TextIOWrapper) and isinstance(stream.buffer, RawIOBase):
        return TextIOWrapper(BufferedWriter(stream.buffer), stream.encoding, "replace", line_buffering=True)
    return stream


def _leave(stream: TextIO | None) -> None:
    """Lets go of what a stream does not take: Python would try once more as it ends, and exit with 120."""
    if stream:
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _unread(output: int) -> bool:
    """Whether the other end of a pipe is closed."""
    poll = select.poll()
    poll.register(output, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))
