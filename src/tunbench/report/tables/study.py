"""A study in tables, for a spreadsheet or a paper: published beside measured, agreement, and claims."""

from collections.abc import Sequence

from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.claims import ClaimResult, ComparisonResult
from tunbench.analysis.study.prediction import Errors, TablePrediction
from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.report import prediction_wording, study_wording, units
from tunbench.report.tables.table import Column, Field, Table, TableRow, ratio_field
from tunbench.report.view import View


def tables(view: View) -> list[Table]:
    """The tables of the study that a run reproduces; none where there are several runs."""
    assessment = None if view.several else view.reported[0].assessment
    return of_assessment(assessment) if assessment else []


def of_assessment(assessment: Assessment) -> list[Table]:
    """Each published table beside what was measured, the agreement of all, and the claims with their comparisons."""
    paired = study_wording.with_predictions(assessment)
    found = [_beside(one, predicted, number) for number, (one, predicted) in enumerate(paired)]
    predicted = [_prediction(paired)] if assessment.prediction else []
    return [*found, _agreement(assessment.tables), *predicted, _claims(assessment.claims)]


def _beside(one: TableAgreement, predicted: TablePrediction | None, number: int) -> Table:
    columns = (
        *(Column("condition"), Column("system"), Column("stack"), Column("unit"), Column("published", True)),
        *(Column("measured", True), Column("low", True), Column("high", True), Column("÷ published", True)),
        *(Column("published rank", True), Column("measured rank", True), Column("note"), Column("source")),
    )
    caption = f"{one.name}: published numbers beside the median over trials with its interval, and ranks, 1 the best."
    rows = [TableRow(_row(row, study_wording.remarks_on_number(row, one, predicted))) for row in one.rows]
    return Table(f"study-{number}", caption, columns, rows)


def _row(row: ComparedNumber, note: str) -> tuple[Field, ...]:
    published, found = row.published, row.measured
    bounds = (found.median, found.low, found.high) if found else (None, None, None)
    return (
        *(Field(published.condition), Field(published.system), Field(row.stack), Field(published.unit)),
        *(Field(units.quantity(value, published.unit), value) for value in (published.value, *bounds)),
        ratio_field(row.ratio),
        *(Field("" if rank is None else f"{rank:g}", rank) for rank in (row.published_rank, row.measured_rank)),
        *(Field(note), Field(published.source)),
    )


def _agreement(of: list[TableAgreement]) -> Table:
    columns = (
        *(Column("table"), Column("condition"), Column("n", True), Column("tau", True), Column("tau p", True)),
        *(Column("tied pairs", True), Column("largest tau", True)),
        *(Column("rho", True), Column("rho p", True), Column("method")),
    )
    rows = [
        TableRow(
            (
                *(Field(one.name), Field(condition), Field(str(found.n), found.n)),
                *(
                    Field(study_wording.coefficient(found.tau), found.tau),
                    Field(study_wording.probability(found.tau_p), found.tau_p),
                ),
                *(Field(str(found.tied), found.tied), Field(study_wording.coefficient(found.most), found.most)),
                *(
                    Field(study_wording.coefficient(found.rho), found.rho),
                    Field(study_wording.probability(found.rho_p), found.rho_p),
                ),
                Field(found.method),
            )
        )
        for one in of
        for condition, found in {**one.conditions, "all": one.whole}.items()
    ]
    return Table("study-agreement", "Rank correlation of published and measured values.", columns, rows)


def _prediction(of: Sequence[tuple[TableAgreement, TablePrediction | None]]) -> Table:
    columns = (
        *(Column("table"), Column("condition"), Column("n", True), Column("median error", True)),
        *(Column("worst error", True), Column("worst"), Column("all at the link’s rate", True)),
        *(Column("all at the calibrating number", True), Column("zeros", True), Column("illegible", True)),
        Column("note"),
    )
    rows = [
        TableRow((Field(table.name), Field(condition), *_errors(found), Field(predicted.why)))
        for table, predicted in of
        if predicted
        for condition, found in {**predicted.conditions, "all": predicted.whole}.items()
    ]
    caption = "Errors of what the calibrated machine predicts, and of two models that know no system."
    return Table("study-prediction", caption, columns, rows)


def _errors(found: Errors) -> tuple[Field, ...]:
    worst = found.worst.error if found.worst else None
    named = prediction_wording.named(found.worst) if found.worst else ""
    models = (found.at_link, found.at_number)
    return (
        *(Field(str(found.n), found.n), Field(prediction_wording.percent(found.median), found.median)),
        *(Field(prediction_wording.percent(worst, signed=True), worst), Field(named)),
        *(Field(prediction_wording.percent(value), value) for value in models),
        *(Field(str(value), value) for value in (found.zeros, found.illegible)),
    )


def _claims(claims: list[ClaimResult]) -> Table:
    columns = (
        *(Column("claim"), Column("verdict"), Column("text"), Column("source"), Column("compared")),
        *(Column("its verdict"), Column("n", True), Column("median", True), Column("low", True), Column("high", True)),
        *(Column("expected"), Column("note")),
    )
    rows = [
        TableRow((*_head(one), *(_compared(each) if each else (*[Field("")] * 7, Field(one.claim.not_testable or "")))))
        for one in claims
        for each in one.compared or (None,)
    ]
    return Table("study-claims", "Each comparison of each claim; ratios of trials paired by seed.", columns, rows)


def _head(one: ClaimResult) -> tuple[Field, ...]:
    return Field(one.claim.name), Field(one.verdict), Field(one.claim.text), Field(one.claim.source)


def _compared(each: ComparisonResult) -> tuple[Field, ...]:
    found = each.estimate
    lacking = study_wording.lacking(each) if found else []
    numbers = (found.median, found.low, found.high) if found else (None,) * 3
    return (
        *(Field(study_wording.subject(each)), Field(each.verdict)),
        Field(str(found.n), found.n) if found else Field(""),
        *(Field("" if value is None else units.number(value, 3), value) for value in numbers),
        *(Field(_expected(each)), Field("; ".join(part for part in (study_wording.reason(each), *lacking) if part))),
    )


def _expected(each: ComparisonResult) -> str:
    """What was expected, in the SI unit that the numbers beside it have."""
    unit = "" if each.right or each.left.unit in ("ratio", "count") else each.left.unit
    return f"{each.comparison.expect.text} {unit}".strip()
