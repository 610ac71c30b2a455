"""Ends what goes on as Ctrl-C does, in order, when SIGTERM or SIGHUP comes."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended: a shell has 128 + 2 for what SIGINT ended."""

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP raise KeyboardInterrupt."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {one: signal.getsignal(one) for one in ENDING}
    try:
        for one in ENDING:
            # What nohup(1) starts is to outlive its terminal.
            if before[one] != signal.SIG_IGN:
                signal.signal(one, interrupt)
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
