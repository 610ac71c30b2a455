"""The report: one HTML file that needs nothing else, and asks nothing of any network."""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from tunbench.journal import files
from tunbench.report import questions
from tunbench.report.charts import figures, lines, palette
from tunbench.report.charts.figures import Figure
from tunbench.report.page import run_facts, template
from tunbench.report.page.filters import Choices
from tunbench.report.page.sections import made_elsewhere
from tunbench.report.reported_run import ReportedRun
from tunbench.report.tables import heat_tables, tables
from tunbench.report.tables.tables import Row, Table
from tunbench.report.view import View, side_by_side
from tunbench.runner.declare.metrics import Question

TEMPLATE = "report.html.j2"

MOST = 3000
"""Rows of a table in a page; an exported table has all."""

CHARTS = 5_000_000
"""Characters of all charts of a page."""

LINKS = 20_000
"""Trials that a page links to."""


class Asked(NamedTuple):
    """A section of the page: a question, with the tables and figures that answer it, and what else bears on it."""

    id: str
    heading: str
    tables: list[Table]
    figures: list[Figure]
    further: list[Figure]


def write(run: ReportedRun, path: Path) -> None:
    """Writes the report of a run to a file in its folder. Raises OSError where that cannot be."""
    files.write(path, page(side_by_side([run])))


def page(whole: View) -> str:
    """The page of runs as HTML."""
    sections = made_elsewhere(whole)
    asked, left = answers(whole)
    script = _script()
    runs = [run_facts.described(run, Choices(whole, (number,))) for number, run in enumerate(whole.runs)]
    executions = tables.executions(whole)
    linked, count = [], 0
    for one in executions:
        count += len(one.trials)
        if count <= LINKS:
            linked.append(one)
    every = tables.everything(whole)
    return template.template(TEMPLATE).render(
        view=whole,
        runs=runs,
        title=" and ".join(dict.fromkeys(run_facts.name(run.record) for run in whole.runs)),
        headline=heat_tables.headline(whole),
        asked=asked,
        left=left,
        sections=sections,
        further=[found for section in sections if (found := _heading(section))],
        everything=shortened(every),
        everything_rows=len(every.rows),
        executions=linked,
        executions_left=len(executions) - len(linked),
        filters=_filters(whole),
        virtual=any(run["virtual"] for run in runs),
        commands=tables.commands,
        script=script,
        script_hash=_sha256(script),
        style=Markup(palette.css() + palette.chart_css() + template.text("style.css")),
    )


def answers(whole: View) -> tuple[list[Asked], list[str]]:
    """The sections of the page that have something to say, and the metrics that have no chart for want of room."""
    strips, left = figures.all_strips(whole)
    of: dict[str, list[Figure]] = {}
    for figure in strips:
        of.setdefault(figure.question, []).append(figure)
    extra = {
        Question.LATE: [*lines.fronts(whole, "rtt", Question.LATE), *lines.distributions(whole)],
        Question.COSTLY: lines.fronts(whole, "cost", Question.COSTLY),
    }
    listed = {
        Question.FAST: [heat_tables.relative(whole, "throughput")],
        Question.LATE: [heat_tables.relative(whole, "rtt")],
        Question.COSTLY: [tables.costs(whole)],
        Question.RECOVERS: [heat_tables.by_metric(whole, Question.RECOVERS)],
        Question.WIRE: [heat_tables.by_metric(whole, Question.WIRE)],
    }
    found = []
    for key, heading in questions.HEADINGS.items():
        main = [figure for figure in of.get(key, []) if figure.main]
        rest = [figure for figure in of.get(key, []) if not figure.main]
        there = [table for table in listed.get(key, []) if table.rows]
        if len(whole.conditions) == 1:
            # The overview has the same numbers.
            there = [table for table in there if not table.id.startswith("relative-")]
        found.append(Asked(key, heading, there, [*main, *extra.get(key, [])], rest))
        if key == Question.COSTLY:
            degrading = [*lines.degrading(whole), *lines.by_option(whole)]
            found.append(Asked(lines.DEGRADE, "How it degrades", [], degrading, []))
    kept, without = _bearable([figure for one in found for figure in (*one.figures, *one.further)])
    found = [
        one._replace(
            figures=[figure for figure in one.figures if figure.id in kept],
            further=[figure for figure in one.further if figure.id in kept],
        )
        for one in found
    ]
    return [one for one in found if one.tables or one.figures or one.further], [*without, *left]


def _bearable(found: Sequence[Figure]) -> tuple[set[str], list[str]]:
    """The ids of the figures that a page bears, and the names of the others: unfolded ones stay before all others."""
    kept: set[str] = set()
    left, count = [], 0
    for figure in sorted(found, key=lambda one: (not one.unfolded, not one.main)):
        count += sum(len(panel.svg) for panel in figure.panels)
        if count <= CHARTS or not kept:
            kept.add(figure.id)
        else:
            left.append(", ".join(part for part in (figure.heading, figure.about) if part))
    return kept, left


def shortened(table: Table) -> Table:
    """The table with no more rows than a page bears: those that are not about the machine stay first."""
    if len(table.rows) <= MOST:
        return table
    at = [column.heading for column in table.columns]
    metric = at.index("metric") if "metric" in at else -1

    def of_machine(row: Row) -> bool:
        name = row.fields[metric].text.split()[0] if metric >= 0 else ""
        return questions.question(name, "") == Question.COSTLY

    first = [row for row in table.rows if not of_machine(row)]
    return table._replace(rows=[*first, *(row for row in table.rows if of_machine(row))][:MOST])


def _filters(whole: View) -> list[tuple[str, str, list[str]]]:
    """What rows and charts can be chosen by: a letter, a name and its values; one that has no choice is left out."""
    found = [
        ("s", "stack", whole.stacks),
        ("c", "profile", whole.conditions),
        ("w", "workload", whole.workloads),
        ("r", "run", list(whole.labels)),
    ]
    return [one for one in found if len(one[2]) > 1]


def _heading(section: Markup) -> tuple[str, str] | None:
    """The id and the heading of a section that was made elsewhere."""
    found = re.search(r'<section[^>]* id="([\w-]+)".*?<h2[^>]*>(.*?)</h2>', section, re.DOTALL)
    return (found[1], Markup(found[2]).striptags()) if found else None


def _script() -> Markup:
    return Markup(template.text("page.js"))


def _sha256(script: str) -> str:
    """The hash by which the page's content security policy lets its own script run, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
