"""What takes minutes says so, and how long it will still take, on a terminal and in a log."""

import io
import time

import pytest
from rich.console import Console

from tunbench.cli.shell.under_way import EVERY_SECONDS, under_way


def test_a_log_has_a_line_from_time_to_time_with_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with under_way(Console(file=out, width=200), "building base", 240) as tell:
        for moment in (1.0, EVERY_SECONDS, EVERY_SECONDS + 1, 300.0):
            now[0] = moment
            tell(f"step at {moment:.0f}")
    assert out.getvalue().splitlines() == [
        "building base: about 4 min 0 s",
        "building base: 30 s, about 3 min 30 s left: step at 30",
        "building base: 5 min 0 s, longer than expected: step at 300",
    ]


def test_a_terminal_shows_what_is_done_now(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with under_way(Console(file=out, width=60, force_terminal=True), "nebula 1.10", 76) as tell:
        tell("program 1 of 2: nebula " + "x" * 100)
    assert "nebula 1.10: 0 s, about 1 min 16 s left: program 1" in out.getvalue()
