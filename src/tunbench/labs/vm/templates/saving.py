"""Saves a VM, once it has booted or its stack is up, and loads it: its memory is a file, and so is all else of it.

Where QEMU records, what it offers for this ends it: `migrate` reads a clock in a thread that has no turn, and snapshots
want a disk. What was made for Xen saves devices alone, within QEMU's own turn; the memory is a file by then anyway.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tunbench.labs import time_slice
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.vm import host_core
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.templates.monitor import Monitor, TemplateError
from tunbench.runner.template import PAYLOAD, SAVED_IN, SECOND_PART

MEMORY, STATE, EVENTS = "memory", "state", "events.jsonl"
"""The files of a template; the last one is that of a VM whose stack was up."""

BOOT_LIMIT = 600.0
"""Seconds of wall clock in which a VM must have booted, on a machine that has much else to do."""

BRING_UP_LIMIT = 1800.0
"""The same of a stack that must be up."""

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
    _until_no_jump(lambda: _save(boot, folder), lambda: _saved_in(boot, folder, PAYLOAD))


def save_brought_up(boot: Boot, booted: Path, folder: Path, begun: Callable[[ProcessGroup], None]) -> None:
    """Loads a VM that has booted, lets its stack come up, and saves it into a folder, with what it has told.

    `begun` hears of each VM that is started for it. Raises Ended where the stack does not come up, and as `save` does.
    """

    def attempt() -> None:
        with tempfile.TemporaryDirectory(dir=boot.folder) as name:
            trying = _beside(boot, Path(name))
            (trying.folder / PAYLOAD).symlink_to((boot.folder / PAYLOAD).absolute())
            trying.hand_in(SECOND_PART, files={})
            _save_further(trying, booted, folder, begun)
            shutil.copyfile(trying.folder / EVENTS, folder / EVENTS)

    _until_no_jump(attempt, lambda: _saved_in(boot, folder, SECOND_PART))


def _until_no_jump(attempt: Callable[[], None], saved_in: Callable[[], float]) -> None:
    """Saves a VM until its clock has not jumped by that. Raises TemplateError where it always does."""
    for _ in range(ATTEMPTS):
        attempt()
        if saved_in() < JUMP_SECONDS:
            return
    raise TemplateError(f"the clock of the VM jumped as it was saved, {ATTEMPTS} times of {ATTEMPTS}")


def _beside(boot: Boot, folder: Path) -> Boot:
    """The same VM in another folder, which is within its own and is swept away with that."""
    (folder / "boot.cpio").symlink_to((boot.folder / "boot.cpio").absolute())
    return replace(boot, folder=folder)


def _saved_in(boot: Boot, template: Path, asked_by: str) -> float:
    """The seconds of its own clock in which a VM was saved, as it says itself. Raises TemplateError, OSError."""
    with tempfile.TemporaryDirectory(dir=boot.folder) as name:
        tried = _beside(boot, Path(name))
        for handed in (PAYLOAD, SECOND_PART):
            tried.hand_in(handed, **{"try": handed == asked_by})
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
    with closing(Monitor(BOOT_LIMIT)) as monitor:
        argv = [*boot.command(_memory_in(folder / MEMORY, shared=True), panic="pause"), *monitor.arguments]
        vm = ProcessGroup(argv, boot.folder, inherits=(monitor.theirs.fileno(),))
        _save_where_it_stops(vm, monitor, folder / STATE)


def _save_further(boot: Boot, booted: Path, folder: Path, begun: Callable[[ProcessGroup], None]) -> None:
    """Lets a VM that was saved go on, in a copy of its memory, until it stops once more."""
    copied = subprocess.run(["cp", "--sparse=always", booted / MEMORY, folder / MEMORY], capture_output=True, text=True)
    if copied.returncode:
        raise TemplateError(copied.stderr.strip())
    state = os.open(booted / STATE, os.O_RDONLY)
    try:
        with closing(Monitor(BRING_UP_LIMIT)) as monitor:
            argv = boot.command(_memory_in(folder / MEMORY, shared=True), panic="pause")
            with host_core.taken():
                vm = ProcessGroup(
                    [*argv, *INCOMING, *monitor.arguments],
                    boot.folder,
                    inherits=(monitor.theirs.fileno(), state),
                )
            begun(vm)
            _save_where_it_stops(vm, monitor, folder / STATE, state)
    finally:
        os.close(state)


def _save_where_it_stops(vm: ProcessGroup, monitor: Monitor, into: Path, loaded: int | None = None) -> None:
    try:
        monitor.begin()
        time_slice.give_shortest(vm.process.pid)
        if loaded is not None:
            _load_state(monitor, loaded)
        monitor.wait_for("STOP")
        monitor.execute("xen-save-devices-state", filename=str(into), live=False)
    except TemplateError as error:
        raise type(error)(f"{error} {vm.last_words()}".strip()) from None
    finally:
        vm.stop()
    into.write_bytes(without_host_clocks(into.read_bytes()))


def load(boot: Boot, template: Path) -> ProcessGroup:
    """A VM that goes on where a saved one stopped. What it writes is its own. Raises TemplateError, OSError."""
    if (told := template / EVENTS).exists():
        shutil.copyfile(told, boot.folder / EVENTS)
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
        monitor.begin()
        _load_state(monitor, state)
    except BaseException as error:
        vm.stop()
        if isinstance(error, TemplateError):
            raise TemplateError(f"{error} {vm.last_words()}".strip()) from None
        raise
    return vm


def _load_state(monitor: Monitor, state: int) -> None:
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
