"""What becomes of a command whose output has no reader any more, no room, or no letters for what it says."""

import errno
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

import typer

from tunbench.cli.errors import BAD_INPUT

CLOSED = 141
"""Exit code where nobody reads the output any more: a shell has 128 + 13 for what SIGPIPE ended."""

FAILED = 1
"""Exit code of typer and rich where nobody reads the output any more; but a gate's is an answer."""


@contextmanager
def written() -> Iterator[None]:
    """Ends the command with CLOSED where nobody reads its output, with a line and BAD_INPUT where it fits nowhere."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if not sys.stdout:
        # It was closed before the command began.
        yield
        return
    output = os.dup(sys.stdout.fileno())
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except SystemExit as ended:
        if ended.code == FAILED and _unread(output):
            sys.exit(CLOSED)
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        # Python would try once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            sys.exit(CLOSED)
        typer.echo(f"the output cannot be written: {error.strerror}", err=True)
        sys.exit(BAD_INPUT)


def _unread(output: int) -> bool:
    """Whether the other end of a pipe is closed."""
    poll = select.poll()
    poll.register(output, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))
