"""The emulator of the vm lab: its program, and the mend where it is not there."""

import shutil

from tunbench.labs.lab import LabError

QEMU = "qemu-system-x86_64"

MEND = "apt-get install qemu-system-x86"


def check_installed() -> None:
    """Raises LabError where QEMU is not installed."""
    if not shutil.which(QEMU):
        raise LabError(f"{QEMU} is not installed; install it with: {MEND}")
