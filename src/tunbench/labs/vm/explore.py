"""A VM for a person: a shell between two nodes and a router, or a script that runs to its end."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tunbench.labs.extras import Extra
from tunbench.labs.image import Image, ImageError
from tunbench.labs.process_group import ends_with_this_process
from tunbench.labs.unwritable import temporary_folder
from tunbench.labs.vm import look_around
from tunbench.labs.vm.boot import FULL, Boot
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.lab import boot_of, started
from tunbench.labs.vm.terminal import handed_back
from tunbench.plan.axes.machine import Machine
from tunbench.plan.shard import Shard, canonical
from tunbench.plugins.folder import Plugin

LOOK_AROUND = Path(look_around.__file__)

PROGRAM_OF_SHARD = f"""\
# The shard of a plan, with a shell in the place of its workloads.
PYTHONHASHSEED=0 python3 -m tunbench.runner.template
cp /payload/{LOOK_AROUND.name} /payload/tunbench/runner/workloads/
echo "bringing the stack up" >/dev/ttyS0
python3 -m tunbench.runner /payload/shard.json /payload/events.jsonl
python3 /payload/{LOOK_AROUND.name} /payload/events.jsonl
""".encode()
"""What such a VM does. It is no program of `guest`, whose digest decides the numbers of a run."""


def shell(clock: str, addons: Sequence[Image] = ()) -> int:
    """Opens a shell on this terminal, in a VM with two nodes and a router. Returns QEMU's exit status."""
    with temporary_folder() as folder:
        boot = Boot(clock, folder, (BASE, *addons))
        boot.write("shell", {}, 1)
        return _on_this_terminal(boot)


def shell_of_shard(shard: Shard, clock: str, extras: Sequence[Extra] = (), plugins: Sequence[Plugin] = ()) -> int:
    """Opens a shell on this terminal where the workloads of a shard would run. Returns QEMU's exit status."""
    spec = {**shard.spec(), "workloads": [look_around.ABOUT.name], "probes": []}
    files = {"shard.json": canonical(spec).encode(), LOOK_AROUND.name: LOOK_AROUND.read_bytes()}
    with temporary_folder() as folder:
        boot = boot_of(shard, clock, folder, extras, plugins)
        boot.write(PROGRAM_OF_SHARD, files, shard.seed)
        return _on_this_terminal(boot)


def _on_this_terminal(boot: Boot) -> int:
    """The terminal is the VM's: Ctrl-C goes to the program inside, and Ctrl-A X ends the VM."""
    with handed_back():
        return subprocess.run(ends_with_this_process(boot.command(serial=["mon:stdio"]))).returncode


def script(path: Path, seed: int, clock: str, addons: Sequence[Image] = (), machine: Machine = FULL) -> tuple[str, int]:
    """Runs a shell script in a VM of its own: what it printed, and its exit status. Raises OSError and ImageError."""
    commands = _commands(path)
    with temporary_folder() as folder:
        boot = Boot(clock, folder, (BASE, *addons), machine)
        boot.write("script", {"script": commands}, seed)
        vm = started(boot)
        try:
            vm.process.wait()
            console = vm.console.read_text(errors="replace") if vm.console.exists() else ""
            ended = re.search(r"^status (\d+)", console, re.MULTILINE)
            if not ended:
                raise ImageError(f"the VM ended before the script did: {vm.last_words()}")
            return vm.events.read_text(errors="replace"), int(ended[1])
        finally:
            vm.stop()


def _commands(path: Path) -> bytes:
    """What a script says. Raises ImageError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ImageError(
            f"the script {path} cannot be read: {error.strerror}; name a file of shell commands, such as the "
            "commands.sh of a trial"
        ) from None
