"""How far a run agrees with the study that it reproduces, as JSON can say it; values are in SI units."""

from dataclasses import asdict
from typing import Any

from tunbench.analysis.statistics import Estimate
from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.cell_lookup import CellValues
from tunbench.analysis.study.claims import ClaimResult
from tunbench.analysis.study.cluster_agreement import ClusterAgreement
from tunbench.analysis.study.prediction import Errors, Prediction, TablePrediction
from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.report import study_wording


def as_json(assessment: Assessment, missing: int) -> dict[str, Any]:
    """The agreement of each table and clustering, and the verdict of each claim; `missing` counts the run's trials."""
    study = assessment.study
    return {
        "study": None if study is None else {"title": study.title, "year": study.year, "source": study.source},
        "scale": assessment.scale or None,
        "missing_trials": missing,
        "prediction": assessment.prediction and _prediction(assessment.prediction),
        "tables": [_table(*both) for both in study_wording.with_predictions(assessment)],
        "claims": [_claim(one) for one in assessment.claims],
        "clusters": [_clusters(one) for one in assessment.clusters],
    }


def _prediction(found: Prediction) -> dict[str, Any]:
    """What calibrates the machine, and whether the run's is the calibrated one."""
    return {
        "calibration": asdict(found.calibration),
        "cell": _row(found.cell),
        "machine": found.machine and found.machine.spec(),
        "calibrated": found.calibrated,
    }


def _table(one: TableAgreement, predicted: TablePrediction | None) -> dict[str, Any]:
    return {
        "table": one.table.table,
        "metric": one.table.metric,
        "statistic": one.table.statistic,
        "agreement": one.whole._asdict(),
        "conditions": {name: found._asdict() for name, found in one.conditions.items()},
        "scaled_by": one.table.scaled_by,
        "prediction": predicted and _predicted(predicted),
        "rows": [_row(row) for row in one.rows],
    }


def _predicted(found: TablePrediction) -> dict[str, Any]:
    """The errors of a table; `calibrating_number` is what calibrates as it counts."""
    return {
        "errors": _errors(found.whole),
        "conditions": {name: _errors(one) for name, one in found.conditions.items()},
        "calibrating_number": found.number,
        "why": found.why or None,
    }


def _errors(found: Errors) -> dict[str, Any]:
    worst = found.worst and {
        "system": found.worst.published.system,
        "condition": found.worst.published.condition,
        "error": found.worst.error,
    }
    return {**found._asdict(), "worst": worst}


def _row(row: ComparedNumber) -> dict[str, Any]:
    return {
        **row.published._asdict(),
        "stack": row.stack or None,
        "measured": _estimate(row.measured),
        "ratio": row.ratio,
        "error": row.error,
        "trials": _trials(row.found),
        "published_rank": row.published_rank,
        "measured_rank": row.measured_rank,
        "why": row.why or None,
    }


def _claim(one: ClaimResult) -> dict[str, Any]:
    return {
        **{"name": one.claim.name, "text": one.claim.text, "source": one.claim.source, "verdict": one.verdict},
        "not_testable": one.claim.not_testable,
        "compared": [
            {
                "left": _side(each.left),
                "right": each.right and _side(each.right),
                "trials": {"left": _trials(each.left), "right": _trials(each.right)},
                "expect": each.comparison.expect.text,
                "estimate": _estimate(each.estimate),
                "verdict": each.verdict,
                "why": study_wording.reason(each) or None,
            }
            for each in one.compared
        ],
    }


def _trials(found: CellValues | None) -> dict[str, int] | None:
    """How many trials of a cell are ok, of how many."""
    return found.trials._asdict() if found and found.trials.of else None


def _side(found: CellValues) -> dict[str, str]:
    return dict(found.cell)


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    return found and found._asdict()


def _clusters(found: ClusterAgreement) -> dict[str, Any]:
    return {
        "name": found.name,
        "published": dict(found.published),
        "measured": [one._asdict() for one in found.measured],
        "silhouettes": dict(found.silhouettes),
        **{"rand": found.rand, "n": found.n, "why": found.why or None, "notes": list(found.notes)},
    }
