"""What a run says of a study, for the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.cell_lookup import NOT_RUN
from tunbench.analysis.study.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, ClaimResult
from tunbench.analysis.study.rank_correlation import RankCorrelation
from tunbench.analysis.study.table_agreement import TableAgreement
from tunbench.report import study_wording, units
from tunbench.report.terminal import prediction_table
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of

STYLES = {REPRODUCED: "green", NOT_REPRODUCED: "bold red", NOT_TESTABLE: "dim", NOT_RUN: "dim"}
"""How verdicts are shown; any other is yellow."""


REACHED = (NOT_REPRODUCED, REPRODUCED)
"""The verdicts that decide something, in the order in which they are told: one refutation says most."""


def rendered(assessment: Assessment, long: bool = False, every: bool = False) -> RenderableType:
    """The verdicts that were reached, how many claims have none, and the agreement of each table.

    `long` has what was compared below each claim; with `every`, claims without a verdict follow the others.
    """
    scale = f", scale {assessment.scale}" if assessment.scale else ""
    parts: list[RenderableType] = []
    if assessment.study:
        study = assessment.study
        parts.append(Text(f"{study.title} ({study.year}){scale}\n", style="bold"))
    parts += _claims(assessment.claims, long, every)
    if assessment.tables:
        parts.append(_tables(assessment.tables, long))
    elif assessment.study:
        parts.append(Text(f"\nagreement of tables: {study_wording.NO_NUMBERS}\n"))
    if assessment.prediction:
        parts += prediction_table.rendered(assessment.prediction, assessment.tables, long)
    if assessment.clusters:
        parts += [*(Text(f"clusters, {study_wording.clusters(one)}") for one in assessment.clusters), Text()]
    return Group(*parts)


def _claims(claims: Sequence[ClaimResult], long: bool, every: bool) -> list[RenderableType]:
    """The claims of which a verdict was reached, and in one line how many have which."""
    reached = [one for verdict in REACHED for one in claims if one.verdict == verdict]
    rest = [one for one in claims if one.verdict not in REACHED]
    parts = [part for one in [*reached, *(rest if every else [])] for part in _claim(one, long)]
    if claims:
        told = "; study agree --all tells of those without a verdict" if rest and not every else ""
        parts.append(Text(f"{len(claims)} claims: {study_wording.counted(claims)}{told}"))
    return parts


def _tables(tables: list[TableAgreement], long: bool) -> Grid:
    heads = [GridColumn("table", place=True), GridColumn("condition", place=True)]
    heads += [*(GridColumn(name, number=True) for name in ("n", "τ", "p", "ρ", "p")), GridColumn("")]
    made = []
    for one in tables:
        rows = {**(_by_condition(one) if long and len(one.conditions) > 1 else {}), "all": one.whole}
        for number, (condition, found) in enumerate(rows.items()):
            named = next(iter(one.conditions)) if len(one.conditions) == 1 else condition
            said = study_wording.ceiling(found) if found.tau is not None else found.method
            said = said if found.n else study_wording.NO_NUMBERS
            fields = [study_wording.coefficient(found.tau), study_wording.probability(found.tau_p)]
            fields += [study_wording.coefficient(found.rho), study_wording.probability(found.rho_p)]
            cells = [one.name if number == 0 else "", named, str(found.n), *fields, said]
            made.append(cells)
    return Grid(heads, rows_of(made))


def _by_condition(one: TableAgreement) -> dict[str, RankCorrelation]:
    """The agreement of each condition; those without numbers, for the same reason, share a row."""
    rows = {name: found for name, found in one.conditions.items() if found.tau is not None}
    without: dict[RankCorrelation, list[str]] = {}
    for name, found in one.conditions.items():
        if found.tau is None:
            without.setdefault(found, []).append(name)
    return rows | {
        names[0] if len(names) == 1 else f"{len(names)} {'others' if rows else 'conditions'}": found
        for found, names in without.items()
    }


def _claim(one: ClaimResult, long: bool) -> list[RenderableType]:
    head = Text(one.verdict, style=STYLES.get(one.verdict, "yellow"))
    head.append(f"  {one.claim.name}", style="bold")
    head.append(f"  {one.claim.text}", style="default")
    below = [one.claim.not_testable] if one.claim.not_testable else []
    several = len(one.compared) > 1
    if several:
        below.append(f"{len(one.compared)} comparisons: {study_wording.counted(one.compared)}")
    if long:
        shown = study_wording.worst_first(one)[: study_wording.MAX_COMPARISONS]
        below += [f"{each.verdict + ': ' if several else ''}{study_wording.compared(each)}" for each in shown]
        below += (
            [f"and {len(one.compared) - len(shown)} more, see the report"] if len(one.compared) > len(shown) else []
        )
    elif one.compared and not several:
        below.append(f"{study_wording.subject(one.compared[0])}: {study_wording.outcome(one.compared[0])}")
    return [
        head,
        *(Padding(Text(text.replace(units.NBSP, " "), style="dim"), (0, 0, 0, 4), expand=False) for text in below),
    ]
