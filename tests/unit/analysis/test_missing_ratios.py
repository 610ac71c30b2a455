"""Why a ratio to `none` is missing: said where the ratio would stand."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.helpers.pages import page_of, view_of
from tests.helpers.records import TCP, cell, record, trial
from tunbench.analysis import missing_ratios
from tunbench.analysis.run_analysis import analyse
from tunbench.journal.record import Record, TrialResult
from tunbench.report.tables import ratios
from tunbench.report.terminal import run_report
from tunbench.runner.declare.metrics import Question


def speed(stack: str, value: float, repeat: int = 1, profile: str = "baseline") -> TrialResult:
    where = cell(stack, workload=TCP, repeat=repeat, profile=profile)
    return trial(where, [("throughput", "bit/s", value)])


def failed(stack: str, repeat: int = 1, verdict: str = "failed") -> TrialResult:
    return trial(cell(stack, workload=TCP, repeat=repeat), [], verdict=verdict, reason="it broke")


def why(*trials: TrialResult, metric: str = "throughput") -> str:
    return missing_ratios.reason(analyse(record(trials)), "gre", "baseline", TCP, metric)


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([speed("gre", 1e9)], "the run has no stack none to compare with"),
        (
            [speed("gre", 1e9), speed("none:underlay=ethernet", 1e9)],
            "the stack none was not run on the same kind of underlay",
        ),
        ([speed("gre", 1e9), failed("none")], "the stack none failed"),
        ([speed("gre", 1e9), failed("none", verdict="unsupported")], "the stack none was unsupported"),
        ([speed("gre", 1e9), speed("none", 1e9, profile="medium")], "the stack none was not run"),
        ([speed("gre", 1e9), speed("none", 0.0)], "the stack none is 0 in a trial"),
        ([speed("gre", -1.0), speed("none", 1e9)], "a value is below 0"),
        ([speed("gre", 1e9), failed("none"), speed("none", 1e9, repeat=2)], "of the stack none, 1 ok, 1 failed"),
    ],
)
def test_each_reason_is_told_apart(trials: list[TrialResult], said: str) -> None:
    assert why(*trials) == said


def broken() -> Record:
    """The baseline failed under one profile of two."""
    medium = [speed(stack, 1e8, profile="medium") for stack in ("none", "gre")]
    return record([speed("gre", 1e9), failed("none"), *medium])


def fields(table: Any) -> list[tuple[str, str]]:
    return [(field.text, field.why) for row in table.rows for field in row.fields if field.why]


def test_a_dash_says_why_in_a_tip_and_in_the_caption() -> None:
    shown = view_of(broken())
    table = ratios.table(shown, Question.FAST)
    assert fields(table) == [("–", "the stack none failed")]
    assert table.caption.endswith("A dash is no ratio, because the stack none failed (baseline).")
    page = page_of(broken())
    assert 'title="the stack none failed">–</td>' in page


def test_where_every_ratio_is_there_nothing_is_said() -> None:
    shown = view_of(record([speed("gre", 1e9), speed("none", 1e9)]))
    assert fields(ratios.table(shown, Question.FAST)) == []
    assert "A dash" not in ratios.table(shown, Question.FAST).caption


def test_the_terminal_says_it_below_its_table() -> None:
    console = Console(width=120, file=StringIO())
    console.print(run_report.rendered(view_of(broken())))
    told = console.file.getvalue().replace("\n", " ")  # type: ignore[attr-defined]
    assert "A dash is no ratio, because the stack none failed (baseline)." in told
