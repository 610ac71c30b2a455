"""What a VM boots: its archive, its payload, and QEMU's command, whether it is saved, loaded or neither."""

import hashlib
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from tunbench.labs import payload
from tunbench.labs.image import Image
from tunbench.labs.process_group import ends_with_this_process
from tunbench.labs.vm import apic_timer, cpio, kvm, qemu
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.instruction_clock import instruction_clock
from tunbench.plan.axes.machine import Machine
from tunbench.plan.shard import canonical
from tunbench.plugins.folder import Plugin
from tunbench.runner.template import PAYLOAD, SECOND_PART

GUEST_GIB = 1
"""What a guest has, unless its stack needs more."""

TRANSLATED_CODE_MIB = 128
"""What QEMU may fill with translated code."""

QEMUS_OWN_MIB = 384
"""What QEMU takes for all else, at most: chosen."""

CHIPSET = "q35,nvdimm=on,smbus=off,sata=off,suppress-vmdesc=on,memory-backend=memory"
HPET, APIC_TIMER = "hpet=on", "hpet=off,pit=off,pic=off"
"""What of the chipset a machine's timers need, or must not have."""

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

FULL = Machine("full")

MISSING_FEATURES = ("erms", "fsrm", "rdrand", "rdseed", "cx16")
"""What no model machine has of all that QEMU can emulate: copy instructions that count as one a byte, random numbers
that are not drawn from the key of the shard, and `cmpxchg16b`, after which QEMU 7.2 leaves flags that are none."""

RECORDING = "sleep=off,rr=record,rrfile=/dev/null"
"""QEMU skips idle time in its main thread, by a clock that must not be read while the guest executes. Where QEMU
records, the two threads take turns. The record itself is of no use (docs/virtual-time.md)."""

ARCHIVE_GRANULE_BYTES = 1 << 20
"""The archive is filled up to a multiple of it, so that the length of what is in it does not move what lies behind."""

PAYLOAD_GRANULE_BYTES = 1 << 14
"""The same of the payload, which the guest reads byte by byte."""

FRESH_MEMORY = "memory-backend-ram"


@dataclass(frozen=True)
class Boot:
    """A VM that is to be: its clock and machine, its images and plug-ins, and the folder where its files are.

    `more_memory` are GiB beyond the usual one. In `two_parts`, the guest is handed a second payload when its stack is
    up.
    """

    clock: str
    folder: Path
    images: tuple[Image, ...] = (BASE,)
    machine: Machine = FULL
    plugins: tuple[Plugin, ...] = ()
    more_memory: int = 0
    two_parts: bool = False

    @property
    def memory(self) -> str:
        """What the guest has, as QEMU takes it."""
        return f"{GUEST_GIB + self.more_memory}G"

    def write(self, program: str | bytes, files: Mapping[str, bytes], seed: int) -> None:
        """Writes the archive, with the runner and a program, and what is handed in besides.

        The program is the name of one in `guest`, or the text of another.
        """
        first_stage = (BASE.folder / "boot.cpio").read_bytes()
        (self.folder / "boot.cpio").write_bytes(self.acpi_tables() + first_stage + _second_stage(program, self.plugins))
        self.hand_in(
            # The kernel's own generator makes numbers of it, which need a key and no small number.
            key=hashlib.sha256(f"{seed}".encode()).hexdigest(),
            files={name: content.decode(errors="surrogateescape") for name, content in files.items()},
        )

    def hand_in(self, name: str = PAYLOAD, **what: object) -> None:
        """Writes what the guest takes in when it has booted, or its stack is up, or it was loaded there, as JSON."""
        (self.folder / name).write_bytes(_filled(canonical(what).encode()))

    def acpi_tables(self) -> bytes:
        """What comes before the initrd of a machine without HPET; the first call boots a VM to see QEMU's tables."""
        if self._has_hpet:
            return b""
        return apic_timer.archive(f"{qemu.version()} {CHIPSET} {self.memory}", partial(_fadt, self.more_memory))

    @property
    def _has_hpet(self) -> bool:
        return self.clock != "virtual" or instruction_clock(self.machine.speed).is_qemus

    @cached_property
    def serial(self) -> list[str]:
        """Its serial lines: what it prints, and what it tells, each into a file.

        What has been told before its stack was up is in the latter already, where it is loaded there.
        """
        return [f"file:{self.folder}/console.log", "chardev:events" if self.two_parts else f"file:{self._events}"]

    @property
    def _events(self) -> Path:
        return self.folder / "events.jsonl"

    def command(
        self, memory: str = FRESH_MEMORY, panic: str = "none", serial: Sequence[str] | None = None
    ) -> list[str]:
        """QEMU's command line. The real clock has no other machine.

        `memory` says what backs the guest's, `panic` what happens at the instruction where it may be saved.
        """
        virtual = self.clock == "virtual"
        argv = [qemu.QEMU, "-M", f"{CHIPSET},{HPET if self._has_hpet else APIC_TIMER}"]
        argv += [*(model(self.machine) if virtual else kvm.machine())]
        # Nothing that the guest sees is drawn from this seed; it keeps the host's randomness out.
        argv += ["-m", f"{self.memory},slots={len(self.images) + 1},maxmem=16G", "-seed", "1"]
        argv += ["-nodefaults", "-display", "none", "-no-reboot", "-kernel", str(BASE.folder / "vmlinux")]
        argv += ["-initrd", str(self.folder / "boot.cpio")]
        argv += ["-append", " ".join((*BOOT_ARGUMENTS, *(virtual_boot_arguments(self.machine) if virtual else ())))]
        argv += ["-object", f"{memory},id=memory,size={self.memory}", "-device", "pvpanic", "-action", f"panic={panic}"]
        for name in (PAYLOAD, SECOND_PART) if self.two_parts else (PAYLOAD,):
            argv += ["-fw_cfg", f"name=opt/tunbench/{name},file={self.folder}/{name}"]
        if self.two_parts:
            argv += ["-chardev", f"file,id=events,path={self._events},append=on"]
        for device in self.serial if serial is None else serial:
            argv += ["-serial", device]
        for number, path in enumerate(image.folder / "image.squashfs" for image in self.images):
            size = path.stat().st_size
            # Shared, as nobody writes to it: what is not shared would be saved with the VM.
            backend = f"memory-backend-file,id=image{number},share=on,readonly=on,mem-path={path},size={size}"
            argv += ["-object", backend, "-device", f"nvdimm,id=nvdimm{number},memdev=image{number},unarmed=on"]
        return argv


