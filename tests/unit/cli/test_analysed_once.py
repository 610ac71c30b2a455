"""A run is analysed once, and its analysis is handed to all that show it."""

from pathlib import Path

import pytest

from tests.helpers import studies
from tests.helpers.runs import finished, invoke, runs_here
from tunbench.analysis import run_analysis
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.journal.record import Record


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Record]:
    """The runs that were analysed, one after the other, while two are there."""
    runs_here(monkeypatch, tmp_path)
    for name in ("one", "other"):
        finished(tmp_path / name)
    studies.written(tmp_path)
    assert invoke("run", "tiny.toml", "--scale", "quick", "--out", "study").exit_code == 0
    seen: list[Record] = []

    def counted(record: Record, analyse: object = run_analysis.analyse) -> RunAnalysis:
        seen.append(record)
        return analyse(record)  # type: ignore[operator, no-any-return]

    monkeypatch.setattr(run_analysis, "analyse", counted)
    return seen


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        (("run", "plan.toml", "--out", "new"), 1),
        (("run", "tiny.toml", "--scale", "quick", "--out", "new"), 1),
        (("study", "agree", "study"), 1),
        (("report", "study"), 1),
        (("report", "one"), 1),
        (("report", "one", "other", "--export", "files"), 2),
        (("compare", "one", "other"), 2),
        (("gate", "one", "other", "--summary", "page.md", "--junit", "cases.xml"), 2),
    ],
)
def test_a_command_analyses_each_of_its_runs_once(command: tuple[str, ...], runs: int, analysed: list[Record]) -> None:
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert len(analysed) == runs


def test_what_is_shown_twice_is_computed_once(analysed: list[Record]) -> None:
    assert invoke("report", "one").exit_code == 0
    found = run_analysis.analyse(analysed[0])
    assert found.cells is found.cells and found.warnings is found.warnings
