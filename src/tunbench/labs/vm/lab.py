"""The vm lab: QEMU with a stock Debian kernel, under an instruction clock or at the machine's own speed."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from tunbench.labs import image, payload
from tunbench.labs.execution import Execution
from tunbench.labs.extras import DECIDING_EXTRAS, Extra, manifest_of, needed
from tunbench.labs.image import Image, cache
from tunbench.labs.process_group import ProcessGroup, ends_with_this_process
from tunbench.labs.real_time import host_state
from tunbench.labs.real_time.host_state import HostState
from tunbench.labs.vm import apic_timer, cpio, host_core, kvm, qemu
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.labs.vm.instruction_clock import instruction_clock
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.shard import Shard, canonical
from tunbench.runner.node import pinning

GUEST_MEMORY = "1G"
TRANSLATED_CODE_MIB = 128
"""What QEMU may fill with translated code; with GUEST_MEMORY it keeps a VM below 1.5 GiB."""

BOOT_ARGUMENTS = (
    *("console=ttyS0", "loglevel=3", "panic=-1", "random.trust_cpu=on", "audit=0", "apparmor=0", "cryptomgr.notests"),
    *("mitigations=off", "nokaslr", "init_on_alloc=0", "swiotlb=noforce", "rcupdate.rcu_expedited=1"),
)
VIRTUAL_BOOT_ARGUMENTS = (
    # The TSC counts instructions, at a rate that the kernel is told: nothing to calibrate, nothing to doubt.
    *("tsc=reliable", "tsc_early_khz={tsc_early_khz}"),
    # A program lies at the same addresses in each of its processes, so that QEMU translates it once.
    "norandmaps",
)

NO_APIC_TIMER = "nolapic_timer"
"""Timers by HPET: the APIC's are calibrated in a busy loop, a tenth of a second that costs 2.5 s of wall clock."""

CHIPSET = "q35,nvdimm=on,smbus=off,sata=off"
HPET, APIC_TIMER = "hpet=on", "hpet=off,pit=off,pic=off"
"""What of the chipset a machine's timers need, or must not have."""

FULL = Machine("full")

MISSING_FEATURES = ("erms", "fsrm")
"""What no model machine has of all that QEMU can emulate: copy instructions that count as one a byte."""

RECORDING = "sleep=off,rr=record,rrfile=/dev/null"
"""QEMU skips idle time in its main thread, by a clock that must not be read while the guest executes. Where QEMU
records, the two threads take turns. The record itself is of no use (docs/virtual-time.md)."""

PAYLOAD_GRANULE_BYTES = 1 << 20
"""The archive is filled up to a multiple of it, so that a shard's length does not move what lies behind."""

DECIDING_FACTS = {
    "image": "image",
    "addons": "set of add-on images",
    **DECIDING_EXTRAS,
    "qemu": "version of QEMU",
    "command": "command line of QEMU",
}


