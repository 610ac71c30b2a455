"""What the numbers of a run depend on, as its manifest says it before the run begins."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunbench import __version__
from tunbench.labs import payload
from tunbench.labs.carried import carried
from tunbench.plan import narrowing
from tunbench.plan.expand import digest_of_shards
from tunbench.plan.shard import needing_of
from tunbench.run.order import Order
from tunbench.runner.declare import axes

PLUGINS = "plugins"
"""The key of a manifest that says which plug-ins the runner was given."""

DECIDING_FACTS = {"shards": "plan", "runner": "runner", PLUGINS: "plug-in"}
"""What decides the numbers in whatever lab, and its name; the lab adds its own."""

CACHED_FACTS = ("image", "addons", "tools")
"""What of a manifest says what lies in the cache of images and tools, so that another cache may have another one."""


def deciding_facts(order: Order) -> dict[str, str]:
    """What of the manifest decides the numbers, and its name: within a run none of it may change."""
    return {**DECIDING_FACTS, **order.lab.deciding_facts}


def describe(order: Order) -> dict[str, Any]:
    """What the numbers of a run depend on, as far as it is known before it begins. Raises LabError and ImageError."""
    machines = {shard.machine.name: shard.machine for shard in order.shards}
    accesses = {shard.access.name: shard.access for shard in order.shards}
    return {
        "tunbench": {"version": __version__, "commit": _commit()},
        "plan": _plan_of(order),
        "lab": {"kind": order.lab.kind, "clock": order.lab.clock},
        "host": {"processor": _processor(), "cores": os.cpu_count(), "kernel": platform.release()},
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "shards": digest_of_shards(order.plan, order.shards),
        "runner": payload.digest(),
        **plugins_of(order),
        **order.lab.check(needing_of(order.shards), machines.values(), accesses.values()),
    }


def plugins_of(order: Order) -> dict[str, Any]:
    """What the manifest says of the plug-ins that some shard carries; nothing where none does."""
    found = {one.name: one for shard in order.shards for one in carried(shard, order.lab.plugins)}
    told = {
        name: {"digest": one.digest, **{kind: names for kind, names in one.names.items() if names}}
        for name, one in sorted(found.items())
    }
    return {PLUGINS: told} if told else {}


def _plan_of(order: Order) -> dict[str, Any]:
    specs = [shard.spec() for shard in order.shards]
    # What stands in a table is not said by its name alone.
    plurals = {axis.name: axis.plural for axis in axes.AXES}
    tables = {
        axis: {spec[axis]["name"]: spec[axis] for spec in specs if isinstance(spec.get(axis), dict)}
        for axis in axes.CONDITION
    }
    listed = {plurals[axis]: list(found.values()) for axis, found in tables.items() if found}
    stacks = list(dict.fromkeys(shard.stack.name for shard in order.shards))
    plan = order.plan
    return {
        **{"name": plan.name, "seed": plan.seed, "repeats": plan.repeats},
        **{"stacks": stacks, **listed},
        **({"narrowed": globs} if (globs := narrowing.globs_of(order.overrides)) else {}),
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
