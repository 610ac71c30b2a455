"""Saves a VM that has booted, and loads it: its memory is a file, and all else that it is, is its state.

Where QEMU records, what it offers for this ends it: `migrate` reads a clock in a thread that has no turn, and snapshots
want a disk. What was made for Xen saves devices alone, within QEMU's own turn; the memory is a file by then anyway.
"""

import os
import re
import subprocess
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tunbench.labs import time_slice
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.templates.monitor import Monitor, TemplateError
from tunbench.runner.template import SAVED_IN

MEMORY, STATE = "memory", "state"

BOOT_LIMIT = 600.0
"""Seconds of wall clock in which a VM must have booted, on a machine that has much else to do."""

LOAD_LIMIT = 60.0

LOOK_SECONDS = 0.005

ATTEMPTS, JUMP_SECONDS = 5, 1e-3
"""How often a VM is saved at most, and the seconds of its own clock in which it was saved where that has not jumped:
some 30,000 instructions, which are 0.6 ms of the slowest machine. A jump is 1.6 ms at least (runner/template.py)."""

HOST_CLOCKS = {b"timer": ((0, 8), (16, 24))}
"""Where the first section of a state, by its name, has readings of this machine's clocks. A clock that counts
instructions does not look at them (QEMU's softmmu/cpu-timers.c: cpu_ticks_offset, cpu_clock_offset)."""

SECTION_NAME_AT, SECTION_IDS_BYTES = 13, 8
"""A state begins with its magic, its version, and of the first section the type, the number and the length of the name;
behind the name there are two numbers (QEMU's migration/savevm.c)."""

INCOMING = ("-S", "-incoming", "defer", "-global", "migration.send-configuration=off")
"""QEMU waits for a state, and runs on when it is told to."""


def save(boot: Boot, folder: Path) -> None:
    """Boots a VM up to where it can be saved, and saves it into a folder. Raises TemplateError, OSError.

    QEMU's main loop lets the clock of a VM whose processors all rest jump to its next timer. A processor that has
    stopped at the panic rests, and the loop may see that before it stops the VM (icount_start_warp_timer() of QEMU's
    softmmu/icount.c). So the loop gets the processor as soon as it wakes; and the VM is loaded once, asked whether its
    clock has jumped, and saved again where it has.
    """
    for _ in range(ATTEMPTS):
        _save(boot, folder)
        if _saved_in(boot, folder) < JUMP_SECONDS:
            return
    raise TemplateError(f"the clock of the VM jumped as it was saved, {ATTEMPTS} times of {ATTEMPTS}")


def _saved_in(boot: Boot, template: Path) -> float:
    """The seconds of its own clock in which a VM was saved, as it says itself. Raises TemplateError, OSError."""
    # In the folder of the VM, with which it is swept away.
    with tempfile.TemporaryDirectory(dir=boot.folder) as name:
        tried = replace(boot, folder=Path(name))
        (tried.folder / "boot.cpio").symlink_to((boot.folder / "boot.cpio").absolute())
        tried.hand_in(**{"try": True})
        vm = load(tried, template)
        try:
            vm.process.wait(LOAD_LIMIT)
            found = re.search(rf"^{SAVED_IN} ([0-9.]+)", vm.console.read_text(errors="replace"), re.MULTILINE)
        except subprocess.TimeoutExpired:
            found = None
        finally:
            vm.stop()
        if not found:
            raise TemplateError(f"the VM does not say how it was saved {vm.last_words()}".strip())
        return float(found[1])


def _save(boot: Boot, folder: Path) -> None:
    memory, state = folder / MEMORY, folder / STATE
    with closing(Monitor(BOOT_LIMIT)) as monitor:
        argv = [*boot.command(_memory_in(memory, shared=True), panic="pause"), *monitor.arguments]
        vm = ProcessGroup(argv, boot.folder, inherits=(monitor.theirs.fileno(),))
        try:
            monitor.begin()
            time_slice.give_shortest(vm.process.pid)
            monitor.wait_for("STOP")
            monitor.execute("xen-save-devices-state", filename=str(state), live=False)
        except TemplateError as error:
            raise TemplateError(f"{error} {vm.last_words()}".strip()) from None
        finally:
            vm.stop()
    state.write_bytes(without_host_clocks(state.read_bytes()))


def load(boot: Boot, template: Path) -> ProcessGroup:
    """A VM that goes on where a saved one stopped. What it writes is its own. Raises TemplateError, OSError."""
    monitor, state = Monitor(LOAD_LIMIT), os.open(template / STATE, os.O_RDONLY)
    try:
        argv = [*boot.command(_memory_in(template / MEMORY, shared=False)), *INCOMING, *monitor.arguments]
        vm = ProcessGroup(argv, boot.folder, inherits=(monitor.theirs.fileno(), state))
    except BaseException:
        monitor.close()
        raise
    finally:
        os.close(state)
    # It is not closed while the guest executes: QEMU would have to see to that.
    vm.closes.append(monitor)
    try:
        _load_state(monitor, state)
    except BaseException as error:
        vm.stop()
        if isinstance(error, TemplateError):
            raise TemplateError(f"{error} {vm.last_words()}".strip()) from None
        raise
    return vm


def _load_state(monitor: Monitor, state: int) -> None:
    monitor.begin()
    monitor.execute("migrate-incoming", uri=f"fd:{state}")
    while (status := monitor.execute("query-migrate").get("status")) != "completed":
        if status == "failed":
            raise TemplateError("QEMU cannot load the state")
        time.sleep(LOOK_SECONDS)
    monitor.execute("cont")


def _memory_in(path: Path, shared: bool) -> str:
    return f"memory-backend-file,mem-path={path},share={'on' if shared else 'off'}"


def without_host_clocks(state: bytes) -> bytes:
    """The state, less what it says of this machine's clocks: two that were saved alike are then equal."""
    for name, places in HOST_CLOCKS.items():
        fields = SECTION_NAME_AT + 1 + len(name) + SECTION_IDS_BYTES
        if state[SECTION_NAME_AT : SECTION_NAME_AT + 1 + len(name)] == bytes([len(name)]) + name:
            for start, end in places:
                state = state[: fields + start] + bytes(end - start) + state[fields + end :]
    return state
