"""What is small in a run's folder stays small: neither time nor memory of a report grows by more than it has."""

import re
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from tests.helpers.events import EVENTS
from tests.helpers.pages import page_of, view_of
from tests.helpers.records import MANIFEST, TCP, cell, realistic, record, trial
from tests.helpers.runs import invoke
from tests.helpers.strangers import write
from tunbench.analysis.run_analysis import analyse
from tunbench.journal.record import Record, Warned
from tunbench.report.reported_run import assessment
from tunbench.report.tables import manifest, matrix, ratios
from tunbench.report.tables.heat import MAX_FIELDS
from tunbench.report.terminal import run_report
from tunbench.report.terminal.rich_tables import MAX_ROWS
from tunbench.runner.declare.metrics import Question


def seconds(made: Callable[..., Any], *arguments: Any) -> float:
    """The processor's time that a call takes."""
    began = time.process_time()
    made(*arguments)
    return time.process_time() - began


def test_the_name_of_a_table_is_not_told_once_for_each_of_its_facts_without_an_end() -> None:
    found = manifest.facts({"k" * 10_000: dict.fromkeys(map(str, range(190_000)), 0), "z": 1})
    assert sum(len(name) for name, _ in found) <= manifest.MAX_NAME_CHARACTERS
    assert found[-1] == ("…", "the names of the others are too long to be shown")
    assert [name for name, _ in manifest.facts(MANIFEST)][-1] == "fingerprint"


def test_a_plan_of_empty_lines_is_no_study(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("\n" * 131_072)
    assert seconds(assessment, analyse(record([])), tmp_path) < 2


def test_twenty_thousand_kinds_of_warnings_are_grouped_at_once() -> None:
    many = record(realistic(1).trials, warnings=[Warned(f"w{number}", "a", "b") for number in range(20_000)] * 2)
    found, own = analyse(many), len(analyse(realistic(1)).warnings)
    assert seconds(lambda: found.warnings) < 3
    assert len(found.warnings) == 20_000 + own - 1


def crossed(count: int, workload: str = TCP) -> Record:
    """As many stacks as profiles, each stack under one of them, beside a bare one."""
    trials = [
        trial(cell(stack, f"p{number}", workload), [("throughput", "bit/s", 1e6 + number)])
        for number in range(count)
        for stack in ("none", f"wireguard:mtu={1000 + number}")
    ]
    return record(trials)


def test_stacks_by_conditions_that_are_mostly_empty_are_a_bearable_page() -> None:
    whole = view_of(crossed(600))
    found = ratios.table(whole, Question.FAST)
    assert len(found.rows) * len(found.columns) <= MAX_FIELDS
    assert f"has {len(found.rows)} rows at most" in found.caption
    assert seconds(matrix.table, whole) < 3
    assert len(matrix.table(whole).rows) == 1200


def test_why_a_cell_has_no_ratio_is_not_searched_for_among_all_values() -> None:
    trials = [trial(cell("none", repeat=0), [("rtt", "s", 1.0)])]
    trials += [trial(cell("ipip", f"p{number}"), [("rtt", "s", 1.0)]) for number in range(2_000)]
    assert seconds(ratios.table, view_of(record(trials)), Question.LATE) < 3
    fast = [trial(cell("ipip", f"p{number}", TCP), [("throughput", "bit/s", 1.0)]) for number in range(2_000)]
    assert seconds(matrix.table, view_of(record([*trials, *fast]))) < 4


def test_a_terminal_has_no_more_rows_than_are_read() -> None:
    out, stacks = StringIO(), MAX_ROWS // 2 + 20
    many = view_of(crossed(stacks))
    assert seconds(Console(file=out, width=200).print, run_report.rendered(many)) < 8
    shown = [line for line in out.getvalue().splitlines() if re.match(r" *(none|wireguard)", line)]
    assert len(shown) == MAX_ROWS
    assert "… and 40 rows more; tunbench samples prints every value" in out.getvalue()


def test_samples_are_written_in_slices_that_make_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["rtt", "s", 0.001 + number / 1e6, number / 10, "a-b", "a"] for number in range(25)]
    run = write(tmp_path / "run", *EVENTS[:2], {**EVENTS[6], "samples": rows})
    whole = [invoke("samples", str(run), "--format", one).stdout for one in ("csv", "json")]
    monkeypatch.setattr(sys.modules["tunbench.cli.samples"], "ROWS_AT_ONCE", 10)
    texts: list[str] = []
    echo = typer.echo

    def noted(text: str, nl: bool = True, err: bool = False) -> None:
        texts.extend([] if err else [text])
        echo(text, nl=nl, err=err)

    monkeypatch.setattr(typer, "echo", noted)
    assert [invoke("samples", str(run), "--format", one).stdout for one in ("csv", "json")] == whole
    assert [text.count("\n") for text in texts] == [11, 10, 5, 10, 10, 5]
    assert whole[0].count("\n") == 26 and whole[1].count("\n") == 25


def test_thousands_of_workloads_are_looked_up_and_not_searched_for() -> None:
    samples = [("rtt", "s", 1.0), ("throughput", "bit/s", 1e6)]
    workloads = [f"ping:count={number}" for number in range(5, 3_205)]
    many = record([trial(cell("ipip", workload=workload), samples) for workload in workloads])
    assert seconds(page_of, many) < 12
