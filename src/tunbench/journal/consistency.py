"""Whether the events of a journal agree with each other; whether each is one that a run writes, `validation` says."""

from typing import Any

from tunbench.journal.checks import InvalidEvent
from tunbench.journal.folders import label_of_shard, name_of_value
from tunbench.plain_text import line
from tunbench.runner.declare import axes
from tunbench.runner.declare.metrics import BRING_UP

NO_TWO_ALIKE = (*axes.SHARD, "repeat")
"""What no two shards of a run have in common: a plan lists nothing twice, and a repeat has one seed."""


class Consistency:
    """What the events so far settle for those that follow."""

    def __init__(self) -> None:
        self.begun = False
        self.specs: dict[str, Any] = {}
        self.shards: dict[tuple[str, ...], str] = {}
        self.units: dict[str, str] = {}

    def check(self, event: dict[str, Any]) -> None:
        """Takes the next event, which is valid. Raises InvalidEvent where an earlier one says otherwise."""
        if event["event"] == "run":
            self._check_run()
        elif event["event"] == "shard" and event["state"] == "started":
            self._check_shard(event["shard"], event["spec"])
        elif event["event"] == "trial":
            self._check_trial(event["shard"], event["workload"])
            self._check_units(event["samples"])

    def _check_run(self) -> None:
        if self.begun:
            raise InvalidEvent("another run begins, and a journal has one")
        self.begun = True

    def _check_shard(self, shard: str, spec: dict[str, Any]) -> None:
        # A shard that is executed again starts as it did before.
        if self.specs.setdefault(shard, spec) != spec:
            raise InvalidEvent(f"the shard {line(shard)} started as another one above")
        if self.shards.setdefault(tuple(name_of_value(spec, name) for name in NO_TWO_ALIKE), shard) != shard:
            raise InvalidEvent(f"{line(label_of_shard(spec))} has another shard above")

    def _check_trial(self, shard: str, workload: str) -> None:
        if shard not in self.specs:
            raise InvalidEvent(f"the shard {line(shard)} of this trial did not start above")
        if workload not in (BRING_UP, *self.specs[shard].get("workloads", [workload])):
            raise InvalidEvent(f"{line(label_of_shard(self.specs[shard]))} has no workload {line(workload)}")

    def _check_units(self, samples: list[list[Any]]) -> None:
        """A metric that is not known here may have any unit, but one."""
        for metric, unit in dict.fromkeys((sample[0], sample[1]) for sample in samples):
            if self.units.setdefault(metric, unit) != unit:
                raise InvalidEvent(f"{line(metric)} is measured in {unit}, and above in {self.units[metric]}")
