"""A run of a study beside its publication: tables, claims and clusters."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.study.cell_lookup import measured
from tunbench.analysis.study.claims import ClaimResult, assess_claims
from tunbench.analysis.study.cluster_agreement import ClusterAgreement, cluster_agreements
from tunbench.analysis.study.prediction import Prediction, predict
from tunbench.analysis.study.table_agreement import TableAgreement, compare_tables
from tunbench.journal.readers.published import Published
from tunbench.plan.load import Loaded, PlanError
from tunbench.plan.study.publication import Study


class Assessment(NamedTuple):
    """What a run says of a study; `scale` is empty where it has but one. Without a study there are claims alone.

    There is a prediction where one published number calibrates the study's machine.
    """

    study: Study | None
    scale: str
    tables: list[TableAgreement]
    claims: list[ClaimResult]
    clusters: list[ClusterAgreement]
    prediction: Prediction | None


def is_study(loaded: Loaded) -> bool:
    """Whether there is a study or a claim to assess."""
    return bool(loaded.study or loaded.claims)


def assess(analysis: RunAnalysis, loaded: Loaded, published: Sequence[Published]) -> Assessment:
    """What a run of this plan says of its study, beside the published numbers. Raises PlanError if it has none."""
    study, scale = loaded.study, loaded.scale if len(loaded.plans) > 1 else ""
    if not is_study(loaded):
        raise PlanError(f"{loaded.path}: this is no study: it has neither a table [study] nor a [[claim]]")
    run = measured(analysis, loaded.plan)
    claims = assess_claims(loaded.claims, run)
    if study is None:
        return Assessment(None, scale, [], claims, [], None)
    tables = compare_tables(study, published, run)
    prediction = predict(study, tables, published, loaded.plan)
    return Assessment(study, scale, tables, claims, cluster_agreements(study, analysis, run), prediction)
