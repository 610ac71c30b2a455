"""Executes a shard on a worker, and tells the run's topic what happens, as it happens."""

import asyncio
import errno
import select
import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbench.executors.cluster import on_worker_received
from tunbench.executors.cluster.sent_image import told
from tunbench.labs.execution import Execution
from tunbench.labs.extras import EXTRA_KINDS
from tunbench.labs.lab import Lab
from tunbench.labs.registry import lab
from tunbench.labs.swept_folder import swept
from tunbench.plan import load
from tunbench.plan.cache_folder import cache, cache_in
from tunbench.plan.expand import shards_of
from tunbench.plan.shard import Shard, seed_of_repeat
from tunbench.runner.declare import axes

if TYPE_CHECKING:
    from distributed import Worker

SHARD_FOLDER = "tunbench-shard-"
"""With what the name of the folder of a shard begins: it stands in the command line of its VM."""

LONGEST_WAIT = 0.5
"""Seconds after which a shard that nobody wants any more is ended, at most."""

POLL = 0.05

LEAST_ROOM_BYTES = 16 << 20
"""Room on the disk without which nothing is believed of a shard that has ended: it may not have been able to write."""

EXECUTED = ("executing", "long-running")
"""States of a task that somebody still waits for: any other one means that it was cancelled."""


class Prepared(NamedTuple):
    """What a worker knows of a run: its plan at one repeat, the lab, and the folder of its images."""

    seed: int
    shards: Mapping[tuple[str, ...], Shard]
    lab: Lab
    view: Path


_prepared: dict[str, Prepared] = {}


async def prepare(run: str, work: Mapping[str, Any]) -> None:
    """Reads what a run is to do, and finds its images. Raises PlanError, ImageError and OSError."""
    await asyncio.to_thread(_prepare, run, work)


def _prepare(run: str, work: Mapping[str, Any]) -> None:
    images = told(work["images"])
    view = on_worker_received.view(images)
    plan = load.read(work["text"], Path(work["file"]), work["overrides"]).plan
    extras = [one.lying(view / one.place) for one in images if one.kind in EXTRA_KINDS]
    shards = {cell(shard): shard for shard in shards_of(plan, 1)}
    _prepared[run] = Prepared(plan.seed, shards, lab(work["kind"], work["clock"]).with_extras(extras), view)


def forget(run: str) -> None:
    """What was prepared for a run that is over is not needed any more."""
    _prepared.pop(run, None)


def cell(shard: Shard) -> tuple[str, ...]:
    """The name of a shard's value of each axis: what it shares with other repeats alone."""
    return tuple(shard.values[axis].name for axis in axes.SHARD)


def execute(run: str, values: Sequence[str], repeat: int, name: str) -> None:
    """Executes a shard of a prepared run. Raises what a lab raises that cannot start, and OSError where it is not."""
    from distributed import get_worker

    worker = get_worker()
    if (ready := _prepared.get(run)) is None:
        raise ConnectionError("it has begun anew since it was told of the run")
    shard = ready.shards[tuple(values)]
    shard = replace(shard, repeat=repeat, seed=seed_of_repeat(ready.seed, repeat))
    if shard.id != name:
        raise ValueError(f"the plan that this worker has reads otherwise: {shard.id} is not {name}")
    key = worker.get_current_task()
    teller = Teller(worker, run, str(key))
    with cache_in(ready.view), swept(Path(worker.local_directory) / f"{SHARD_FOLDER}{teller.attempt}") as folder:
        teller.tell(began=True)
        execution = ready.lab.start(shard, folder)
        try:
            followed(execution, teller, lambda: _is_wanted(worker, str(key)))
            # Where a stack is brought up first, they come after that.
            teller.tell(warnings=[list(one) for one in execution.warnings])
            _check_room(folder)
            teller.tell(over=teller.count, age=execution.age(), words=execution.last_words())
        finally:
            execution.stop()


class Teller:
    """Tells the topic of a run; each attempt at a shard has a name of its own."""

    def __init__(self, worker: "Worker", run: str, key: str) -> None:
        self.worker, self.topic, self.key = worker, run, key
        self.attempt = uuid.uuid4().hex[:12]
        self.count = 0

    def tell(self, **what: object) -> None:
        """Tells something besides events."""
        head = {"key": self.key, "attempt": self.attempt, "worker": self.worker.address}
        self.worker.log_event(self.topic, {**head, **what})

    def lines(self, lines: Sequence[bytes]) -> None:
        """Tells events, as the lab wrote them."""
        self.count += len(lines)
        self.tell(lines=zlib.compress(b"\n".join(lines), 1))


def followed(execution: Execution, teller: Teller, wanted: Callable[[], bool]) -> None:
    """Tells what an execution tells until it ends by itself or is not wanted any more."""
    while True:
        alive = execution.running()
        if lines := execution.lines():
            teller.lines(lines)
        if not alive or not wanted():
            return
        _wait(execution)


def _wait(execution: Execution) -> None:
    if execution.wakes:
        poll = select.poll()
        for descriptor in execution.wakes:
            poll.register(descriptor, select.POLLIN)
        poll.poll(1000 * LONGEST_WAIT)
    time.sleep(POLL)


def _is_wanted(worker: "Worker", key: str) -> bool:
    task = worker.state.tasks.get(key)
    return task is not None and task.state in EXECUTED and worker.status.name == "running"


def _check_room(folder: Path) -> None:
    """Raises OSError where the disk is full."""
    for path in (folder, cache()):
        if shutil.disk_usage(path).free < LEAST_ROOM_BYTES:
            raise OSError(errno.ENOSPC, f"the disk of {path} is full")
