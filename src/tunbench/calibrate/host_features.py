"""What this host's processor lacks of the model machine's features, and what it has that no model machine has."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tunbench.plan.axes.machine import FEATURES, lacking

CPUINFO = Path("/proc/cpuinfo")

X86_FLAGS = {feature: feature.replace(".", "_") for feature in FEATURES}
"""What /proc/cpuinfo calls the features of the model machine."""

ARM_FLAGS = {"aes": "aes", "pclmulqdq": "pmull"}
"""The same of ARM's processors, whose instructions for AES and for GCM's multiplication do as much. The others have no
counterpart, and the model machine keeps them."""

NOT_EMULATED = {"sha_ni": "SHA", "avx512f": "AVX-512", "sha2": "SHA", "sve": "SVE"}
"""Flags of instructions that QEMU's model machine does not have, each with what they are for."""


class HostFeatures(NamedTuple):
    """What cpu.without takes away for this host, and what this host has beyond the model machine, in words."""

    without: tuple[str, ...]
    beyond: tuple[str, ...]


def of_host() -> HostFeatures:
    """The features of this host's first processor. Raises OSError."""
    return read(CPUINFO.read_text())


def read(cpuinfo: str) -> HostFeatures:
    """The features in the text of /proc/cpuinfo; nothing is lacking where it does not tell."""
    x86, arm = _flags(cpuinfo, "flags"), _flags(cpuinfo, "Features")
    flags, names = (x86, X86_FLAGS) if x86 else (arm, ARM_FLAGS)
    beyond = dict.fromkeys(what for flag, what in NOT_EMULATED.items() if flag in flags)
    return HostFeatures(_without(flags, names) if flags else (), tuple(beyond))


def _without(flags: frozenset[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return lacking([feature for feature, flag in names.items() if flag not in flags])


def _flags(cpuinfo: str, field: str) -> frozenset[str]:
    """The words of the first line of that name."""
    for line in cpuinfo.splitlines():
        name, _, words = line.partition(":")
        if name.strip() == field:
            return frozenset(words.split())
    return frozenset()
