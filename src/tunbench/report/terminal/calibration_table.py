"""What a host came to beside the VM, the machine that would be equal, and how well one number fits."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from tunbench.calibrate.fit import Compared, Fit
from tunbench.calibrate.items import PathItem, machine_table
from tunbench.calibrate.requirements import Missing
from tunbench.plan.axes.machine import FULL_SPEED, MAX_SPEED, MIN_SPEED
from tunbench.report import units
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of

COLUMNS = ("item", "this host", f"VM at {FULL_SPEED}", "speed of its own", "÷ the machine")


def rendered(fitted: Fit, missing: Sequence[Missing], cores: int, beyond: Sequence[str]) -> Iterator[RenderableType]:
    """A row for each item, what is to be known of them, and last the table for a plan."""
    checked = (f"VM at {fitted.machine.speed}",) if fitted.checked else ()
    heads = [GridColumn(name, number=bool(at), place=not at) for at, name in enumerate((*COLUMNS, *checked))]
    yield Grid(heads, rows_of(_row(fitted, one) for one in fitted.compared))
    yield ""
    yield from (f"not measured: {one.item.name}: {one.why}. {one.mend}".rstrip(" .") for one in missing)
    yield from _remarks(fitted, cores, beyond)
    yield ""
    yield verdict(fitted)
    yield f"machine = {machine_table(fitted.machine)}"


def verdict(fitted: Fit) -> str:
    """How well one number fits all of the set, in a sentence."""
    count = len(fitted.compared)
    if count == 1:
        return "One item alone has its own speed: it says nothing of how well that fits others."
    worst = fitted.worst
    return (
        f"One speed fits all {count} items within a factor of {units.number(fitted.factor)}, and half of them within "
        f"{units.number(fitted.usual_factor)}. Worst is {worst.item.name}: of it this host does "
        f"{units.number(fitted.off(worst))} times what the machine does."
    )


def _row(fitted: Fit, one: Compared) -> list[str]:
    unit = one.item.unit
    return [
        one.item.name,
        *(units.quantity(value, unit) for value in (one.native, one.virtual)),
        units.number(one.speed),
        units.number(fitted.off(one)),
        *([units.quantity(fitted.checked.get(one.item), unit)] if fitted.checked else []),
    ]


def _remarks(fitted: Fit, cores: int, beyond: Sequence[str]) -> Iterator[str]:
    if fitted.bounded:
        yield (
            f"A machine of a plan has {MIN_SPEED} to {MAX_SPEED}; this host would need {units.number(fitted.speed)}: "
            "read its numbers as those of another machine."
        )
    if cores > 1 and any(isinstance(one.item, PathItem) for one in fitted.compared):
        yield (
            f"Paths had {cores} cores here and have one in the VM: what several processes of a path do at once is in "
            "the speed, and a stack that spreads otherwise is not met by it."
        )
    if beyond:
        yield f"QEMU has no instructions for {' and '.join(beyond)}; this processor has, and is faster with them."
