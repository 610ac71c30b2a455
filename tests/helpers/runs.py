"""Runs in a lab that is scripted: orders, and what their shards tell."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.fakes import FakeExecution, FakeLab
from tunbench.cli import app
from tunbench.executors import pool
from tunbench.journal.events import TrialEnded
from tunbench.labs import registry as labs
from tunbench.labs.extras import Needing
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.shard import Shard
from tunbench.run import execution
from tunbench.run.order import Order, read_order
from tunbench.runner.declare.access import Accesses
from tunbench.runner.declare.verdicts import Verdict

PLAN = """\
name = "any"
seed = 5
repeats = 2
stacks = ["none", "wireguard"]
workloads = ["ping:count=5"]
"""

FACTS: dict[str, Any] = {
    "image": {"digest": "abc", "packages": {}},
    "addons": {},
    "qemu": "QEMU 7.2",
    "command": ["qemu"],
}


def events(shard: Shard, factor: float = 1.0, verdict: str = "ok") -> list[dict[str, Any]]:
    """What the runner tells of a shard: samples follow from its seed, times `factor`."""
    number = shard.seed % 1000 * factor
    trial = {"event": "trial", "verdict": "ok", "reason": ""}
    return [
        {"event": "phase", "name": "nodes", "at": 2.0},
        {"event": "command", "node": "lab", "shell": "ip netns add a", "at": 2.0, "took": 0.1, "status": 0},
        {**trial, "workload": "up", "samples": [["connect", "s", number / 1e3, None, "a-b", "a"]]},
        *(event for one in shard.workloads for event in _measured(one.name, number, verdict)),
        {"event": "phase", "name": "end", "at": 4.0},
    ]


def _measured(workload: str, number: float, verdict: str) -> list[dict[str, Any]]:
    """The events of a trial."""
    ok = verdict == Verdict.OK
    samples = [["rtt", "s", number / 1e6, 0.0, "a-b", "a"], ["loss", "ratio", 0.0, None, "a-b", "a"]]
    return [
        {"event": "phase", "name": "trial", "workload": workload, "at": 3.0},
        {"event": "command", "node": "a", "shell": "ping", "at": 3.0, "took": 0.1, "status": 0},
        {
            "event": "trial",
            "workload": workload,
            "verdict": verdict,
            "reason": "" if ok else "it broke",
            "outputs": {"ping.txt": "raw\n"},
            "samples": samples if ok else [],
        },
    ]


def batches(told: Sequence[dict[str, Any]]) -> list[bytes]:
    """A batch for each event, numbered."""
    return [json.dumps({"n": number, **event}).encode() + b"\n" for number, event in enumerate(told)]


class ScriptedLab(FakeLab):
    """A lab whose shards end as `script` says, or else well."""

    def __init__(self, script: Callable[[Shard], FakeExecution] | None = None) -> None:
        super().__init__(script or (lambda shard: FakeExecution(batches(events(shard)))))
        self.facts = dict(FACTS)
        self.checked: set[str] = set()

    def check(
        self, needing: Iterable[Needing], machines: Iterable[Machine] = (), accesses: Iterable[Accesses] = ()
    ) -> dict[str, Any]:
        self.checked = {one.name for one in needing if isinstance(one, PlannedStack)}
        return self.facts


def ordered(lab: FakeLab | None = None, text: str = PLAN) -> Order:
    """An order of the plan in a scripted lab."""
    return read_order(text, "any.toml", {})._replace(lab=lab or ScriptedLab())


def finished(folder: Path, order: Order | None = None, workers: int = 1) -> list[str]:
    """Creates a run and executes all of it."""
    order = order or ordered()
    execution.create(folder, order)
    return execution.go(folder, order, workers, lambda _: None)


VM_LAB = labs.lab
"""How a lab is chosen where none is scripted."""


def runs_here(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Lets the commands work in this folder, with a plan, a cache without images and a scripted lab."""
    monkeypatch.setattr(pool, "POLL", 0.001)
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab())
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(folder)
    Path("plan.toml").write_text(PLAN)
    return folder


def real_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vm lab, with a QEMU that is never started."""
    monkeypatch.setattr(labs, "lab", VM_LAB)
    Path("qemu-system-x86_64").write_text("#!/bin/sh\necho QEMU emulator version 7.2\n")
    Path("qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path.cwd()}:{os.environ['PATH']}")


def invoke(*arguments: str) -> Result:
    """What a command printed, and how it exited."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def ending_after(count: int, what: type[BaseException] | int) -> Any:
    """A watch that ends the run after so many trials."""
    left = [count]

    def watch(one: pool.ShardEvent) -> None:
        left[0] -= isinstance(one.event, TrialEnded)
        if left[0] == 0:
            left[0] = -1
            if isinstance(what, int):
                os.kill(os.getpid(), what)
            else:
                raise what

    return watch
