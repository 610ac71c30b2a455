"""Starts a VM from a template, which is made where there is none; where that fails, the VM boots afresh, and says so.

Both execute the same instructions from then on, and give the same results to the byte (tests/vm/test_templates.py).
"""

import hashlib
import json
import os
from pathlib import Path

from tunbench.labs.lab import FRESH_BOOT, TEMPLATE
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.vm import qemu
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.templates.monitor import TemplateError
from tunbench.labs.vm.templates.saving import load, save
from tunbench.labs.vm.templates.shelf import Shelf
from tunbench.plan.cache_folder import cache
from tunbench.plan.shard import canonical
from tunbench.runner.declare.warnings import WarningKind

FOLDER = "templates"
"""Where templates lie in a cache."""

SWITCH = "TUNBENCH_TEMPLATES"
"""The variable by which templates are switched off, to measure what they spare."""


def begins_with(clock: str) -> str:
    """What VMs of that clock start from. What a real clock does while a VM stands still is not known."""
    return TEMPLATE if clock == "virtual" and os.environ.get(SWITCH) != "off" else FRESH_BOOT


def shelf() -> Shelf:
    """The templates of this user's cache."""
    return Shelf(cache() / FOLDER)


def start(boot: Boot) -> ProcessGroup:
    """A VM whose files have been written, under way. Raises OSError."""
    if begins_with(boot.clock) == FRESH_BOOT:
        return ProcessGroup(boot.command(), boot.folder)
    try:
        with shelf().held(name_of(boot), lambda folder: save(boot, folder)) as template:
            return load(boot, template)
    except (TemplateError, OSError) as error:
        vm = ProcessGroup(boot.command(), boot.folder)
        vm.warnings = ((WarningKind.FRESH_BOOT, f"{error}"),)
        return vm


def name_of(boot: Boot) -> str:
    """The name of the template of a VM: it follows from all that has a part in it. Raises OSError."""
    command = [word.replace(str(boot.folder), "").replace(str(cache()), "") for word in boot.command()]
    images = [_digest_in(image.folder / "manifest.json") for image in boot.images]
    archive = hashlib.sha256((boot.folder / "boot.cpio").read_bytes()).hexdigest()
    made_from = canonical([qemu.version(), command, images, archive])
    return hashlib.sha256(made_from.encode()).hexdigest()[:16]


def _digest_in(manifest: Path) -> str:
    """What the manifest says of an image; whether that is true was found before the run."""
    return str(json.loads(manifest.read_text()).get("digest"))
