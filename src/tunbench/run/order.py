"""Runs a plan: makes the run's folder, executes its shards, keeps the journal, and finishes with samples and report."""

import hashlib
import io
import json
import os
import platform
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tunbench import __version__
from tunbench.doctor import choose_lab
from tunbench.executors import pool
from tunbench.journal import files, journal, read, validation
from tunbench.journal.folders import TrialFolders, place, resuming
from tunbench.journal.journal import Journal
from tunbench.journal.record import Record
from tunbench.labs import payload
from tunbench.labs.native.lab import OWN, NativeLab
from tunbench.labs.real_time import host_condition
from tunbench.labs.real_time.host_condition import Condition
from tunbench.labs.real_time.noise import Beside, beside
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.expand import expand
from tunbench.plan.load import read as read_plan
from tunbench.plan.load import reference_of
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard, canonical
from tunbench.run.blocks import Asked
from tunbench.run.exclusive import alone
from tunbench.run.interrupt import interruptible
from tunbench.run.scratch import scratch
from tunbench.runner.declare import axes
from tunbench.toolbox import brought
from tunbench.toolbox.selection import Wanted, equipped, wanted

Watch = Callable[[pool.Told], None]
"""Is told of everything that happens, for a progress display."""

DEPENDS_ON = {
    "shards": "plan",
    "runner": "runner",
    "image": "image",
    "addons": "set of add-on images",
    "tools": "set of tools",
    "brought": "set of brought programs",
    "qemu": "version of QEMU",
    "command": "command line of QEMU",
}
"""What of the manifest decides the numbers in virtual time, and its name; it must not change within a run."""


class RunError(Exception):
    """A run cannot begin or go on; the message says why, and the mend."""


class Order(NamedTuple):
    """What is to be run: the plan and its text, its shards, the lab, and what the command line overrode.

    With `until` the shards are the first blocks; what is asked for besides follows from samples (`blocks.Asked`).
    `reference` is the file of a study's published numbers. `wanted` is what the stacks want of the toolbox. `chosen`
    says which lab was chosen and why, where the plan left it open.
    """

    plan: Plan
    text: str
    shards: Sequence[Shard]
    lab: VmLab | NativeLab
    overrides: dict[str, Any]
    reference: Path | None = None
    wanted: Wanted = Wanted((), {})
    chosen: str = ""


def default_folder(name: str) -> Path:
    """`runs/<time>-<plan>`, as free of surprises as a name can be."""
    return Path("runs") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}"


def create(folder: Path, order: Order) -> None:
    """Makes the folder of a new run, with plan and the head of the journal. Raises RunError, LabError, ImageError."""
    try:
        _refuse_another(folder, order)
        manifest = describe(order)
        folder.mkdir(parents=True, exist_ok=True)
        files.write(folder / "plan.toml", order.text)
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


def finish(folder: Path) -> Record:
    """Derives everything else from the journal: manifest.json, samples.parquet and report.html. Raises RunError."""
    from tunbench.analysis.findings import find
    from tunbench.analysis.frame import frame
    from tunbench.report.page import html
    from tunbench.report.reported_run import reported_run

    record = read.record(folder)
    try:
        files.write(folder / "manifest.json", json.dumps(record.manifest, indent=1, sort_keys=True) + "\n")
        packed = io.BytesIO()
        frame(record).write_parquet(packed)
        files.write(folder / "samples.parquet", packed.getvalue())
        html.write(reported_run(find(record), folder), folder / "report.html")
    except OSError as error:
        raise RunError(
            f"cannot write to {folder}: {error.strerror or error}; the journal is whole. Make room, then: "
            f"{resuming(folder)}"
        ) from None
    return record


def describe(order: Order) -> dict[str, Any]:
    """What the numbers of a run depend on, as far as it is known before it begins. Raises LabError and ImageError."""
    machines = {shard.machine.name: shard.machine for shard in order.shards}
    return {
        "tunbench": {"version": __version__, "commit": _commit()},
        "plan": _plan_of(order),
        "lab": {"kind": order.lab.kind, "clock": order.lab.clock},
        "host": {"processor": _processor(), "cores": os.cpu_count(), "kernel": platform.release()},
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "shards": _digest(order),
        "runner": payload.digest(),
        **order.lab.check({shard.stack for shard in order.shards}, machines.values()),
    }


def order(text: str, file: str, overrides: dict[str, Any], given: Mapping[str, str] = MappingProxyType({})) -> Order:
    """What a plan's text asks for, with what the command line overrides, and the files of brought programs.

    Raises PlanError, ToolError and ImageError.
    """
    loaded = read_plan(text, Path(file), overrides)
    shards = expand(loaded.plan)
    needs = wanted({shard.stack for shard in shards}, given)
    choice = choose_lab.auto(loaded.plan.lab, shards, needs.files)
    if choice:
        # As if the command line had asked for it, so that the run goes on in the same lab.
        overrides = {**overrides, **choice.overrides}
        loaded = read_plan(text, Path(file), overrides)
    plan = loaded.plan
    lab = equipped(choose_lab.lab(plan.lab.kind, plan.lab.clock), needs)
    return Order(plan, text, shards, lab, overrides, reference_of(loaded), needs, choice.why if choice else "")


def reopen(folder: Path) -> Order:
    """What a run that was begun is to do.

    Raises RunError, JournalError, PlanError, LabError, ToolError and ImageError.
    """
    head = read.begun(folder)
    text, given = read.plan(folder), head.get("files", {})
    for name, file in given.items():
        brought.check_known(name, file)
    again = order(text, str(folder / "plan.toml"), head.get("overrides", {}), given)
    now = describe(again)
    for key, name in DEPENDS_ON.items():
        if now.get(key) != head["manifest"].get(key):
            raise RunError(
                f"the {name} is not the one that {folder} was begun with; begin a new run with: tunbench run"
            )
    return again


def _digest(order: Order) -> str:
    """SHA-256 over the shards that are asked for whatever they measure, and over what decides on others."""
    until = [canonical(order.plan.until._asdict())] if order.plan.until else []
    return hashlib.sha256(" ".join([*(shard.id for shard in order.shards), *until]).encode()).hexdigest()


def _plan_of(order: Order) -> dict[str, Any]:
    specs = [shard.spec() for shard in order.shards]
    # What stands in a table is not said by its name alone.
    tables = [axis for axis in axes.CONDITION if specs and isinstance(specs[0][axis], dict)]
    listed = {f"{axis}s": list({spec[axis]["name"]: spec[axis] for spec in specs}.values()) for axis in tables}
    stacks = list(dict.fromkeys(shard.stack for shard in order.shards))
    plan = order.plan
    return {
        **{"name": plan.name, "seed": plan.seed, "repeats": plan.repeats},
        **{"stacks": stacks, **listed},
        **({"until": plan.until._asdict()} if plan.until else {}),
    }


def _commit() -> str:
    root = Path(__file__).parents[3]
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
