"""A run as a report is given it: analysed once, with its study, its label among others, and the way to its folder."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.study.assessment import Assessment, assess, is_study
from tunbench.journal import read
from tunbench.journal.journal import JournalError
from tunbench.journal.readers import published
from tunbench.journal.readers.journal import recognises
from tunbench.plain_text import plain
from tunbench.plan import load
from tunbench.plan.load import Loaded, PlanError

OF_A_STUDY = {"study", "claim"}
"""The keys of a plan that make it one of a study."""


class ReportedRun(NamedTuple):
    """What followed from a run, its label among others (empty where there is one), and the way from a page to it.

    `assessment` is that of its study, if it is of one, and `unreadable` says why that cannot be read.
    """

    analysis: RunAnalysis
    label: str = ""
    base: str = "."
    assessment: Assessment | None = None
    unreadable: str = ""


def reported_run(
    analysis: RunAnalysis, folder: Path, label: str = "", base: str = ".", loaded: Loaded | None = None
) -> ReportedRun:
    """A run with its study, which is read from the run's folder where its plan is not at hand."""
    try:
        return ReportedRun(analysis, label, base, assessment(analysis, folder, loaded))
    except (PlanError, JournalError) as error:
        return ReportedRun(analysis, label, base, unreadable=plain(str(error)))


def assessment(analysis: RunAnalysis, folder: Path, loaded: Loaded | None = None) -> Assessment | None:
    """What a run says of the study that it reproduces; None where it is none. Raises PlanError and JournalError."""
    if loaded is None:
        # What another tool has measured has no plan.
        if not recognises(folder):
            return None
        # Only where the plan is that of a study is the journal's head read once more.
        if not OF_A_STUDY & load.parsed(read.plan(folder), str(folder / "plan.toml")).keys():
            return None
        loaded = read.loaded_plan(folder)
    return assess(analysis, loaded, published.numbers_of_tables(loaded)) if is_study(loaded) else None


def way_to(run: Path, page: Path) -> str:
    """The way from the page's folder to the run's."""
    return plain(Path(os.path.relpath(os.path.realpath(run), os.path.realpath(page.parent))).as_posix())


def labels_of(runs: Sequence[Path]) -> list[str]:
    """What tells the runs apart: nothing for one, else their folders' names, with those above where they are equal."""
    if len(runs) == 1:
        return [""]
    ways = [tuple(map(plain, Path(os.path.realpath(run)).parts)) for run in runs]
    longest = max(map(len, ways))
    named = (["/".join(way[-depth:]) for way in ways] for depth in range(1, longest + 1))
    labels = next((names for names in named if len(set(names)) == len(names)), None)
    return labels or [f"run {number}" for number in range(1, len(runs) + 1)]
