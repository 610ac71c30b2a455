"""What must come out equal in virtual time: of a trial that is executed again, and of a whole run."""

import hashlib
import math
from collections.abc import Iterable
from typing import Any

from tunbench.journal.events import TrialEnded
from tunbench.journal.record import Sample, TrialResult
from tunbench.plan.shard import canonical
from tunbench.runner.declare import axes

NO_PROMISE = "no promise"
"""The fingerprint of a run that was not on the virtual clock."""


def substance(trial: TrialEnded) -> str:
    """What must come out equal when a shard is executed again: verdict and samples, in canonical form."""
    return canonical([trial.workload, trial.verdict, trial.samples])


def fingerprint(manifest: dict[str, Any], trials: Iterable[TrialResult]) -> str:
    """SHA-256 over all samples and verdicts in canonical order and form, on the virtual clock.

    It is the same whatever the order of trials and of the samples within a trial.
    """
    if manifest["lab"]["clock"] != "virtual":
        return NO_PROMISE
    lines = sorted(
        canonical([axes.said(trial.cell), trial.verdict, sorted(trial.samples, key=_in_order)]) for trial in trials
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _in_order(sample: Sample) -> tuple[str, str, str, str, float, float]:
    """What samples are sorted by: all they have, a value of the whole trial before those with a moment."""
    metric, unit, value, at, pair, node = sample
    return metric, unit, pair, node, -math.inf if at is None else at, value
