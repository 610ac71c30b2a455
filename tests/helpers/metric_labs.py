"""A scripted lab in which every workload of a plan tells its metrics, with values that a test gives."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.fakes import FakeExecution
from tests.helpers.runs import ScriptedLab, batches, events
from tunbench.labs import registry as labs
from tunbench.plan.axes.workload import Workload
from tunbench.plan.shard import Shard

SERIES = ("one-way-delay", "rtt")
"""Metrics of which a trial has a series."""


def measuring(monkeypatch: pytest.MonkeyPatch, value: Callable[[Shard], float]) -> None:
    """Every rate has this value in each shard, every time the ten millionth part of it, and nothing is lost."""
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab(lambda shard: _execution(shard, value(shard))))


def _execution(shard: Shard, value: float) -> FakeExecution:
    begin, end = events(shard)[:3], events(shard)[-1]
    trials = [event for workload in shard.workloads for event in _trial(workload, value)]
    return FakeExecution(batches([*begin, *trials, end]))


def _trial(workload: Workload, value: float) -> list[dict[str, Any]]:
    units = {name: metric.unit for name, metric in workload.about.metrics.items()}
    values = {"s": value / 1e7, "bit/s": value}
    samples = [
        [name, unit, values[unit], 0.0 if name in SERIES else None, "a-b", "a"]
        for name, unit in units.items()
        if unit in values
    ]
    samples += [["loss", "ratio", 0.0, None, "a-b", "a"]] if "loss" in units else []
    told = {"event": "trial", "workload": workload.name, "reason": "", "verdict": "ok", "outputs": {}}
    return [
        {"event": "phase", "name": "trial", "workload": workload.name, "at": 3.0},
        {**told, "samples": samples},
    ]
