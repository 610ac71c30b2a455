"""The emulator of the vm lab: its program, and the mend where it is not there."""

import shutil
import subprocess

from tunbench.labs.lab import LabError

QEMU = "qemu-system-x86_64"

MEND = "apt-get install qemu-system-x86"


def check_installed() -> None:
    """Raises LabError where QEMU is not installed."""
    if not shutil.which(QEMU):
        raise LabError(f"{QEMU} is not installed; install it with: {MEND}")


def version() -> str:
    """The first line of what QEMU says of itself."""
    return subprocess.run([QEMU, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
