"""The lab that a plan or the command line names."""

from tunbench.labs.native import NativeLab
from tunbench.labs.vm import VmLab


def lab(kind: str, clock: str) -> VmLab | NativeLab:
    """The lab of that kind; the native one has only the real clock."""
    return NativeLab() if kind == "native" else VmLab(clock)
