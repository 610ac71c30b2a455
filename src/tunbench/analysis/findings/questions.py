"""The questions that a run answers at a glance, and who answers each under equal conditions."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis import metrics
from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.shares import Trials
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.network.underlay import UNDERLAY_KINDS

ASKED = (
    *("throughput", "throughput-down", "throughput-up", "throughput-both"),
    *("goodput", "request-rate", "transactions", "duration"),
    *("rtt", "rtt-idle", "rtt-down", "rtt-up", "rtt-both", "latency", "handshake", "jitter"),
    *("loss", "delivered", "failures"),
    *("pmtu", "black-hole", "overhead", "dscp-outside", "idle-rate"),
    *("cost", "idle-cpu"),
    *("connect", "join", "blocked", "recovery"),
)
"""The metrics of the first screen, in its order; of a workload that has none of them, those that sum it up."""

WHERE_BYTES_ARE_CARRIED = {"cost": "throughput"}
"""Metrics that mean something where a workload has another one: what else is measured carries too little."""


class Asked(NamedTuple):
    """One question: a metric of a workload, between two nodes, and at which node it was measured."""

    workload: str
    metric: str
    unit: str
    pair: str
    node: str


class Contest(NamedTuple):
    """A question in one condition over one kind of underlay, with the trials of each stack that can be ahead."""

    condition: str
    underlay: str
    asked: Asked
    trials: Mapping[str, Trials]


def asked(cells: pl.DataFrame, workloads: Sequence[str]) -> list[Asked]:
    """The questions of `cells`, in the order of ASKED, and within it of `workloads`, pairs and nodes."""
    there = cells.filter(pl.col("statistic").is_in(CENTRAL)).select(Asked._fields).unique(maintain_order=True)
    measured: dict[str, set[str]] = {}
    for workload, metric in there.select("workload", "metric").iter_rows():
        measured.setdefault(workload, set()).add(metric)
    wanted = {workload: _wanted(workload, names) for workload, names in measured.items()}
    places = {workload: place for place, workload in enumerate(workloads)}

    def rank(one: Asked) -> tuple[object, ...]:
        place = ASKED.index(one.metric) if one.metric in ASKED else len(ASKED)
        return (place, places[one.workload], one.metric, one.pair, one.node)

    found = (Asked(*row) for row in there.iter_rows())
    return sorted((one for one in found if one.metric in wanted[one.workload]), key=rank)


def contests(analysis: RunAnalysis, questions: Sequence[Asked]) -> list[Contest]:
    """Every question in every condition in which stacks were judged alike, with two stacks that can be ahead or more.

    Those that can be ahead are the tunnels; in a run of one tunnel the bare underlay as well.
    """
    known = {one: place for place, one in enumerate(questions)}
    conditions = [name for name in analysis.conditions.values() if name not in analysis.not_comparable]
    found: dict[tuple[str, str, Asked], dict[str, dict[tuple[int, int], float]]] = {}
    kept = analysis.values.filter(pl.col("statistic").is_in(CENTRAL) & pl.col("condition").is_in(conditions))
    for condition, stack, repeat, seed, value, *one in kept.select(
        "condition", "stack", "repeat", "seed", "value", *Asked._fields
    ).iter_rows():
        question = Asked(*one)
        if question in known and underlay(stack):
            of_stacks = found.setdefault((condition, underlay(stack), question), {})
            of_stacks.setdefault(stack, {})[repeat, seed] = value
    places, kinds = {name: place for place, name in enumerate(conditions)}, list(UNDERLAY_KINDS)
    tunnels = {stack for stack in analysis.stacks if not is_baseline(stack)}
    able = tunnels if len(tunnels) > 1 else set(analysis.stacks)
    made = [
        Contest(*key, {stack: own for stack, own in trials.items() if stack in able}) for key, trials in found.items()
    ]
    made.sort(key=lambda one: (places[one.condition], kinds.index(one.underlay), known[one.asked]))
    return [one for one in made if len(one.trials) > 1]


def _wanted(workload: str, measured: Collection[str]) -> set[str]:
    needs = WHERE_BYTES_ARE_CARRIED
    found = {name for name in ASKED if name in measured and (name not in needs or needs[name] in measured)}
    if found - set(needs) or workload == BRING_UP:
        return found
    return {name for name in metrics.headlines(workload) if name in measured} or set(sorted(measured)[:1])
