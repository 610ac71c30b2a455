"""Images in the cache: those of the lab, and small ones as building leaves them."""

import fcntl
from pathlib import Path

from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import Definition
from tunbench.runner import registry

SMALL = Definition(name="small", packages=("kmod",))

ADDON = Definition(name="addon", packages=("libreswan", "kmod"), addon=True, excludes=("openvpn", "tinc"))


def of_clusters() -> set[str]:
    """The add-ons that clusters alone need: one long test builds them."""
    abouts = (registry.tunnel(name).about for name in registry.tunnel_names())
    return {addon.name for about in abouts if about.pods for addon in about.sources.addons}


def ensured(definition: Definition) -> Path:
    """The folder of an image; it is built where it is not there, by one process of the tests. Raises ImageError."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (definition.folder / "manifest.json").exists():
            image_build.build(definition, print)
    return definition.folder


def built() -> Path:
    """An image as building leaves it, less its size."""
    folder = SMALL.folder
    folder.mkdir(parents=True)
    for name in ("vmlinux", "boot.cpio", "image.squashfs"):
        (folder / name).write_bytes(name.encode() * 100)
    image_build.write_manifest_of(SMALL, folder, {"kmod": "30"})
    return folder
