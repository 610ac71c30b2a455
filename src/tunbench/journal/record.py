"""What a journal says, as plain data: trials with their verdicts, samples, warnings and facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tunbench.runner.declare import axes
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.node.json_output import value_at

OF_TRIAL = ("lab", "clock", *axes.TRIAL)
"""The columns that all samples of a trial share."""

COLUMNS = (*OF_TRIAL, "pair", "node", "metric", "unit", "at", "value")
"""The columns of a sample, in the order in which they are printed and sorted."""


Sample = tuple[str, str, float, float | None, str, str]
"""One measured value as the journal has it: metric, SI unit, value, moment in seconds or None, pair, node."""


@dataclass(frozen=True)
class TrialResult:
    """One execution of a cell: which, its verdict, and its samples. `cell` has a value for each of axes.TRIAL.

    `command` is that of its commands that took longest, as a person types it. `noisy` says what disturbed it on the
    real clock; it is empty where nothing did. `path` names the ways that packets of its tunnels took, as was proven.
    """

    cell: Mapping[str, Any]
    verdict: Verdict
    reason: str
    folder: str
    lab: str
    clock: str
    samples: tuple[Sample, ...] = ()
    logs: dict[str, str] = field(default_factory=dict)
    command: str = ""
    noisy: str = ""
    path: str = ""

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The samples as rows of COLUMNS. It takes a dictionary a sample: for a whole run, use `analysis.samples`."""
        fixed = {"lab": self.lab, "clock": self.clock, **self.cell}
        return tuple(
            {
                **{name: fixed.get(name) for name in OF_TRIAL},
                **{"pair": pair, "node": node, "metric": metric, "unit": unit, "at": at, "value": value},
            }
            for metric, unit, value, at, pair, node in self.samples
        )


@dataclass(frozen=True)
class Warned:
    """One warning: its fixed name, the stack and profile it is about, and what was found."""

    name: str
    where: str
    text: str


@dataclass(frozen=True)
class Block:
    """An answer: whether all cells of a group were narrow enough after so many repeats, and whether it went on.

    `shard` names what the group's shards share, axes.SHARD.
    `widest` says which cell had the widest interval: workload, pair, node, metric, statistic, and its relative width,
    None where there was none; it is None where nothing was measured.
    """

    shard: Mapping[str, str]
    repeats: int
    enough: bool
    goes_on: bool
    widest: dict[str, Any] | None


@dataclass(frozen=True)
class Record:
    """All that a run's folder holds, as far as it was executed."""

    manifest: dict[str, Any]
    trials: tuple[TrialResult, ...]
    warnings: tuple[Warned, ...]
    durations: dict[str, float]
    interrupted: tuple[str, ...]
    planned: int
    installed: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = ()
    """Each set of netem's terms that was asked for, and what the kernel made of it."""
    blocks: tuple[Block, ...] = ()
    """The answers of a plan with `until`, in the order in which they came."""
    specs: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By axis, each value that is a table, by its name, as the shards have it."""
    workloads: tuple[str, ...] = ()
    """The workloads of the shards, in the order of the plan."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all samples and verdicts; `fingerprint.NO_PROMISE` where none is promised."""
        return str(self.fact("fingerprint") or "")

    @property
    def missing(self) -> int:
        """How many trials were asked for and are not there."""
        return max(0, self.planned - len(self.trials))

    @property
    def clock(self) -> str:
        """The clock of the lab: virtual or real."""
        return str(self.fact("lab", "clock") or "")

    def listed(self, key: str) -> list[Any]:
        """What the plan of the manifest lists under a key: nothing where it has no such list."""
        entries = self.fact("plan", key)
        return entries if isinstance(entries, list) else []

    def fact(self, *keys: str) -> Any:
        """What the manifest says at a path of nested tables, or None."""
        return value_at(self.manifest, *keys)
