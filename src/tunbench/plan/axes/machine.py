"""Reads the machines of a plan: the name of a shipped one, or an inline table, whose speed may sweep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tunbench.plan.axes import named_table
from tunbench.plan.axes.named_table import TableForm
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner.declare.options import nearest

FULL_SPEED = 1000
"""Million instructions a second of the full model machine."""


@dataclass(frozen=True)
class Machine:
    """The model machine: features that its processor lacks, sorted, and its speed in million instructions a second.

    Its kernel loads none of the modules that it is without, sorted, whoever asks for one.
    """

    name: str
    without: tuple[str, ...] = ()
    speed: int = FULL_SPEED
    kernel_without: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether nothing is taken away."""
        return not self.without and not self.kernel_without and self.speed == FULL_SPEED

    def spec(self) -> dict[str, Any]:
        """The machine as the shard names it."""
        told = {"name": self.name, "without": list(self.without), "speed": self.speed}
        return {**told, "kernel_without": list(self.kernel_without)} if self.kernel_without else told


FORM = TableForm(
    "machine",
    '{ name = "no-aes", cpu.without = ["aes", "pclmulqdq"] }',
    keys=("name", "cpu", "kernel"),
    # What the processor and the kernel lack are lists already, and no sweeps.
    fixed=[("name",), ("cpu",), ("cpu", "without"), ("kernel",), ("kernel", "without")],
)
CPU_KEYS = ("without", "speed")
KERNEL_KEYS = ("without",)

MODULES = ("tcp_bbr",)
"""Modules of the kernel that can be taken away: those that programs use where they are there, and go on without."""

MIN_SPEED, MAX_SPEED = 50, 20_000
"""Million instructions a second: within them, delays were seen to stay what they are (docs/virtual-time.md)."""

SPEED_WANTED = f"a whole number from {MIN_SPEED} to {MAX_SPEED} (million instructions a second), for example 1500"

FEATURES: dict[str, tuple[str, ...]] = {
    "adx": (),
    "aes": ("vaes",),
    "avx": ("avx2", "f16c", "fma", "vaes"),
    "avx2": ("vaes",),
    "bmi1": (),
    "bmi2": (),
    "f16c": (),
    "fma": (),
    "movbe": (),
    "pclmulqdq": (),
    "popcnt": (),
    "sse4.1": ("sse4.2",),
    "sse4.2": ("aes", "avx", "pclmulqdq"),
    "ssse3": ("sse4.1",),
    "vaes": (),
}
"""Features of the model machine that can be taken away, and those that no processor has without them.

A processor that had AES but not SSSE3 would stop OpenSSL at an illegal instruction: its code for the one uses the
other. The names are those of QEMU; what QEMU 7.2 does not emulate, as sha-ni, is not there to be taken away.
"""


@cache
def shipped() -> dict[str, Machine]:
    """The machines that come with Tunbench, by name."""
    return named_table.shipped("machines.toml", _from_table)


def read_machines(value: object) -> Iterator[Machine]:
    """The machines that an entry of a plan stands for: one, or one for each speed, named by it.

    Raises ValueError; MistakeAt where it is in one key.
    """
    named_table.check_new(FORM, value, shipped())
    yield from named_table.read_entries(FORM, value, shipped(), _from_table)


def lacking(features: object) -> tuple[str, ...]:
    """The features that a processor lacks with those that need them, sorted. Raises ValueError."""
    if not isinstance(features, list):
        raise ValueError(f'{quoted(features)} is not a list: write for example ["aes", "pclmulqdq"]')
    found: set[str] = set()
    waiting = list(features)
    while waiting:
        feature = waiting.pop()
        if not isinstance(feature, str) or feature not in FEATURES:
            raise ValueError(f"unknown feature {quoted(feature)}{nearest(str(feature), FEATURES)}")
        found.add(feature)
        waiting += FEATURES[feature]
    return tuple(sorted(found))


def _from_table(table: Mapping[str, object]) -> Machine:
    name, cpu, kernel = named_table.name_of(FORM, table), table.get("cpu", {}), table.get("kernel", {})
    if not isinstance(cpu, dict):
        raise MistakeAt(f"{quoted(cpu)} is not a table: write for example cpu.speed = 250", "cpu")
    if not isinstance(kernel, dict):
        raise MistakeAt(f'{quoted(kernel)} is not a table: write for example kernel.without = ["tcp_bbr"]', "kernel")
    named_table.check_keys(cpu, CPU_KEYS, "cpu")
    named_table.check_keys(kernel, KERNEL_KEYS, "kernel")
    try:
        without = lacking(cpu.get("without", []))
    except ValueError as error:
        raise MistakeAt(str(error), "cpu", "without") from None
    return Machine(name, without, _speed(cpu.get("speed", FULL_SPEED)), _modules(kernel.get("without", [])))


def _modules(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise MistakeAt(f'{quoted(value)} is not a list: write for example ["tcp_bbr"]', "kernel", "without")
    if unknown := [one for one in value if one not in MODULES]:
        text = f"unknown module {quoted(unknown[0])}; those that can be taken away: {', '.join(MODULES)}"
        raise MistakeAt(text, "kernel", "without")
    return tuple(sorted(set(value)))


def _speed(value: object) -> int:
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise MistakeAt(f"{quoted(value)} is not a speed: write {SPEED_WANTED}", "cpu", "speed")
    # Python reads no number of some thousand digits.
    if len(text) > len(str(MAX_SPEED)) or not MIN_SPEED <= int(text) <= MAX_SPEED:
        raise MistakeAt(f"{quoted(value)} is out of range: write {SPEED_WANTED}", "cpu", "speed")
    return int(text)


READER = AxisReader('machine = ["full", "slow"]', alone(read_machines))
