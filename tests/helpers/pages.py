"""Reports of records: how they look side by side, and their page."""

from collections.abc import Sequence
from pathlib import Path

from tests.helpers.records import MANIFEST, PING, TCP, cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.journal.record import Record, Warned
from tunbench.report.page import html
from tunbench.report.reported_run import ReportedRun
from tunbench.report.view import View, side_by_side

HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }}"
"""A name that acts where it is not escaped."""


def view_of(*records: Record, labels: Sequence[str] = ("",), bases: Sequence[str] = ()) -> View:
    """The records side by side."""
    ways = bases or ["."] * len(records)
    return side_by_side(
        [ReportedRun(analyse(run), label, way) for run, label, way in zip(records, labels, ways, strict=True)]
    )


def page_of(record: Record) -> str:
    """The page of one record."""
    return html.page(view_of(record))


def write_page(record: Record, path: Path) -> None:
    """Writes the page of one record."""
    html.write(ReportedRun(analyse(record)), path)


def hostile_page() -> str:
    """The page of a run whose names, reasons and logs are HOSTILE."""
    trials = [
        trial(cell(stack, HOSTILE, workload, repeat), samples)
        for stack in ("none", HOSTILE)
        for repeat in (1, 2)
        for workload, samples in (
            (TCP, [("throughput", "bit/s", 1e6)]),
            (PING, [("rtt", "s", 1e-3, 0.0), ("rtt", "s", 2e-3, 0.1)]),
        )
    ]
    trials.append(trial(cell(HOSTILE, HOSTILE, TCP, 3), verdict="failed", reason=HOSTILE, logs={HOSTILE: HOSTILE}))
    manifest = {**MANIFEST, "plan": {"name": HOSTILE, "seed": HOSTILE}, HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}
    return page_of(
        record(trials, manifest=manifest, warnings=(Warned(HOSTILE, HOSTILE, HOSTILE),), interrupted=(HOSTILE,))
    )
