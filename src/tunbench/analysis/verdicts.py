"""Verdicts counted, and trials that failed put together by their reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tunbench.analysis.order import condition_of
from tunbench.journal.record import Record, TrialResult
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.declare.verdicts import COUNTING_ORDER, WORST_FIRST, Verdict


class FailureGroup(NamedTuple):
    """Trials of one stack and condition that share a verdict and its reason; `logs` are the first one's."""

    verdict: str
    stack: str
    condition: str
    reason: str
    trials: tuple[TrialResult, ...]
    logs: Mapping[str, str]


def executed(record: Record) -> list[TrialResult]:
    """The trials of the plan that have a verdict."""
    return [trial for trial in record.trials if trial.cell["workload"] != BRING_UP]


def counts(trials: Sequence[TrialResult]) -> dict[str, int]:
    """How many trials have each verdict, in the order of COUNTING_ORDER; a verdict that none has counts 0."""
    counted = Counter(trial.verdict for trial in trials)
    return {verdict: counted[verdict] for verdict in COUNTING_ORDER}


def summary(trials: Sequence[TrialResult]) -> str:
    """The verdict of several trials in words: the one they share, or how many have each; and how many are noisy."""
    counted = {verdict: number for verdict, number in counts(trials).items() if number}
    words = list(counted) if len(counted) == 1 else [f"{number} {verdict}" for verdict, number in counted.items()]
    noisy = sum(bool(trial.noisy) for trial in trials)
    return ", ".join([*words, *([f"{noisy} noisy"] if noisy else [])]) or "not run"


def summaries(
    trials: Iterable[TrialResult], condition: Mapping[tuple[Any, ...], str]
) -> dict[tuple[str, str, str | None], str]:
    """The verdict in words of each stack, condition and workload, and with None as workload of all of them."""
    groups: dict[tuple[str, str, str | None], list[TrialResult]] = {}
    for trial in trials:
        where = (trial.cell["stack"], condition[condition_of(trial.cell)])
        for workload in (trial.cell["workload"], None):
            groups.setdefault((*where, workload), []).append(trial)
    return {key: summary(group) for key, group in groups.items()}


def failing(record: Record, condition: Mapping[tuple[Any, ...], str]) -> list[FailureGroup]:
    """What failed, then what was unsupported; `condition` maps what `condition_of` gives to a name."""
    groups: dict[tuple[str, str, str, str], list[TrialResult]] = {}
    for trial in record.trials:
        if trial.verdict != Verdict.OK:
            key = (trial.verdict, trial.cell["stack"], condition[condition_of(trial.cell)], trial.reason)
            groups.setdefault(key, []).append(trial)
    found = [FailureGroup(*key, tuple(trials), _logs(trials)) for key, trials in groups.items()]
    return sorted(found, key=lambda one: WORST_FIRST.index(Verdict(one.verdict)))


def _logs(trials: Sequence[TrialResult]) -> Mapping[str, str]:
    return next((trial.logs for trial in trials if trial.logs), {})
