"""What a run takes along of the toolbox."""

from collections.abc import Iterable
from dataclasses import replace

from tunbench.labs.extras import named
from tunbench.labs.native import NativeLab
from tunbench.labs.vm import VmLab
from tunbench.toolbox.tools import TOOLS


def equipped(lab: VmLab | NativeLab, stacks: Iterable[str]) -> VmLab | NativeLab:
    """The lab with those tools that the stacks need and that are installed now; what comes later is not taken along."""
    names = {name for stack in stacks for kind, name in named(stack) if kind == "tools"}
    extras = tuple(TOOLS[name] for name in sorted(names) if TOOLS[name].installed)
    return replace(lab, extras=extras) if extras else lab
