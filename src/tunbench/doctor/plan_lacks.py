"""What keeps this machine from running a plan, or parts of it: a line for each thing, with its mend."""

from collections.abc import Callable, Mapping, Sequence

from tunbench.doctor import choose_lab, native_requirements
from tunbench.labs import unbuilt
from tunbench.labs.lab import LabError
from tunbench.labs.vm import host_memory, qemu
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.lab import addons_of
from tunbench.plan.model import LabChoice
from tunbench.plan.shard import Shard
from tunbench.toolbox import brought_programs
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.selection import ToolboxNeeds


def lines(lab: LabChoice, shards: Sequence[Shard], needs: ToolboxNeeds) -> list[str]:
    """What the lab lacks for these shards, and what the shards need of the toolbox and of the user."""
    of_lab = _of_vm(shards) if lab.kind == "vm" else _natively(shards, needs.files)
    return [*of_lab, *needs.notes, *_unusable(needs.files)]


def _of_vm(shards: Sequence[Shard]) -> list[str]:
    images = [BASE, *addons_of(name for shard in shards for name in shard.addons)]
    return [
        *_refusal(qemu.check_installed),
        *_refusal(host_memory.check, [shard.stack for shard in shards]),
        *unbuilt.lines(images, unbuilt.LAB_BUILD),
    ]


def _natively(shards: Sequence[Shard], files: Mapping[str, str | None]) -> list[str]:
    missing = native_requirements.of_plan(shards, files)
    return [f"{choose_lab.lacking(missing)}; what helps: {native_requirements.mends(missing)}"] if missing else []


def _unusable(files: Mapping[str, str | None]) -> list[str]:
    """What is wrong with the files of programs that are there."""
    there = [(name, file) for name, file in files.items() if file]
    return [line for name, file in there for line in _refusal(brought_programs.check_usable, name, file)]


def _refusal(check: Callable[..., None], *args: object) -> list[str]:
    """What a check says, where it refuses."""
    try:
        check(*args)
    except (LabError, ToolError) as error:
        return [str(error)]
    return []
