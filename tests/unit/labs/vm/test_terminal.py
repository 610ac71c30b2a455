"""A terminal that a program had for its own."""

import os
import sys
import termios
import tty
from pathlib import Path

import pytest

from tunbench.labs.vm.terminal import handed_back


def test_a_terminal_is_handed_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        before = termios.tcgetattr(slave)
        with pytest.raises(KeyboardInterrupt), handed_back():
            tty.setraw(slave)
            assert termios.tcgetattr(slave) != before
            raise KeyboardInterrupt
        assert termios.tcgetattr(slave) == before
        with handed_back():
            os.close(master)


def test_without_a_terminal_there_is_nothing_to_hand_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with handed_back():
            pass
