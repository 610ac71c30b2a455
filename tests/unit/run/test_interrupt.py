"""Signals that end what goes on as Ctrl-C does."""

import os
import signal

import pytest

from tunbench.run.interrupt import ENDING, interruptible


@pytest.mark.parametrize("sent", ENDING)
def test_a_signal_interrupts_once_and_lets_what_cleans_up_come_to_its_end(sent: signal.Signals) -> None:
    before, cleaned = signal.getsignal(sent), []
    with pytest.raises(KeyboardInterrupt), interruptible():
        try:
            os.kill(os.getpid(), sent)
        finally:
            os.kill(os.getpid(), sent)
            cleaned.append(sent)
    assert cleaned == [sent]
    assert signal.getsignal(sent) is before
