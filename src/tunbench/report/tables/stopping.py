"""Which cells became narrow enough, of a plan that asked for repeats until they are."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.findings import Findings
from tunbench.analysis.stopping import of_manifest, widths
from tunbench.plan.until import Until
from tunbench.report import units
from tunbench.report.page.filters import Frame
from tunbench.report.page.template import template
from tunbench.report.tables.tables import Field
from tunbench.runner.declare import axes

TEMPLATE = "narrow.html.j2"

NAMED = 20
"""Cells that the terminal names; of more, it says how many."""


class Narrow(NamedTuple):
    """A cell and metric that counted: the median of n trials, the relative width of its interval, and the answer."""

    stack: str
    condition: str
    workload: str
    metric: str
    n: Field
    median: Field
    width: Field
    enough: bool
    cell: Mapping[str, Any]


ALONE = Frame("narrow")
"""A section in a page of one run, without filters."""


def rows(findings: Findings) -> list[Narrow]:
    """Every cell and metric that counted, the widest first; none where the plan did not ask for a width."""
    until = of_manifest(findings.record.manifest)
    if not until:
        return []
    found = widths(findings.values, until).sort("width", descending=True, nulls_last=False, maintain_order=True)
    several = found.select("pair", "node").n_unique() > 1
    return [
        _row(row, findings.conditions[tuple(row[name] for name in axes.CONDITION)], several) for row in found.to_dicts()
    ]


def section(findings: Findings, frame: Frame = ALONE) -> Markup:
    """The part of the report that shows `rows`; empty where the plan did not ask for a width."""
    until = of_manifest(findings.record.manifest)
    if not until:
        return Markup()
    found = rows(findings)
    wide = sum(not row.enough for row in found)
    marked = [(row, frame.marks([row.cell])) for row in found]
    context = {"rows": marked, "asked": asked(until), "narrow": len(found) - wide, "until": until, "frame": frame}
    text = template(TEMPLATE).render(context)
    return Markup(text)  # The template escapes every text in it.


def lines(findings: Findings) -> list[str]:
    """What the terminal says: how many cells were narrow enough, and the names of those that were not."""
    until = of_manifest(findings.record.manifest)
    if not until:
        return []
    found = rows(findings)
    wide = [row for row in found if not row.enough]
    head = f"narrow enough: {len(found) - len(wide)} of {len(found)} cells and metrics ({asked(until)})"
    named = [
        f"not narrow enough after {row.n.text}: {row.stack}, {row.condition}, {row.workload}: "
        f"{row.metric} {row.width.text}"
        for row in wide[:NAMED]
    ]
    more = [f"… and {len(wide) - NAMED} more, which the report names"] if len(wide) > NAMED else []
    return [head, *named, *more]


def asked(until: Until) -> str:
    """What was asked for, in words."""
    width, confidence = (units.plain(value, "ratio") for value in (until.width, until.confidence))
    return f"at most {width} wide at {confidence}, {until.max} repeats at most"


def percent(width: float | None) -> str:
    """A relative width; where there is no interval, it says so."""
    return units.quantity(width, "ratio") if width is not None else "no interval"


def _row(row: dict[str, Any], condition: str, several: bool) -> Narrow:
    statistic = "" if row["statistic"] == WHOLE else f" {row['statistic']}"
    where = f" ({row['pair']}, {row['node']})" if several else ""
    return Narrow(
        row["stack"],
        condition,
        row["workload"],
        f"{row['metric']}{statistic}{where}",
        Field(str(row["n"]), row["n"]),
        Field(units.quantity(row["median"], row["unit"]), row["median"]),
        Field(percent(row["width"]), row["width"]),
        row["enough"],
        row,
    )