def _second_stage(program: str | bytes, plugins: Iterable[Plugin]) -> bytes:
    """The archive of what comes after the first stage: the runner, and a program that uses it."""
    text = program if isinstance(program, bytes) else (payload.GUEST / program).read_bytes()
    guest = {"start": (payload.GUEST / "start").read_bytes(), "program": text}
    files = {**payload.runner_files(plugins), **guest}
    archive = cpio.archive({f"payload/{name}": (cpio.FILE, content) for name, content in files.items()})
    return cpio.padded(archive, ARCHIVE_GRANULE_BYTES)


def _fadt(more_memory: int, folder: Path) -> bytes:
    """The table FADT of ACPI that QEMU and its firmware give to a VM, whose files are in this folder meanwhile."""
    boot = Boot("virtual", folder, more_memory=more_memory)
    boot.write("show-fadt", {}, 0)
    subprocess.run(ends_with_this_process(boot.command()), stdin=subprocess.DEVNULL, capture_output=True)
    return (folder / "events.jsonl").read_bytes()


def most_bytes(more_memory: int = 0) -> int:
    """The memory that a VM takes of its host at most, whose guest has so many GiB beyond the usual."""
    return (GUEST_GIB + more_memory << 30) + (TRANSLATED_CODE_MIB + QEMUS_OWN_MIB << 20)


def _filled(text: bytes) -> bytes:
    """JSON, with spaces behind it."""
    return text + b" " * (-len(text) % PAYLOAD_GRANULE_BYTES)


def virtual_boot_arguments(machine: Machine) -> list[str]:
    """What the kernel is told besides on the virtual clock."""
    clock = instruction_clock(machine.speed)
    told = [argument.format(tsc_early_khz=clock.tsc_early_khz) for argument in VIRTUAL_BOOT_ARGUMENTS]
    refused = [f"module_blacklist={','.join(machine.kernel_without)}"] if machine.kernel_without else []
    return [*told, *refused, *([NO_APIC_TIMER] if clock.is_qemus else [])]


def model(machine: Machine) -> list[str]:
    """QEMU's arguments for the model machine and its clock, which counts instructions."""
    processor = ",".join(["max", *(f"-{feature}" for feature in (*MISSING_FEATURES, *machine.without))])
    argv = ["-cpu", processor, "-smp", "1", "-accel", f"tcg,tb-size={TRANSLATED_CODE_MIB}"]
    shift = instruction_clock(machine.speed).shift
    return [*argv, "-icount", f"shift={shift},{RECORDING}", "-rtc", "clock=vm,base=2026-01-01"]