@dataclass(frozen=True)
class VmLab:
    """Virtual machines from one image, with the clock `virtual` or `real`.

    `extras` are the tools and brought programs that are there for the stacks that need them.
    """

    clock: str
    kind: str = "vm"
    extras: tuple[Extra, ...] = ()
    exclusive: bool = False
    hidden_folders: tuple[Path, ...] = ()

    @property
    def deciding_facts(self) -> Mapping[str, str]:
        """What `check` says that decides the numbers."""
        return DECIDING_FACTS

    def with_extras(self, extras: Iterable[Extra]) -> Self:
        """The same lab with these extras."""
        return replace(self, extras=tuple(extras))

    def check(self, stacks: Iterable[PlannedStack], machines: Iterable[Machine] = (FULL,)) -> dict[str, Any]:
        """What the manifest says of this lab. Raises LabError and ImageError where it cannot run these stacks."""
        qemu.check_installed()
        addons = {definition.name: definition for stack in stacks for definition in addons_of(stack)}
        manifests = {definition.name: image.check(definition) for definition in (BASE, *addons.values())}
        base = manifests.pop(BASE.name)
        machines = list(machines)
        if not all(self._has_hpet(machine) for machine in machines):
            self._acpi()
        commands = {
            machine.name: self.command(Path("RUN"), 0, (), ["console", "events"], machine) for machine in machines
        }
        return {
            "image": {"digest": base["digest"], "packages": base["packages"]},
            "addons": {name: manifest["digest"] for name, manifest in manifests.items()},
            **manifest_of(self.extras),
            "qemu": qemu.version(),
            "command": {
                name: [word.replace(str(cache()), "CACHE") for word in words] for name, words in commands.items()
            },
        }

    def examine(self, shards: Sequence[Shard]) -> HostState | None:
        """The state of this machine on the real clock; nothing disturbs the virtual one."""
        if self.clock == "virtual":
            return None
        return host_state.examine(shards, os.sched_getaffinity(0), nodes_share_kernel=False)

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Boots a VM that executes the shard; what it writes goes to the folder."""
        files = {"shard.json": canonical(shard.spec()).encode(), "program": (payload.GUEST / "shard").read_bytes()}
        serial = [f"file:{folder}/console.log", f"file:{folder}/events.jsonl"]
        addons = [*addons_of(shard.stack), *needed(shard.stack, self.extras)]
        argv = self.prepare(files, folder, shard.seed, addons, serial, shard.machine)
        with pinning.kept_to({host_core.least_taken()} if self.clock == "virtual" else ()):
            return ProcessGroup(argv, folder)

    def prepare(
        self,
        files: dict[str, bytes],
        folder: Path,
        seed: int,
        addons: Sequence[Image],
        serial: Sequence[str],
        machine: Machine = FULL,
    ) -> list[str]:
        """Writes the first stage with the payload into the folder and returns QEMU's command."""
        start = (payload.GUEST / "start").read_bytes()
        contents = {**payload.runner_files(), **files, "start": start}
        archive = cpio.archive({f"payload/{name}": (cpio.FILE, content) for name, content in contents.items()})
        boot = (BASE.folder / "boot.cpio").read_bytes()
        if not self._has_hpet(machine):
            boot = self._acpi() + boot
        (folder / "boot.cpio").write_bytes(boot + cpio.padded(archive, PAYLOAD_GRANULE_BYTES))
        return self.command(folder, seed, addons, serial, machine)

    def command(
        self,
        folder: Path,
        seed: int,
        addons: Sequence[Image],
        serial: Sequence[str],
        machine: Machine = FULL,
    ) -> list[str]:
        """QEMU's command line; `serial` are its character devices, ttyS0 first. The real clock has no other machine."""
        virtual = self.clock == "virtual"
        images = [definition.folder / "image.squashfs" for definition in (BASE, *addons)]
        argv = [qemu.QEMU, "-M", f"{CHIPSET},{HPET if self._has_hpet(machine) else APIC_TIMER}"]
        argv += model(machine) if virtual else kvm.machine()
        argv += ["-m", f"{GUEST_MEMORY},slots={len(images) + 1},maxmem=16G", "-seed", str(seed)]
        argv += ["-nodefaults", "-display", "none", "-no-reboot", "-kernel", str(BASE.folder / "vmlinux")]
        argv += ["-initrd", str(folder / "boot.cpio")]
        argv += ["-append", " ".join((*BOOT_ARGUMENTS, *(virtual_boot_arguments(machine) if virtual else ())))]
        for device in serial:
            argv += ["-serial", device]
        for number, path in enumerate(images):
            size = path.stat().st_size
            backend = f"memory-backend-file,id=image{number},share=off,readonly=on,mem-path={path},size={size}"
            argv += ["-object", backend, "-device", f"nvdimm,id=nvdimm{number},memdev=image{number},unarmed=on"]
        return argv

    def _has_hpet(self, machine: Machine) -> bool:
        return self.clock != "virtual" or instruction_clock(machine.speed).is_qemus

    def _acpi(self) -> bytes:
        """What comes before the initrd of a machine without HPET."""
        return apic_timer.archive(f"{qemu.version()} {CHIPSET} {GUEST_MEMORY}", self._fadt)

    def _fadt(self) -> bytes:
        """The table FADT of ACPI that QEMU and its firmware give to a VM."""
        with tempfile.TemporaryDirectory(prefix="tunbench-") as name:
            shown = Path(name) / "shown"
            serial = [f"file:{name}/console.log", f"file:{shown}"]
            argv = self.prepare({"program": apic_timer.PROGRAM}, Path(name), 0, (), serial)
            subprocess.run(ends_with_this_process(argv), stdin=subprocess.DEVNULL, capture_output=True)
            return shown.read_bytes() if shown.exists() else b""


def virtual_boot_arguments(machine: Machine) -> list[str]:
    """What the kernel is told besides on the virtual clock."""
    clock = instruction_clock(machine.speed)
    told = [argument.format(tsc_early_khz=clock.tsc_early_khz) for argument in VIRTUAL_BOOT_ARGUMENTS]
    return [*told, NO_APIC_TIMER] if clock.is_qemus else told


def model(machine: Machine) -> list[str]:
    """QEMU's arguments for the model machine and its clock, which counts instructions."""
    processor = ",".join(["max", *(f"-{feature}" for feature in (*MISSING_FEATURES, *machine.without))])
    argv = ["-cpu", processor, "-smp", "1", "-accel", f"tcg,tb-size={TRANSLATED_CODE_MIB}"]
    shift = instruction_clock(machine.speed).shift
    return [*argv, "-icount", f"shift={shift},{RECORDING}", "-rtc", "clock=vm,base=2026-01-01"]


def addons_of(stack: PlannedStack) -> list[Image]:
    """The add-on images that the layers of a stack need beyond the base image."""
    return [ADDONS[name] for name in stack.addons]
