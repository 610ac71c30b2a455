"""What the terminal says of a run at its end: sentences, the tables of its sections, the warnings, and where all is."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from tunbench.analysis.audit.warnings import WarningGroup
from tunbench.journal.folders import resume_command
from tunbench.report.conclusion import REPORT
from tunbench.report.reported_run import ReportedRun
from tunbench.report.sections import Medium, tables_on
from tunbench.report.terminal import rich_tables, study_tables
from tunbench.report.view import View, side_by_side


def results(reported: ReportedRun) -> Iterator[RenderableType]:
    """What was measured, and how far it agrees with the study that the run reproduces."""
    yield rendered(side_by_side([reported]))
    if reported.assessment:
        yield study_tables.rendered(reported.assessment)


def remarks(reported: ReportedRun, folder: Path, changed: Sequence[str]) -> Iterator[str]:
    """Where the report is, the fingerprint, and what is not as it should be.

    `changed` are the trials that came out otherwise when they were executed again.
    """
    record = reported.analysis.record
    if reported.unreadable:
        yield reported.unreadable
    yield f"report       {folder}/{REPORT}"
    yield f"fingerprint  {record.fingerprint}"
    for trial in changed:
        yield f"not the same when executed again: {trial}; the first result is kept (docs/virtual-time.md)"
    if record.interrupted:
        count = len(record.interrupted)
        some = "1 shard was" if count == 1 else f"{count} shards were"
        yield f"{some} interrupted; go on with: {resume_command(folder)}"


def rendered(view: View) -> RenderableType:
    """What follows in sentences, the warnings by name, every table of a terminal, and what to do about each warning."""
    tables = [part for table in tables_on(Medium.TERMINAL, view) for part in rich_tables.rendered(table)]
    told = [Text(f"• {sentence}") for sentences in view.sentences for sentence in sentences]
    warned = [one for run in view.runs for one in run.warnings]
    names = ", ".join(f"{one.name}\N{NO-BREAK SPACE}{len(one.found)}" for one in warned)
    listed = [Text(f"warnings: {names}", style="yellow")] if warned else []
    return Group(Text(""), *told, *listed, *tables, *map(_warning, warned))


def _warning(warning: WarningGroup) -> Text:
    first, others = warning.found[0], len(warning.found) - 1
    more = f" (and {others} more)" if others else ""
    text = Text(f"\n{warning.name}", style="yellow")
    text.append(f": {first.where}: {first.text}{more}\n", style="default")
    return text.append(f"  {warning.mend}", style="dim")
