"""Small plans, executed in VMs, and what is asked of their results."""

import os
from pathlib import Path
from typing import Any

from tunbench.journal.readers.registry import record_of
from tunbench.journal.record import Record
from tunbench.run import execution
from tunbench.run.order import read_order

SLOW_LINK = '{ name = "5M", rate = "5M" }'
"""Behind it a second of TCP costs a fraction of what it costs where the processor is the limit."""


WORKERS = max(1, min(2, len(os.sched_getaffinity(0)) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))))
"""VMs that a test has at once, where it does not say: one a core among all the tests that are under way.

Two VMs on a core take a fifth more of its time, as if each drove what the other one has out of the caches.
"""


def plan(
    stacks: list[str],
    profiles: str,
    workloads: list[str],
    repeats: int = 1,
    clock: str = "virtual",
    link: str = '"wire"',
    access: str = '"none"',
) -> str:
    """The text of a plan; `profiles` is a TOML list, and `link` and `access` are TOML values."""
    return (
        f'name = "test"\nseed = 1\nrepeats = {repeats}\ntopology = "pair"\nstacks = {stacks}\nworkloads = {workloads}\n'
        f'profiles = {profiles}\nlink = {link}\naccess = {access}\n[lab]\nkind = "vm"\nclock = "{clock}"\n'
    )


def native_plan(stacks: list[str], profiles: str, workloads: list[str]) -> str:
    """The text of a plan for the native lab."""
    return plan(stacks, profiles, workloads, clock="real").replace('"vm"', '"native"')


def execute(folder: Path, text: str, workers: int = WORKERS, **overrides: Any) -> Record:
    """Runs a plan's text into a folder and reads what came out."""
    order = read_order(text, "test.toml", overrides)
    execution.create(folder, order)
    assert execution.go(folder, order, workers, lambda told: None) == []
    record = record_of(folder)
    assert record.interrupted == ()
    return record


def values(record: Record, metric: str, stack: str, whole: bool = True, **where: str) -> list[float]:
    """All values of a metric of a stack: of whole trials, or of the series within them. `where` names other columns."""
    wanted = {"metric": metric, "stack": stack, **where}
    return [
        row["value"]
        for trial in record.trials
        for row in trial.rows
        if all(row[name] == value for name, value in wanted.items()) and (row["at"] is None) == whole
    ]


def verdicts(record: Record) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and reason by stack and workload."""
    return {(trial.cell["stack"], trial.cell["workload"]): (trial.verdict, trial.reason) for trial in record.trials}
