"""A report of many samples: how long it takes, and how much memory."""

from pathlib import Path

import pytest

from tests.helpers import journals, spending


def made(folder: Path, samples: int, **sizes: int) -> tuple[float, float, Path]:
    """Seconds of the processor and bytes of memory that a report takes, and its file."""
    assert journals.write(folder / "run", samples, **sizes) > 0.9 * samples
    page = folder / "report.html"
    spent = spending.command("report", str(folder / "run"), "--out", str(page))
    assert spent.code == 0, spent.stderr
    return spent.seconds, spent.memory_bytes, page


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
