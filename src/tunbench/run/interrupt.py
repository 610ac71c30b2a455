"""Ends what goes on as Ctrl-C does, in order, when SIGTERM or SIGHUP comes."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended: a shell has 128 + 2 for what SIGINT ended."""

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP raise KeyboardInterrupt, each of them once.

    Of a terminal that is closed both its shell and the kernel tell, and the second is not to break off what cleans up.
    """

    def interrupt(number: int, _: object) -> None:
        # What is started from here on inherits no handler, and would inherit SIG_IGN.
        signal.signal(number, lambda *_: None)
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
