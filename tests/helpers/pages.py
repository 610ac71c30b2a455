"""Reports of records: how they look side by side, and their page."""

from collections.abc import Sequence
from pathlib import Path

from tunbench.analysis.findings import find
from tunbench.journal.record import Record
from tunbench.report.page import html
from tunbench.report.reported_run import ReportedRun
from tunbench.report.view import View, side_by_side


def view_of(*records: Record, labels: Sequence[str] = ("",), bases: Sequence[str] = ()) -> View:
    """The records side by side."""
    ways = bases or ["."] * len(records)
    return side_by_side(
        [ReportedRun(find(run), label, way) for run, label, way in zip(records, labels, ways, strict=True)]
    )


def page_of(record: Record) -> str:
    """The page of one record."""
    return html.page(view_of(record))


def write_page(record: Record, path: Path) -> None:
    """Writes the page of one record."""
    html.write(ReportedRun(find(record)), path)
