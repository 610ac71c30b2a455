"""Modules of the kernel, as a tunnel declares that it needs them."""

from collections.abc import Iterable
from typing import NamedTuple


class Module(NamedTuple):
    """A module of the kernel, with how it is seen that this kernel has it."""

    name: str
    # The command of the shell that shows it, in a network namespace that vanishes at once. Without one nobody looks.
    probe: str = ""
    # The address families below a tunnel over which it is needed.
    outer: tuple[int, ...] = (4, 6)
    # The kind of interface that daemons make with it: where the kernel knows none, they tell so in words of their own.
    made_by_daemons: str = ""
    # The interfaces that are in every network namespace as soon as it is loaded, or what it depends on: Linux 6.1.
    fallback_devices: tuple[str, ...] = ()


def over(modules: Iterable[Module], family: int) -> list[Module]:
    """Those of the modules that a tunnel needs over an address family, 4 or 6."""
    return [module for module in modules if family in module.outer]
