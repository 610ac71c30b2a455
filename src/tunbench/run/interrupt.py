"""Ends what goes on as Ctrl-C does, in order, when SIGTERM comes."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended: a shell has 128 + 2 for what SIGINT ended."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM raises KeyboardInterrupt."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
