"""The section of a report that compares two runs."""

from collections.abc import Sequence

from markupsafe import Markup

from tunbench.analysis.compare.compared_cell import BETTER, FAILED_A, FAILED_B, IDENTICAL, ONLY_A, WORSE, worst_first
from tunbench.analysis.compare.runs import RunComparison
from tunbench.report import change_wording
from tunbench.report.page.figures import DrawnFigure
from tunbench.report.page.filters import SectionFrame
from tunbench.report.page.template import template

TEMPLATE = "compare.html.j2"

CLASSES = {
    **dict.fromkeys((FAILED_B, WORSE, ONLY_A), "failed"),
    **dict.fromkeys((BETTER, FAILED_A), "ok"),
    IDENTICAL: "unsupported",
}
"""The class of the page's style that a verdict has."""


def rendered(
    compared: RunComparison, names: Sequence[str], frame: SectionFrame, figures: Sequence[DrawnFigure]
) -> Markup:
    """The comparison of run A with run B as a `<section>`: what differs, its figures, and a table of every cell.

    It uses the page's classes and its script for tables, and is right without the script. `names` are what the runs are
    called.
    """
    rows = worst_first(compared.rows)
    context = {
        "id": frame.id,
        "names": names,
        "headline": change_wording.headline(compared),
        "differing": change_wording.differing_by_name(compared),
        "notes": change_wording.notes(rows),
        "differences": compared.differences,
        "figures": figures,
        "rows": [(row, frame.marks([row._asdict()])) for row in rows],
        "filtered": frame.filters is not None,
        "wording": change_wording,
        "classes": CLASSES,
        "method": change_wording.method(compared),
    }
    return Markup(template(TEMPLATE).render(context))
