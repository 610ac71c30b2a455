"""What the terminal says of a run at its end: the tables of its sections, and the warnings below them."""

from rich.console import Group, RenderableType
from rich.text import Text

from tunbench.analysis.audit.warnings import WarningGroup
from tunbench.report.sections import Medium, tables_on
from tunbench.report.terminal import rich_tables
from tunbench.report.view import View


def rendered(view: View) -> RenderableType:
    """Every table that a terminal shows, in the order of the sections, and each kind of warning with what to do."""
    tables = [part for table in tables_on(Medium.TERMINAL, view) for part in rich_tables.rendered(table)]
    return Group(*tables, *(_warning(one) for run in view.runs for one in run.warnings))


def _warning(warning: WarningGroup) -> Text:
    first, others = warning.found[0], len(warning.found) - 1
    more = f" (and {others} more)" if others else ""
    text = Text(f"\n{warning.name}", style="yellow")
    text.append(f": {first.where}: {first.text}{more}\n", style="default")
    return text.append(f"  {warning.mend}", style="dim")
