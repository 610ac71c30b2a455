"""The emulator of the vm lab: its program, and the mend where it is not there."""

import functools
import shutil
import subprocess
from pathlib import Path

from tunbench.labs.lab import LabError

QEMU = "qemu-system-x86_64"

MEND = "apt-get install qemu-system-x86"


def check_installed() -> None:
    """Raises LabError where QEMU is not installed."""
    if not shutil.which(QEMU):
        raise LabError(f"{QEMU} is not installed; install it with: {MEND}")


def version() -> str:
    """What it says of its version. Raises LabError where it is not installed."""
    check_installed()
    program = Path(shutil.which(QEMU) or "")
    # Asked once, unless another one has been installed meanwhile.
    return _version_of(program, program.stat().st_mtime_ns)


@functools.cache
def _version_of(program: Path, changed: int) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
