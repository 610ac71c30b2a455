"""Runs the set on one side, natively or in the VM: paths as a plan in that lab, ciphers as one shell script."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tunbench.calibrate.items import (
    NATIVE_REPEATS,
    VM_REPEATS,
    CipherItem,
    Item,
    PathItem,
    cipher_script,
    cipher_speeds,
    native_plan,
    vm_plan,
)
from tunbench.journal.readers.registry import record_of
from tunbench.labs.image import ImageError
from tunbench.labs.process_group import ends_with_this_process
from tunbench.labs.vm import explore
from tunbench.plan.axes.machine import Machine
from tunbench.run import execution
from tunbench.run.execution import Watch
from tunbench.run.order import Order, read_order
from tunbench.runner.declare.verdicts import Verdict

SEED = 1
"""Of the VM's script: it decides the addresses of nothing that counts, and is told for the sake of repeating."""

SCRIPT = "ciphers.sh"


class Measured(NamedTuple):
    """What was measured of each item, in its unit, and why of others nothing was."""

    values: dict[Item, list[float]]
    why_not: dict[Item, str]


def native_order(paths: Sequence[PathItem]) -> Order:
    """The paths in namespaces on this host's kernel, at its own speed."""
    return read_order(native_plan(paths), "machine.toml", {})


def vm_order(paths: Sequence[PathItem], machine: Machine) -> Order:
    """The same in the VM, on that machine."""
    return read_order(vm_plan(paths, machine), "machine.toml", {})


def lacking_machine(without: tuple[str, ...]) -> Machine:
    """The machine of full speed that lacks these features."""
    return Machine("lacking", without)


def paths_by(order: Order, folder: Path, workers: int, watch: Watch, paths: Sequence[PathItem]) -> Measured:
    """Executes the order in this folder, and reads what each path carried. Raises what a run does."""
    execution.create(folder, order)
    execution.go(folder, order, workers, watch)
    values: dict[Item, list[float]] = {}
    why_not: dict[Item, str] = {}
    for trial in record_of(folder).trials:
        for path in paths:
            if (trial.cell["stack"], trial.cell["workload"]) != (path.stack, path.workload):
                continue
            if trial.verdict != Verdict.OK:
                why_not[path] = trial.reason
            carried = [row["value"] for row in trial.rows if row["metric"] == "throughput" and row["at"] is None]
            if any(carried):
                values.setdefault(path, []).extend(value for value in carried if value > 0)
    return Measured(values, why_not)


def ciphers_here(ciphers: Sequence[CipherItem]) -> Measured:
    """The ciphers by this host's own openssl."""
    return _of_script(printed_here(cipher_script(ciphers, NATIVE_REPEATS)), ciphers)


def printed_here(script: str) -> str:
    """What a shell script prints on this host."""
    argv = ends_with_this_process(["sh", "-c", script])
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace").stdout


def ciphers_in_vm(ciphers: Sequence[CipherItem], machine: Machine, folder: Path) -> Measured:
    """The ciphers by openssl of the image, on that machine. Raises OSError and ImageError."""
    script = folder / SCRIPT
    script.write_text(cipher_script(ciphers, VM_REPEATS))
    printed, _ = explore.script(script, SEED, "virtual", machine=machine)
    found = _of_script(printed, ciphers)
    if not found.values:
        raise ImageError(
            f"openssl told nothing in the VM: {printed[-500:]!r}; mend the image: tunbench lab build --force"
        )
    return found


def _of_script(printed: str, ciphers: Sequence[CipherItem]) -> Measured:
    values = cipher_speeds(printed, ciphers)
    return Measured(values, {one: "openssl told no speed" for one in ciphers if one not in values})
