"""A run's folder from someone else, and the commands that open it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.events import EVENTS
from tests.helpers.runs import invoke, runs_here
from tunbench.journal import journal
from tunbench.plain_text import plain

SCRIPT = "<img src=x onerror=document.title='run'><script>document.title='run'</script>\"'`}}</script>{{7*7}}"
NAMES = (
    *("../../escaped", "/etc/passwd", "..", SCRIPT, "javascript:document.title='run'", "=1+1", "@x", "-1", "a=1+1"),
    *("a\x1b[2J", "nul\0", "new\nline", "\r", "\x9b31m", "\u202eabc", "", " ", "a" * 5000, "\ud800", "été"),
    *("none", "s"),
    *(r"\input{/etc/passwd}", r"a\write18{touch x}", "a%s{0}", "a;b,c", "a]]>", "a--><b>", "a&lt;", "rtt", "ok", "up"),
)
"""What names, reasons and logs of a stranger may be."""

SECONDS = 15.0
"""Processor time in which a command that opens a run must end."""

OPENED = [
    *(["digest"], ["samples"], ["report"], ["verify"]),
    *(["lab", "build", "--as"], ["toolbox", "install", "--as"], ["study", "agree"], ["run", "--resume"]),
]
"""The commands that open the folder of one run."""

Property = Callable[[str, object], None]


def write(folder: Path, *lines: Any) -> Path:
    """A run's folder with these events; bytes are lines as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    encoded = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    (folder / journal.NAME).write_bytes(b"".join(line + b"\n" for line in encoded))
    return folder


def commands(run: Path, good: Path) -> list[list[str]]:
    """Every command that opens a run's folder."""
    here, there = str(run), str(good)
    return [
        *(["digest", here], ["samples", here], ["report", here], ["compare", here, there], ["gate", there, here]),
        *(["study", "agree", here], ["run", "--resume", here], ["report", here, there]),
        *(["compare", there, here, "--csv"], ["samples", here, "--format", "json"]),
        *(["verify", here], ["verify", here, "--shards", "all", "--medians"]),
        *(["lab", "build", "--as", here], ["toolbox", "install", "--as", here]),
        ["pack", here, f"{here}.tar.bz2"],
    ]


def told(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed: nothing that acts on a terminal."""
    done = invoke(*arguments)
    assert done.exit_code in (0, 1, 2), done.output[-500:]
    assert plain(done.output) == done.output
    return done.exit_code, done.output


def run_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of ours, in a folder of its own below this one."""
    runs_here(monkeypatch, tmp_path)
    return write(tmp_path / "good", *EVENTS)
