"""The sections of a report that other modules make, and the runs that it is about."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from tunbench.analysis.compare.runs import CompareError
from tunbench.analysis.findings import Findings
from tunbench.analysis.study.assessment import Assessment, assess, is_study, of_run
from tunbench.journal import read
from tunbench.journal.journal import JournalError
from tunbench.journal.record import Record
from tunbench.plain_text import plain
from tunbench.plan.load import PlanError
from tunbench.report.page import comparison, study
from tunbench.report.page.filters import Choices, Frame
from tunbench.report.tables import stopping
from tunbench.report.view import View


class Shown(NamedTuple):
    """A run of a page: its record, its label among others, and the way from the page to its folder.

    `folder` is that folder, if there is one; its plan may be a study.
    """

    record: Record
    label: str = ""
    base: str = "."
    folder: Path | None = None


def made_elsewhere(whole: View, runs: Sequence[Shown]) -> list[Markup]:
    """The sections that other modules make.

    Of each run they are its study, and which cells were narrow enough; of two runs, their comparison.
    """
    found = []
    for number, (findings, run) in enumerate(zip(whole.runs, runs, strict=True)):
        suffix = f"-{number + 1}" if number else ""
        choices = Choices(whole, (number,))
        found.append(_study(findings, run.folder, Frame(f"study{suffix}", run.label, choices)))
        found.append(stopping.section(findings, Frame(f"narrow{suffix}", run.label, choices)))
    if len(whole.runs) == 2:
        try:
            names = (whole.labels[0], whole.labels[1])
            found.append(comparison.section(*whole.runs, names=names, choices=Choices(whole, (0, 1))))
        except CompareError as error:
            text = '<section id="compare"><h2>{} and {} cannot be compared</h2><p>{}</p></section>'
            found.append(Markup(text).format(*whole.labels, error))
    return [one for one in found if one]


def assessment(findings: Findings, folder: Path | None) -> Assessment | None:
    """What a run says of the study that it reproduces; None where it is none. Raises PlanError and JournalError."""
    if not folder or not os.path.lexists(folder / "plan.toml"):
        return None
    # Only then is the journal read once more.
    if not re.search(r"^[ \t]*\[+(study|claim)", read.plan(folder), re.MULTILINE):
        return None
    loaded = of_run(folder)
    return assess(findings, loaded) if is_study(loaded) else None


def _study(findings: Findings, folder: Path | None, frame: Frame) -> Markup:
    """The section of a study's run; empty where its plan is none."""
    try:
        found = assessment(findings, folder)
        return study.rendered(found, frame) if found else Markup()
    except (PlanError, JournalError) as error:
        text = '<section id="{}"><h2>The study of {} cannot be read</h2><p class="reason">{}</p></section>'
        return Markup(text).format(frame.id, frame.label or "this run", plain(str(error)))
