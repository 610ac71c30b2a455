"""The fixed set of which a host's speed is read: paths of packets that keep the processor busy, and ciphers alone."""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

from tunbench.plan.axes.machine import Machine

NATIVE_REPEATS = 3
"""How often each is run natively; the median counts."""

VM_REPEATS = 1
"""How often in the VM, which nothing disturbs; a seed moves TCP without loss by some percent, and each costs minutes
where the host is busy."""

SPEED_SECONDS = 1
"""Seconds of each cipher."""

BLOCK_BYTES = 256
"""What a cipher is given at once: small, as a packet is, so that what a call costs counts as well."""


@dataclass(frozen=True)
class PathItem:
    """A workload over a stack; its throughput in bit/s counts."""

    name: str
    stack: str
    workload: str

    unit: ClassVar[str] = "bit/s"


@dataclass(frozen=True)
class CipherItem:
    """An algorithm as OpenSSL calls it; the bytes a second that it takes count."""

    name: str
    algorithm: str

    unit: ClassVar[str] = "B/s"


Item = PathItem | CipherItem

_SET = tomllib.loads(files("tunbench.calibrate").joinpath("set.toml").read_text(encoding="utf-8"))

PATHS = tuple(PathItem(**one) for one in _SET["paths"])

CIPHERS = tuple(CipherItem(**one) for one in _SET["ciphers"])

WHOLE_SET: tuple[Item, ...] = (*PATHS, *CIPHERS)

SPEED_OF = re.compile(r"^\+F:\d+:([^:\s]+):(\d{1,15}\.\d\d)$", re.ASCII | re.MULTILINE)
"""A result of `openssl speed -mr`: number, algorithm, bytes a second (apps/speed.c of OpenSSL 3.0)."""


def native_plan(paths: Iterable[PathItem]) -> str:
    """The text of a plan that runs these paths on this host's kernel."""
    return _plan(paths, NATIVE_REPEATS, "native", "real", "")


def vm_plan(paths: Iterable[PathItem], machine: Machine) -> str:
    """The text of a plan that runs these paths in the VM, on that machine."""
    return _plan(paths, VM_REPEATS, "vm", "virtual", machine_table(machine))


def _plan(paths: Iterable[PathItem], repeats: int, lab: str, clock: str, machine: str) -> str:
    paths = list(paths)
    lines = [
        'name = "machine"',
        f"repeats = {repeats}",
        # A host may have another congestion control than the VM; this one is in every kernel.
        'tuning = { name = "reno", congestion = "reno" }',
        f"stacks = {json.dumps(list(dict.fromkeys(path.stack for path in paths)))}",
        f"workloads = {json.dumps(list(dict.fromkeys(path.workload for path in paths)))}",
        "include = [",
        *(f"  {{ stack = {json.dumps(path.stack)}, workload = {json.dumps(path.workload)} }}," for path in paths),
        "]",
        *([f"machine = {machine}"] if machine else []),
        "[lab]",
        f'kind = "{lab}"',
        f'clock = "{clock}"',
    ]
    return "\n".join(lines) + "\n"


def machine_table(machine: Machine) -> str:
    """A machine as a plan has it."""
    without = f", cpu.without = {json.dumps(machine.without)}" if machine.without else ""
    return f'{{ name = "{machine.name}", cpu.speed = {machine.speed}{without} }}'


def cipher_script(ciphers: Iterable[CipherItem], repeats: int) -> str:
    """A shell script that prints how fast the ciphers are, each so often, by the seconds that the processor spent."""
    algorithms = " ".join(cipher.algorithm for cipher in ciphers)
    speed = f"openssl speed -mr -seconds {SPEED_SECONDS} -bytes {BLOCK_BYTES} -evp"
    each = " ".join(map(str, range(repeats)))
    return f"for repeat in {each}; do for name in {algorithms}; do {speed} $name 2>/dev/null; done; done\n"


def cipher_speeds(printed: str, ciphers: Sequence[CipherItem]) -> dict[Item, list[float]]:
    """What the script printed: bytes a second of each cipher, of all that were told."""
    found: dict[Item, list[float]] = {}
    for name, value in SPEED_OF.findall(printed):
        for cipher in ciphers:
            if cipher.algorithm == name.lower() and float(value) > 0:
                found.setdefault(cipher, []).append(float(value))
    return found
