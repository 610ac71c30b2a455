"""The body of a page: its sections, each written from what it is made of."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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

COMPARED = "compare"
"""The section that sets the second of two runs beside the first."""


class PagePart(NamedTuple):
    """A section as it is written; one without a heading is not among the contents.

    `placed` are the names of the tables and figures that stand among its text.
    """

    id: str
    heading: str
    text: Markup
    placed: Collection[str] = ()


class Exhibits(NamedTuple):
    """The tables of a section, its figures as far as the page bears them, and its long tables."""

    tables: Sequence[Table]
    figures: Sequence[DrawnFigure]
    long_tables: Sequence[Table]

    def without(self, placed: Collection[str]) -> "Exhibits":
        """Those that are not placed yet."""
        return Exhibits(
            [one for one in self.tables if one.id not in placed],
            [one for one in self.figures if one.figure.id not in placed],
            [one for one in self.long_tables if one.id not in placed],
        )


class PageContent(NamedTuple):
    """What every section is written from: the runs, what is said of each, and the exhibits of each section."""

    view: View
    runs: Sequence[Mapping[str, Any]]
    exhibits: Mapping[str, Exhibits]
    figures_left: int

    def render(self, name: str, **more: Any) -> Markup:
        """A section from its template."""
        virtual = any(run["virtual"] for run in self.runs)
        context = {"view": self.view, "runs": self.runs, "virtual": virtual, "left": self.figures_left}
        return Markup(template(f"{name}.html.j2").render(context | {"filters": choices(self.view)} | more))


Writer = Callable[[Section, PageContent], Iterator[PagePart]]


def parts(view: View) -> list[PagePart]:
    """The sections that have something to say, in their order; of several runs, what has changed stands first."""
    content = _content(view)
    order = sorted(SECTIONS, key=lambda section: not (view.several and section.id == COMPARED))
    return [part for section in order for part in _written(section, content)]


def _content(view: View) -> PageContent:
    listed = {one.id: list(on_medium(one.charts, Medium.PAGE, view)) for one in SECTIONS}
    figures, left = drawn_within_bounds(listed)
    exhibits = {
        one.id: Exhibits(
            list(on_medium(one.tables, Medium.PAGE, view)),
            figures[one.id],
            [shortened(table) for table in on_medium(one.long_tables, Medium.PAGE, view)],
        )
        for one in SECTIONS
    }
    return PageContent(view, [run_facts(view, number) for number in range(len(view.runs))], exhibits, left)


def _written(section: Section, content: PageContent) -> Iterator[PagePart]:
    """The text of a section, if it has any of its own, and below it all tables and figures that are not in there."""
    own = list(WRITERS[section.id](section, content)) if section.id in WRITERS else []
    yield from own
    rest = content.exhibits[section.id].without({name for part in own for name in part.placed})
    yield from _made_of_exhibits(section, rest, content, below=bool(own))


def _made_of_exhibits(section: Section, made: Exhibits, content: PageContent, below: bool) -> Iterator[PagePart]:
    """A section of tables and figures alone; `below` the text of a section without a heading of its own."""
    tables = [table for table in made.tables if table.rows]
    long_tables = [table for table in made.long_tables if table.rows or section.id == "everything"]
    if made.figures or tables or long_tables:
        main = [one for one in made.figures if one.figure.unfolded]
        further = [one for one in made.figures if not one.figure.unfolded]
        exhibits = {"tables": tables, "figures": main, "further": further, "long_tables": long_tables}
        shown = section._replace(id=f"{section.id}-more", heading="") if below else section
        yield PagePart(shown.id, shown.heading, content.render("section", section=shown, **exhibits))


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


def _overview(section: Section, content: PageContent) -> Iterator[PagePart]:
    tables = [table for table in content.exhibits[section.id].tables if table.rows]
    text = content.render("overview", tables=tables)
    yield PagePart(section.id, section.heading, text, {table.id for table in tables})


def _studies(section: Section, content: PageContent) -> Iterator[PagePart]:
    """What each run says of the study that it reproduces."""
    figures = content.exhibits[section.id].figures
    for frame, run in zip(_frames(section, content.view), content.view.reported, strict=True):
        if run.unreadable:
            heading = f"The study of {frame.label or 'this run'} cannot be read"
            text = Markup('<section id="{}"><h2>{}</h2><p class="reason">{}</p></section>')
            yield PagePart(frame.id, heading, text.format(frame.id, heading, run.unreadable))
        elif run.assessment:
            heading = section.heading if run.assessment.study else "Claims"
            text = study.rendered(run.assessment, frame, figures)
            placed = study.placed(run.assessment, frame)
            yield PagePart(frame.id, _labelled(heading, frame), text, placed)


def _narrow(section: Section, content: PageContent) -> Iterator[PagePart]:
    """Which cells of each run were narrow enough."""
    tables = {table.id: table for table in content.exhibits[section.id].tables}
    for frame, run in zip(_frames(section, content.view), content.view.runs, strict=True):
        until = run.until
        if until:
            cells = narrow.cells(run)
            counts = {"narrow": sum(cell.enough for cell in cells), "wanted": narrow.goal_in_words(until)}
            table = tables[f"{frame.id}-cells"]
            text = content.render("narrow", frame=frame, table=table, until=until, **counts)
            yield PagePart(frame.id, _labelled(section.heading, frame), text, {table.id})


def _comparison(section: Section, content: PageContent) -> Iterator[PagePart]:
    """The second of two runs compared with the first."""
    compared, names = content.view.comparison, content.view.labels
    if isinstance(compared, RunComparison):
        frame = SectionFrame(section.id, "", FilterMarks(content.view, (0, 1)))
        figures = content.exhibits[section.id].figures
        text = comparison.rendered(compared, names, frame, figures)
        placed = {one.figure.id for one in figures}
        yield PagePart(section.id, f"{names[0]} compared with {names[1]}", text, placed)
    elif compared:
        heading = f"{names[0]} and {names[1]} cannot be compared"
        text = Markup('<section id="{}"><h2>{}</h2><p>{}</p></section>').format(section.id, heading, compared)
        yield PagePart(section.id, heading, text)


def _warnings(section: Section, content: PageContent) -> Iterator[PagePart]:
    number = sum(len(run.warnings) for run in content.view.runs)
    yield PagePart(section.id, f"{section.heading} ({number})", content.render("warnings"))


def _failures(section: Section, content: PageContent) -> Iterator[PagePart]:
    number = sum(len(run.failing) for run in content.view.runs)
    text = content.render("failures", heading=section.heading, commands=commands)
    yield PagePart(section.id, f"{section.heading} ({number})", text)


def _trials(section: Section, content: PageContent) -> Iterator[PagePart]:
    rows, linked, count = trials.rows(content.view), [], 0
    for row in rows:
        count += len(row.trials)
        if count <= bounds.MAX_TRIAL_LINKS:
            linked.append(row)
    text = content.render("trials", trials=linked, trials_left=len(rows) - len(linked))
    yield PagePart(section.id, section.heading, text)


def _text(section: Section, content: PageContent) -> Iterator[PagePart]:
    """A section of text alone; empty where there is nothing to say."""
    if text := content.render(section.id).strip():
        yield PagePart(section.id, section.heading, Markup(text))


def _impairments(section: Section, content: PageContent) -> Iterator[PagePart]:
    """What netem was asked for in each run; the first that has any is among the contents."""
    heading = section.heading
    for frame, run in zip(_frames(section, content.view), content.runs, strict=True):
        if run["impairments"].rows:
            yield PagePart(frame.id, heading, content.render("impairments", frame=frame, run=run))
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
"""What writes the text of sections that are more than tables and charts; whatever these hold besides stands below."""
