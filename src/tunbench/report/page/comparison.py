"""The section of a report that compares two runs."""

from markupsafe import Markup

from tunbench.analysis.compare.cell_change import BETTER, FAILED_A, FAILED_B, IDENTICAL, ONLY_A, WORSE, worst_first
from tunbench.analysis.compare.runs import Choice, compare
from tunbench.analysis.findings import Findings
from tunbench.report.charts import forest
from tunbench.report.charts.svg import render
from tunbench.report.page.filters import Choices, Frame
from tunbench.report.page.template import template
from tunbench.report.tables import changes

CLASSES = {
    **dict.fromkeys((FAILED_B, WORSE, ONLY_A), "failed"),
    **dict.fromkeys((BETTER, FAILED_A), "ok"),
    IDENTICAL: "unsupported",
}
"""The class of the page's style that a verdict has."""


def section(
    a: Findings,
    b: Findings,
    names: tuple[str, str] = ("A", "B"),
    choice: Choice = Choice(),  # noqa: B008 - it cannot be changed
    identifier: str = "compare",
    choices: Choices | None = None,
) -> Markup:
    """The comparison of run A with run B as a `<section>`: what differs, a forest plot, and a table of every cell.

    It uses the page's classes and its script for tables, and is right without the script. `names` are what the runs are
    called, `identifier` is that of the section, and begins those of all within it; `choices` are the page's filters.
    Raises CompareError.
    """
    compared = compare(a, b, choice)
    rows, frame = worst_first(compared.rows), Frame(identifier, choices=choices)
    plotted = forest.plottable(rows)
    drawn = Markup("")
    if plotted:
        title = f"Change from {names[0]} to {names[1]}"
        # Our own drawing, with every text in it escaped.
        drawn = Markup(render(forest.plot(plotted), f"{identifier}-forest", title, changes.headline(compared)))
    context = {
        "id": identifier,
        "names": names,
        "headline": changes.headline(compared),
        "notes": changes.notes(rows),
        "differences": compared.differences,
        "plot": drawn,
        "plotted": len(plotted),
        "left_out": sum(row.relative is not None for row in rows) > len(plotted),
        "rows": [(row, frame.marks([row._asdict()])) for row in rows],
        "filtered": choices is not None,
        "changes": changes,
        "classes": CLASSES,
        "method": changes.method(compared),
    }
    return Markup(template("compare.html.j2").render(context))
