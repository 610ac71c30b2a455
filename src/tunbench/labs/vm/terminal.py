"""The terminal of whoever starts a program that takes it for its own."""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def handed_back() -> Iterator[None]:
    """Afterwards the terminal is as it was, also where the program had it raw, without echo, as it was killed."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        # It may have been closed.
        with suppress(termios.error):
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
