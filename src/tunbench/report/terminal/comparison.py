"""Two runs compared, and what a gate says of it: what the terminal shows, part by part."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from tunbench.analysis.compare.compared_cell import worst_first
from tunbench.analysis.compare.gate import GateResult
from tunbench.analysis.compare.runs import RunComparison
from tunbench.report import change_wording
from tunbench.report.terminal import changes_table


def compared_runs(compared: RunComparison, show_all: bool) -> Iterator[RenderableType]:
    """The worst rows, or all; how many there are of which verdict, and why."""
    rows = worst_first(compared.rows)
    if not compared.identical:
        shown = rows if show_all else rows[: changes_table.MAX_ROWS]
        yield changes_table.compared(shown)
        if len(rows) > len(shown):
            yield f"and {len(rows) - len(shown)} more; --all shows them"
    yield change_wording.headline(compared)
    yield from (f"  {note}" for note in change_wording.notes(rows))
    yield from _about_the_runs(compared)


def gate(judged: GateResult, compared: RunComparison) -> Iterator[RenderableType]:
    """What stops the new run, and why; what is undecided, and whether it passes."""
    # Undecided cells are counted below; in a strict gate they stop the run, and stand in the table.
    if judged.stopping:
        shown = judged.stopping[: changes_table.MAX_ROWS]
        yield changes_table.gated(shown)
        if len(judged.stopping) > len(shown):
            yield f"and {len(judged.stopping) - len(shown)} more; --json has them"
    if not judged.strict:
        yield from (f"  {note}" for note in change_wording.notes([one.row for one in judged.undecided]))
    yield f"{'passed' if judged.passes else 'not passed'}: {change_wording.of_gate(judged)}"
    if judged.undecided and not judged.decided:
        yield f"nothing was decided{'' if judged.strict else '; --strict makes that an error'}"
    yield from _about_the_runs(compared)


def _about_the_runs(compared: RunComparison) -> Iterator[RenderableType]:
    """What differs of the runs besides their numbers, and what the numbers are."""
    if compared.differences:
        yield "the runs differ in:"
        yield from (f"  {one}" for one in change_wording.differing(compared))
    if not compared.identical:
        yield Text(change_wording.method(compared), style="dim")
