"""The sections of a report that other modules make, and the runs that it is about."""

from markupsafe import Markup

from tunbench.analysis.compare.runs import CompareError
from tunbench.report.page import comparison, study
from tunbench.report.page.filters import Choices, Frame
from tunbench.report.reported_run import ReportedRun
from tunbench.report.tables import stopping
from tunbench.report.view import View


def made_elsewhere(whole: View) -> list[Markup]:
    """The sections that other modules make.

    Of each run they are its study, and which cells were narrow enough; of two runs, their comparison.
    """
    found = []
    for number, run in enumerate(whole.reported):
        suffix = f"-{number + 1}" if number else ""
        choices = Choices(whole, (number,))
        found.append(_study(run, Frame(f"study{suffix}", run.label, choices)))
        found.append(stopping.section(run.findings, Frame(f"narrow{suffix}", run.label, choices)))
    if len(whole.runs) == 2:
        try:
            names = (whole.labels[0], whole.labels[1])
            found.append(comparison.section(*whole.runs, names=names, choices=Choices(whole, (0, 1))))
        except CompareError as error:
            text = '<section id="compare"><h2>{} and {} cannot be compared</h2><p>{}</p></section>'
            found.append(Markup(text).format(*whole.labels, error))
    return [one for one in found if one]


def _study(run: ReportedRun, frame: Frame) -> Markup:
    """The section of a study's run; empty where its plan is none."""
    if run.unreadable:
        text = '<section id="{}"><h2>The study of {} cannot be read</h2><p class="reason">{}</p></section>'
        return Markup(text).format(frame.id, frame.label or "this run", run.unreadable)
    return study.rendered(run.assessment, frame) if run.assessment else Markup()
