"""A trial as its record has it: made of what a journal says of the lab, of a shard, and of the trial's end."""

from types import MappingProxyType
from typing import Any

from tunbench.journal.events import TrialEnded
from tunbench.journal.folders import folder_of, name_of_value
from tunbench.journal.record import TrialResult
from tunbench.runner.declare import axes


def trial_result(lab: dict[str, Any], spec: dict[str, Any], trial: TrialEnded, command: str = "") -> TrialResult:
    """A trial, from what the manifest says of the lab, what its shard was given, and the event of its end."""
    cell = {
        **{axis: name_of_value(spec, axis) for axis in axes.SHARD},
        "workload": trial.workload,
        **{name: spec[name] for name in ("repeat", "seed")},
    }
    return TrialResult(
        cell=MappingProxyType(cell),
        verdict=trial.verdict,
        reason=trial.reason,
        folder=str(folder_of(spec, trial.workload)),
        lab=lab["kind"],
        clock=lab["clock"],
        samples=trial.samples,
        logs=trial.logs,
        command=command,
        noisy=trial.noisy,
        path=trial.path,
    )
