"""Executes what a run asks for: its folder is made, its shards are executed, and the journal holds all that happens."""

import errno
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tunbench.executors import pool
from tunbench.executors.choice import ExecutorError
from tunbench.journal import files, journal, read
from tunbench.journal.events import JournalEvent, PhaseBegan, ShardEnded, TrialEnded
from tunbench.journal.fingerprint import substance
from tunbench.journal.folders import label_of_trial, resume_command
from tunbench.journal.journal import Journal
from tunbench.journal.read import MANIFEST
from tunbench.labs.real_time.host_state import HostState
from tunbench.labs.real_time.noise import NoiseWatch, watching_noise
from tunbench.run.blocks import Schedule
from tunbench.run.exclusive import exclusive_run
from tunbench.run.interrupt import interruptible
from tunbench.run.manifest import describe
from tunbench.run.order import Order, RunError
from tunbench.run.scratch import scratch
from tunbench.run.trial_folders import TrialFolders

MEASURED_PHASES = ("up", "trial")
"""The phases that end with a trial."""

Watch = Callable[[pool.ShardEvent], None]
"""Is told of everything that happens, for a progress display."""

Over = Callable[[], bool]
"""Whether the time for a run is over: what is under way comes to its end, and nothing else begins."""


def never() -> bool:
    """A run has all the time that it takes."""
    return False


def after(seconds: float) -> Over:
    """A run has so many seconds from now on."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def create(folder: Path, order: Order) -> None:
    """Makes the folder of a new run, with plan and the head of the journal. Raises RunError, LabError, ImageError."""
    try:
        refuse_another(folder, order)
        manifest = _described(order)
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
        given = {name: file for name, file in order.toolbox.files.items() if file}
        head |= {"overrides": order.overrides, **({"files": given} if given else {})}
        book.append({**head, "manifest": manifest}, sync=True)
        book.close()
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror}; name another folder with --out") from None


def _described(order: Order) -> dict[str, Any]:
    """What the manifest says of the order. Raises RunError, which names the file that the lab cannot use."""
    try:
        return describe(order)
    except OSError as error:
        # Of a write, the system does not say to which file.
        what = error.filename or "its cache"
        mend = "make room" if error.errno == errno.ENOSPC else "give yourself access to it"
        raise RunError(
            f"the {order.lab.kind} lab cannot use {what}: {error.strerror}; {mend}, or name another cache with "
            "XDG_CACHE_HOME"
        ) from None


def refuse_another(folder: Path, order: Order) -> None:
    """Raises RunError where the folder holds anything but the first moments of a run that never began.

    Or where the lab would not see it.
    """
    for hidden in order.lab.hidden_folders:
        if Path(os.path.realpath(folder)).is_relative_to(hidden):
            raise RunError(
                f"{folder}: the {order.lab.kind} lab mounts its own {hidden}; name a folder elsewhere with --out"
            )
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; name a folder with --out")
    if (folder / journal.NAME).exists() and journal.events(folder, 1):
        raise RunError(
            f"{folder} is another run; name a new folder with --out, or go on with: {resume_command(folder)}"
        )
    begun = {"plan.toml", journal.NAME, *([order.reference.name] if order.reference else [])}
    if folder.exists() and {path.name for path in folder.iterdir()} - begun:
        raise RunError(f"{folder} is not empty and no run; name a new folder with --out")


def machine_held(order: Order) -> AbstractContextManager[None]:
    """Within it the machine is this run's, where the lab asks for that. Raises LabError where another one has it."""
    return exclusive_run() if order.lab.exclusive else nullcontext()


def go(
    folder: Path,
    order: Order,
    workers: int | pool.Seats,
    watch: Watch,
    host: HostState | None = None,
    over: Over = never,
) -> list[str]:
    """Executes what the journal does not hold yet, until the time is `over`. Returns what came out otherwise.

    That is the trials of shards that were executed again. `host` is the state of this machine, which the journal is
    told.
    Raises RunError where the disk is full or an executor has gone, and KeyboardInterrupt on Ctrl-C; what was measured
    is kept.
    """
    try:
        book = Journal(folder)
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror}; make it writable") from None
    try:
        book.repair()
        if host:
            book.append(host.event)
        with interruptible(), scratch(folder) as own_folder, watching_noise(order.lab.clock) as noise_watch:
            return _execute(folder, order, pool.seats_of(workers), watch, book, own_folder, noise_watch, over)
    except ExecutorError as error:
        raise RunError(f"{error}\nWhat was measured is kept. Go on with: {resume_command(folder)}") from None
    except OSError as error:
        raise RunError(
            f"cannot write to {folder}: {error.strerror}; what was measured is kept. Make room, then: "
            f"{resume_command(folder)}"
        ) from None
    finally:
        book.close()


def schedule_of(folder: Path, order: Order) -> Schedule:
    """The shards that the journal asks for and does not hold whole, and those that may come up besides."""
    return Schedule(order.plan, order.shards, read.events(folder))


def _execute(
    folder: Path,
    order: Order,
    seats: pool.Seats,
    watch: Watch,
    book: Journal,
    own: Path,
    noise_watch: NoiseWatch | None,
    over: Over,
) -> list[str]:
    schedule = schedule_of(folder, order)
    known = dict(schedule.trials)
    folders: dict[str, TrialFolders] = {}
    changed = schedule.changed
    promised = order.lab.clock == "virtual"
    waiting = deque(schedule.waiting())
    if waiting:
        # A run has it from its end on: that of a run which goes on would not be of all its trials.
        (folder / MANIFEST).unlink(missing_ok=True)
    # A run may have been killed between the end of a block and its answer.
    for answer in schedule.new_answers():
        book.append(answer.line, sync=True)
    for happened in pool.execute(order.lab, waiting, seats, own):
        shard, line, event = happened
        line |= _noise(noise_watch, shard.id, event)
        earlier = known.get((shard.id, event.workload)) if isinstance(event, TrialEnded) else None
        if isinstance(event, TrialEnded) and earlier and promised and substance(earlier) != substance(event):
            changed.append(label_of_trial(shard.spec(), event.workload))
        if isinstance(event, TrialEnded):
            # A shard whose worker has gone begins anew within the run.
            known.setdefault((shard.id, event.workload), event)
        book.append(line, sync=line["event"] in ("trial", "shard"))
        folders.setdefault(shard.id, TrialFolders(folder, shard.spec())).take(event, earlier is not None)
        if isinstance(event, ShardEnded):
            del folders[shard.id]
        watch(happened)
        if more := schedule.take(shard, event):
            rest = schedule.in_order([*waiting, *more])
            waiting.clear()
            waiting.extend(rest)
        for answer in schedule.new_answers():
            book.append(answer.line, sync=True)
            watch(pool.ShardEvent(shard, answer.line, answer))
        if over():
            waiting.clear()
    return changed


def _noise(watch: NoiseWatch | None, shard: str, event: JournalEvent | None) -> dict[str, Any]:
    """What disturbed the trial that the event ends, as the journal has it; empty where nobody looks."""
    if watch and isinstance(event, PhaseBegan) and event.name in MEASURED_PHASES:
        watch.begin(shard)
    return watch.end(shard) if watch and isinstance(event, TrialEnded) else {}
