"""A VM for a person: a shell between two nodes and a router, or a script that runs to its end."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tunbench.labs import image
from tunbench.labs.image import Image
from tunbench.labs.process_group import ends_with_this_process
from tunbench.labs.vm.lab import FULL, VmLab
from tunbench.plan.axes.machine import Machine

SHELL_PROGRAM = b"""\
python3 -m tunbench.runner.explore
"""

SCRIPT_PROGRAM = b"""\
busybox stty -F /dev/ttyS1 raw -echo
sh /payload/script >/dev/ttyS1 2>&1
echo "status $?"
busybox stty -F /dev/ttyS1 sane
"""


def shell(clock: str, addons: Sequence[Image] = ()) -> int:
    """Opens a shell on this terminal, in a VM with two nodes and a router. Returns QEMU's exit status."""
    with tempfile.TemporaryDirectory(prefix="tunbench-") as folder:
        program = {"program": SHELL_PROGRAM}
        # The terminal is the VM's: Ctrl-C goes to the program inside, and Ctrl-A X ends the VM.
        argv = VmLab(clock).prepare(program, Path(folder), 1, addons, ["mon:stdio"])
        return subprocess.run(ends_with_this_process(argv)).returncode


def script(path: Path, seed: int, clock: str, addons: Sequence[Image] = (), machine: Machine = FULL) -> tuple[str, int]:
    """Runs a shell script in a fresh VM: what it printed, and its exit status. Raises OSError and ImageError."""
    with tempfile.TemporaryDirectory(prefix="tunbench-") as name:
        folder = Path(name)
        files = {"program": SCRIPT_PROGRAM, "script": path.read_bytes()}
        serial = [f"file:{folder}/console.log", f"file:{folder}/printed"]
        done = subprocess.run(
            ends_with_this_process(VmLab(clock).prepare(files, folder, seed, addons, serial, machine)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        console = (folder / "console.log").read_text(errors="replace")
        ended = re.search(r"^status (\d+)", console, re.MULTILINE)
        if not ended:
            raise image.ImageError(f"the VM ended before the script did: {done.stderr}{console[-2000:]}")
        return (folder / "printed").read_text(errors="replace"), int(ended[1])
