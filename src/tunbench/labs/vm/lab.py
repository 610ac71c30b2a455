"""The vm lab: QEMU with a stock Debian kernel, under an instruction clock or at the machine's own speed."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from tunbench.labs import image, unbuilt
from tunbench.labs.carried import carried
from tunbench.labs.execution import Execution
from tunbench.labs.extras import DECIDING_EXTRAS, Extra, Needing, manifest_of, needed
from tunbench.labs.image import Image
from tunbench.labs.lab import TEMPLATE, Lab, LabError
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.real_time import host_state
from tunbench.labs.real_time.host_state import HostState
from tunbench.labs.unwritable import in_cache
from tunbench.labs.vm import host_core, host_memory, qemu
from tunbench.labs.vm.boot import FULL, GUEST_GIB, Boot
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition
from tunbench.labs.vm.templates import start as templates
from tunbench.labs.vm.templates.brought_up import BroughtUp
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.cache_folder import cache
from tunbench.plan.shard import Shard, canonical
from tunbench.plugins.folder import Plugin
from tunbench.runner.declare.access import Accesses
from tunbench.runner.handed_over import in_two_parts
from tunbench.runner.template import SECOND_PART

DECIDING_FACTS = {
    "image": "image",
    "addons": "set of add-on images",
    **DECIDING_EXTRAS,
    "qemu": "version of QEMU",
    "command": "command line of QEMU",
    "memory": "memory of a VM",
    "start": "start of shards (a template or a fresh boot)",
}


SHARD = "shard.json"
"""The file in which the guest is handed a shard, or a part of it."""


@dataclass(frozen=True)
class VmLab:
    """Virtual machines from one image, with the clock `virtual` or `real`.

    `extras` are the tools and brought programs that are there for the stacks that need them, `plugins` those that are
    there for the shards that use them.
    """

    clock: str
    kind: str = "vm"
    extras: tuple[Extra, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    exclusive: bool = False
    hidden_folders: tuple[Path, ...] = ()

    @property
    def deciding_facts(self) -> Mapping[str, str]:
        """What `check` says that decides the numbers."""
        return DECIDING_FACTS

    def with_extras(self, extras: Iterable[Extra]) -> Self:
        """The same lab with these extras."""
        return replace(self, extras=tuple(extras))

    def with_plugins(self, plugins: Iterable[Plugin]) -> Self:
        """The same lab with these plug-ins."""
        return replace(self, plugins=tuple(plugins))

    def check(
        self, needing: Iterable[Needing], machines: Iterable[Machine] = (FULL,), accesses: Iterable[Accesses] = ()
    ) -> dict[str, Any]:
        """What the manifest says of this lab. Raises LabError and ImageError where it cannot run these."""
        qemu.check_installed()
        needing = list(needing)
        stacks = [one for one in needing if isinstance(one, PlannedStack)]
        host_memory.check(stacks)
        addons = addons_of(name for some in (needing, accesses) for one in some for name in one.addons)
        images = (BASE, *addons)
        unbuilt.refuse_several(images, unbuilt.LAB_BUILD)
        manifests = {definition.name: image.check(definition) for definition in images}
        base = manifests.pop(BASE.name)
        if (begins := templates.begins_with(self.clock)) == TEMPLATE:
            templates.shelf().check()
        boots = {machine.name: Boot(self.clock, Path("RUN"), machine=machine) for machine in machines}
        with in_cache(cache(), LabError):
            for boot in boots.values():
                boot.acpi_tables()
        return {
            "image": _told(base),
            "addons": {name: _told(manifest) for name, manifest in manifests.items()},
            **manifest_of(self.extras),
            "qemu": qemu.version(),
            "command": {
                name: [word.replace(str(cache()), "CACHE") for word in boot.command()] for name, boot in boots.items()
            },
            # Beyond the usual, which stands in the command line.
            "memory": {one.name: f"{GUEST_GIB + one.memory} GiB" for one in stacks if one.memory},
            "start": begins,
        }

    def examine(self, shards: Sequence[Shard]) -> HostState | None:
        """The state of this machine on the real clock; nothing disturbs the virtual one."""
        if self.clock == "virtual":
            return None
        return host_state.examine(shards, os.sched_getaffinity(0), nodes_share_kernel=False)

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Starts a VM that executes the shard; what it writes goes to the folder."""
        boot = written(self, shard, folder)
        return BroughtUp(boot) if boot.two_parts and templates.begins_with(self.clock) == TEMPLATE else started(boot)


def written(lab: Lab, shard: Shard, folder: Path) -> Boot:
    """A VM that is to execute a shard, whose files have been written to the folder."""
    boot = boot_of(shard, lab.clock, folder, lab.extras, lab.plugins)
    if not (lab.clock == "virtual" and shard.stack.saved_when_up):
        boot.write("shard", {SHARD: canonical(shard.spec()).encode()}, shard.seed)
        return boot
    boot = replace(boot, two_parts=True)
    first, second = in_two_parts(shard.spec())
    boot.write("shard", {SHARD: canonical(first).encode()}, shard.seed)
    boot.hand_in(SECOND_PART, files={SHARD: canonical(second)})
    return boot


def boot_of(shard: Shard, clock: str, folder: Path, extras: Iterable[Extra], plugins: Iterable[Plugin]) -> Boot:
    """A VM on the machine of a shard, with all that the shard needs; no file of it has been written."""
    return Boot(clock, folder, (BASE, *images_of(shard, extras)), shard.machine, carried(shard, plugins), shard.memory)


def _told(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest of a run says of an image: enough to build the same one."""
    return {key: manifest[key] for key in ("digest", "packages")}


def started(boot: Boot) -> ProcessGroup:
    """A VM whose files have been written, under way on a core of its own."""
    if boot.clock != "virtual":
        return templates.start(boot)
    with host_core.taken():
        return templates.start(boot)


def images_of(shard: Shard, extras: Iterable[Extra]) -> list[Image]:
    """What a shard needs beyond the base image, of these extras and of the add-ons."""
    return [*addons_of(shard.addons), *needed(shard.needing, extras)]


def addons_of(names: Iterable[str]) -> list[Definition]:
    """The add-on images of these names, each once, in an order that does not depend on theirs."""
    return [ADDONS[name] for name in sorted(set(names))]
