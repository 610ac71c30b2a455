"""The body of a page: its sections, each written from what it is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from tunbench.analysis.compare.runs import RunComparison
from tunbench.report import questions
from tunbench.report.page import bounds, comparison, study
from tunbench.report.page.figures import DrawnFigure, drawn_within_bounds
from tunbench.report.page.filters import FilterMarks, SectionFrame, choices
from tunbench.report.page.run_facts import run_facts
from tunbench.report.page.template import template
from tunbench.report.sections import SECTIONS, Medium, Section, on_medium
from tunbench.report.tables import narrow, trials
from tunbench.report.tables.table import Table, TableRow
from tunbench.report.trial_links import commands
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question


class Part(NamedTuple):
    """A section as it is written; one without a heading is not among the contents."""

    id: str
    heading: str
    text: Markup


class Content(NamedTuple):
    """What every section is written from: the runs, what is said of each, and the figures that the page bears."""

    view: View
    runs: Sequence[Mapping[str, Any]]
    figures: Mapping[str, Sequence[DrawnFigure]]
    figures_left: int

    def render(self, name: str, **more: Any) -> Markup:
        """A section from its template."""
        virtual = any(run["virtual"] for run in self.runs)
        context = {"view": self.view, "runs": self.runs, "virtual": virtual, "left": self.figures_left}
        return Markup(template(f"{name}.html.j2").render(context | {"filters": choices(self.view)} | more))


Writer = Callable[[Section, Content], Iterator[Part]]


def parts(view: View) -> list[Part]:
    """The sections that have something to say, in their order."""
    charted = {one.id: list(on_medium(one.charts, Medium.PAGE, view)) for one in SECTIONS if one.id not in WRITERS}
    content = Content(
        view, [run_facts(view, number) for number in range(len(view.runs))], *drawn_within_bounds(charted)
    )
    return [part for one in SECTIONS for part in WRITERS.get(one.id, _made_of_exhibits)(one, content)]


def _made_of_exhibits(section: Section, content: Content) -> Iterator[Part]:
    """A section of tables and charts alone."""
    of_section = content.figures[section.id]
    tables = [table for table in on_medium(section.tables, Medium.PAGE, content.view) if table.rows]
    long_tables = [shortened(table) for table in on_medium(section.long_tables, Medium.PAGE, content.view)]
    long_tables = [table for table in long_tables if table.rows or section.id == "everything"]
    if of_section or tables or long_tables:
        main = [one for one in of_section if one.figure.main]
        further = [one for one in of_section if not one.figure.main]
        exhibits = {"tables": tables, "figures": main, "further": further, "long_tables": long_tables}
        yield Part(section.id, section.heading, content.render("section", section=section, **exhibits))


def shortened(table: Table) -> Table:
    """The table with no more rows than a page bears: those that are not about the machine stay first."""
    most = bounds.MAX_ROWS_OF_A_TABLE
    if len(table.rows) <= most:
        return table
    at = [column.heading for column in table.columns]
    metric = at.index("metric") if "metric" in at else -1

    def of_machine(row: TableRow) -> bool:
        name = row.fields[metric].text.split()[0] if metric >= 0 else ""
        return questions.question(name, "") == Question.COSTLY

    # Sorting keeps the order of rows that are alike.
    return table._replace(rows=sorted(table.rows, key=of_machine)[:most], left_out=len(table.rows) - most)


def _overview(section: Section, content: Content) -> Iterator[Part]:
    tables = [table for table in on_medium(section.tables, Medium.PAGE, content.view) if table.rows]
    yield Part(section.id, section.heading, content.render("overview", tables=tables))


def _studies(section: Section, content: Content) -> Iterator[Part]:
    """What each run says of the study that it reproduces."""
    for frame, run in zip(_frames(section, content.view), content.view.reported, strict=True):
        if run.unreadable:
            heading = f"The study of {frame.label or 'this run'} cannot be read"
            text = Markup('<section id="{}"><h2>{}</h2><p class="reason">{}</p></section>')
            yield Part(frame.id, heading, text.format(frame.id, heading, run.unreadable))
        elif run.assessment:
            heading = section.heading if run.assessment.study else "Claims"
            yield Part(frame.id, _labelled(heading, frame), study.rendered(run.assessment, frame))


def _narrow(section: Section, content: Content) -> Iterator[Part]:
    """Which cells of each run were narrow enough."""
    tables = {table.id: table for table in on_medium(section.tables, Medium.PAGE, content.view)}
    for frame, run in zip(_frames(section, content.view), content.view.runs, strict=True):
        until = run.until
        if until:
            cells = narrow.cells(run)
            counts = {"narrow": sum(cell.enough for cell in cells), "wanted": narrow.goal_in_words(until)}
            table = tables[f"{frame.id}-cells"]
            text = content.render("narrow", frame=frame, table=table, until=until, **counts)
            yield Part(frame.id, _labelled(section.heading, frame), text)


def _comparison(section: Section, content: Content) -> Iterator[Part]:
    """The second of two runs compared with the first."""
    compared, names = content.view.comparison, content.view.labels
    if isinstance(compared, RunComparison):
        frame = SectionFrame(section.id, "", FilterMarks(content.view, (0, 1)))
        yield Part(section.id, f"{names[0]} compared with {names[1]}", comparison.rendered(compared, names, frame))
    elif compared:
        heading = f"{names[0]} and {names[1]} cannot be compared"
        text = Markup('<section id="{}"><h2>{}</h2><p>{}</p></section>').format(section.id, heading, compared)
        yield Part(section.id, heading, text)


def _warnings(section: Section, content: Content) -> Iterator[Part]:
    number = sum(len(run.warnings) for run in content.view.runs)
    yield Part(section.id, f"{section.heading} ({number})", content.render("warnings"))


def _failures(section: Section, content: Content) -> Iterator[Part]:
    number = sum(len(run.failing) for run in content.view.runs)
    yield Part(section.id, f"{section.heading} ({number})", content.render("failures", commands=commands))


def _trials(section: Section, content: Content) -> Iterator[Part]:
    rows, linked, count = trials.rows(content.view), [], 0
    for row in rows:
        count += len(row.trials)
        if count <= bounds.MAX_TRIAL_LINKS:
            linked.append(row)
    text = content.render("trials", trials=linked, trials_left=len(rows) - len(linked))
    yield Part(section.id, section.heading, text)


def _text(section: Section, content: Content) -> Iterator[Part]:
    """A section of text alone; empty where there is nothing to say."""
    if text := content.render(section.id).strip():
        yield Part(section.id, section.heading, Markup(text))


def _impairments(section: Section, content: Content) -> Iterator[Part]:
    """What netem was asked for in each run; the first that has any is among the contents."""
    heading = section.heading
    for frame, run in zip(_frames(section, content.view), content.runs, strict=True):
        if run["impairments"].rows:
            yield Part(frame.id, heading, content.render("impairments", frame=frame, run=run))
            heading = ""


def _frames(section: Section, view: View) -> list[SectionFrame]:
    """Where a section stands that each run has of its own."""
    identifiers = view.identifiers(section.id)
    return [
        SectionFrame(identifier, label, FilterMarks(view, (number,)))
        for number, (identifier, label) in enumerate(zip(identifiers, view.labels, strict=True))
    ]


def _labelled(heading: str, frame: SectionFrame) -> str:
    return f"{heading}: {frame.label}" if frame.label else heading


WRITERS: Mapping[str, Writer] = {
    "overview": _overview,
    "study": _studies,
    "narrow": _narrow,
    "compare": _comparison,
    "warnings": _warnings,
    "failures": _failures,
    "trials": _trials,
    "method": _text,
    "impairments": _impairments,
    "clock": _text,
    "manifest": _text,
}
"""What writes the sections that are more than tables and charts."""
