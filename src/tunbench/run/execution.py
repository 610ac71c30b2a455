"""Executes what a run asks for: its folder is made, its shards are executed, and the journal holds all that happens."""

import os
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tunbench.executors import pool
from tunbench.journal import files, journal, read, validation
from tunbench.journal.folders import place, resuming
from tunbench.journal.journal import Journal
from tunbench.labs.native.lab import OWN
from tunbench.labs.real_time import host_condition
from tunbench.labs.real_time.host_condition import Condition
from tunbench.labs.real_time.noise import Beside, beside
from tunbench.run.blocks import Asked
from tunbench.run.exclusive import alone
from tunbench.run.interrupt import interruptible
from tunbench.run.manifest import describe
from tunbench.run.order import Order, RunError
from tunbench.run.scratch import scratch
from tunbench.run.trial_folders import TrialFolders

Watch = Callable[[pool.Told], None]
"""Is told of everything that happens, for a progress display."""


def create(folder: Path, order: Order) -> None:
    """Makes the folder of a new run, with plan and the head of the journal. Raises RunError, LabError, ImageError."""
    try:
        _refuse_another(folder, order)
        manifest = describe(order)
        folder.mkdir(parents=True, exist_ok=True)
        files.write(folder / "plan.toml", order.loaded.text)
        if order.reference:
            files.write(folder / order.reference.name, order.reference.read_bytes())
        book = Journal(folder)
        book.repair()
        head = {
            "event": "run",
            "journal": journal.VERSION,
            "planned": sum(len(shard.workloads) + 1 for shard in order.shards),
        }
        # Where brought programs lie, so that the run goes on with the same.
        given = {name: file for name, file in order.wanted.files.items() if file}
        head |= {"overrides": order.overrides, **({"files": given} if given else {})}
        book.append({**head, "manifest": manifest}, sync=True)
        book.close()
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror}; name another folder with --out") from None


def _refuse_another(folder: Path, order: Order) -> None:
    """Raises RunError where the folder holds anything but the first moments of a run that never began.

    Or where the lab would not see it.
    """
    for own in OWN if order.lab.kind == "native" else ():
        if Path(os.path.realpath(folder)).is_relative_to(own):
            raise RunError(f"{folder}: the native lab mounts its own {own}; name a folder elsewhere with --out")
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; name a folder with --out")
    if (folder / journal.NAME).exists() and journal.events(folder, 1):
        raise RunError(f"{folder} is another run; name a new folder with --out, or go on with: {resuming(folder)}")
    begun = {"plan.toml", journal.NAME, *([order.reference.name] if order.reference else [])}
    if folder.exists() and {path.name for path in folder.iterdir()} - begun:
        raise RunError(f"{folder} is not empty and no run; name a new folder with --out")


def held(order: Order) -> AbstractContextManager[None]:
    """Within it the machine is this run's, where the lab asks for that. Raises LabError where another one has it."""
    return alone() if order.lab.kind == "native" else nullcontext()


def examine(order: Order) -> Condition | None:
    """The condition of this machine, as far as it has a part in the numbers: not on the virtual clock."""
    if order.lab.clock == "virtual":
        return None
    return host_condition.examine(order.lab.kind, order.shards, os.sched_getaffinity(0))


def go(folder: Path, order: Order, workers: int, watch: Watch, found: Condition | None = None) -> list[str]:
    """Executes what the journal does not hold yet. Returns the trials that came out otherwise than before.

    `found` is the condition of this machine, which the journal is told.
    Raises RunError where the disk is full, and KeyboardInterrupt on Ctrl-C; what was measured is kept.
    """
    try:
        book = Journal(folder)
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror}; make it writable") from None
    try:
        book.repair()
        if found:
            book.append(found.event)
        with interruptible(), scratch(folder) as place_to_run, beside(order.lab.clock) as looker:
            return _execute(folder, order, workers, watch, book, place_to_run, looker)
    except OSError as error:
        raise RunError(
            f"cannot write to {folder}: {error.strerror}; what was measured is kept. Make room, then: "
            f"{resuming(folder)}"
        ) from None
    finally:
        book.close()


def ahead(folder: Path, order: Order) -> Asked:
    """The shards that the journal asks for and does not hold whole, and those that may come up besides."""
    return Asked(order.plan, order.shards, journal.events(folder, kinds=validation.EVENTS))


def _execute(
    folder: Path, order: Order, workers: int, watch: Watch, book: Journal, where: Path, looker: Beside | None
) -> list[str]:
    asked = ahead(folder, order)
    known = dict(asked.trials)
    folders: dict[str, TrialFolders] = {}
    changed = asked.changed
    waiting = deque(asked.waiting())
    # A run may have been killed between the end of a block and its answer.
    for answer in asked.told():
        book.append(answer, sync=True)
    for told in pool.execute(order.lab, waiting, workers, where):
        event = {"shard": told.shard.id, **told.event, **(looker.hear(told.shard.id, told.event) if looker else {})}
        earlier = known.get((told.shard.id, event.get("workload", ""))) if event["event"] == "trial" else None
        if earlier and order.lab.clock == "virtual" and read.substance(earlier) != read.substance(event):
            changed.append(place(told.shard.spec(), event["workload"]))
        book.append(event, sync=event["event"] in ("trial", "shard"))
        folders.setdefault(told.shard.id, TrialFolders(folder, told.shard.spec())).take(told.event, earlier is not None)
        if event["event"] == "shard" and event["state"] != "started":
            del folders[told.shard.id]
        watch(told)
        if more := asked.take(told.shard, event):
            rest = asked.in_order([*waiting, *more])
            waiting.clear()
            waiting.extend(rest)
        for answer in asked.told():
            book.append(answer, sync=True)
            watch(pool.Told(told.shard, answer))
    return changed
