"""A report of many samples: how long it takes, and how much memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import journals

PROGRAM = """
import json, resource, sys, time
from tunbench.cli import app
began = time.process_time()
try:
    app(["report", *sys.argv[1:]])
except SystemExit as end:
    assert not end.code
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([time.process_time() - began, used.ru_maxrss * 1024]))
"""


def made(folder: Path, samples: int, **sizes: int) -> tuple[float, float, Path]:
    """Seconds of the processor and bytes of memory that a report takes, and its file."""
    assert journals.write(folder / "run", samples, **sizes) > 0.9 * samples
    page = folder / "report.html"
    arguments = [str(folder / "run"), "--out", str(page)]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory, page


def test_two_hundred_thousand_samples(tmp_path: Path) -> None:
    seconds, memory, page = made(tmp_path, 200_000)
    assert seconds < 15 and memory < 1 << 30
    assert page.stat().st_size < 15_000_000


def test_a_hundred_thousand_samples_of_many_trials_are_a_bearable_page(tmp_path: Path) -> None:
    seconds, _, page = made(tmp_path, 100_000, stacks=16, profiles=10, repeats=20)
    assert seconds < 25
    assert page.stat().st_size < 15_000_000
    assert "Everything" in page.read_text(encoding="utf-8")


@pytest.mark.long
def test_a_million_samples(tmp_path: Path) -> None:
    seconds, memory, _ = made(tmp_path, 1_000_000)
    assert seconds < 20 and memory < 2 << 30
