"""The labs, by the kind that a plan names: a new one is a package beside the others, and a line here."""

from collections.abc import Callable, Mapping

from tunbench.labs.lab import Lab
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm.lab import VmLab

LABS: Mapping[str, Callable[[str], Lab]] = {"vm": VmLab, "native": NativeLab}
"""What makes a lab of each kind, given its clock."""


def lab(kind: str, clock: str) -> Lab:
    """The lab of that kind, with a clock that the kind has."""
    return LABS[kind](clock)
