"""What is small in a run's folder stays small: neither time nor memory of a report grows by more than it has."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unit.records import MANIFEST, realistic, record
from tunbench.analysis.findings import find
from tunbench.analysis.warnings import warnings
from tunbench.journal.record import Warned
from tunbench.report import sections, tables


def seconds(made: Callable[..., Any], *arguments: Any) -> float:
    """The processor's time that a call takes."""
    began = time.process_time()
    made(*arguments)
    return time.process_time() - began


def test_the_name_of_a_table_is_not_told_once_for_each_of_its_facts_without_an_end() -> None:
    found = tables.facts({"k" * 10_000: dict.fromkeys(map(str, range(190_000)), 0), "z": 1})
    assert sum(len(name) for name, _ in found) <= tables.NAMED
    assert found[-1] == ("…", "the names of the others are too long to be shown")
    assert [name for name, _ in tables.facts(MANIFEST)][-1] == "fingerprint"


def test_a_plan_of_empty_lines_is_no_study(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("\n" * 131_072)
    assert seconds(sections.assessment, find(record([])), tmp_path) < 2


def test_twenty_thousand_kinds_of_warnings_are_grouped_at_once() -> None:
    many = record(realistic(1).trials, warnings=[Warned(f"w{number}", "a", "b") for number in range(20_000)] * 2)
    cells = find(realistic(1)).cells
    assert seconds(warnings, many, cells) < 3
    assert len(warnings(many, cells)) == 20_000 + len(warnings(realistic(1), cells)) - 1
