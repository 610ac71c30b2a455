"""Builds the images of the vm lab from Debian's packages."""

import hashlib
import lzma
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from tunbench.labs.image import ImageError, write_manifest
from tunbench.labs.payload import GUEST
from tunbench.labs.vm import cpio
from tunbench.labs.vm.image_definition import BASE, BOOT_MODULES, Definition

Progress = Callable[[str], None]

ALIGNMENT_BYTES = 128 << 20
"""The size of persistent memory is a multiple of it, because Linux maps it in sections of 128 MiB."""

PROGRAMS = {"mmdebstrap": "mmdebstrap", "tar2sqfs": "squashfs-tools-ng"}
"""What building needs, and the Debian package of it."""


UNPRIVILEGED = "it needs the package uidmap, a range of the user in /etc/subuid, and unprivileged user namespaces"
"""What mmdebstrap needs of a machine where it does not run as root."""


def build(definition: Definition, progress: Progress, mirror: str = "") -> None:
    """Builds an image from Debian's packages and puts it into the cache. Raises ImageError."""
    for program, package in PROGRAMS.items():
        if not shutil.which(program):
            raise ImageError(f"{program} is not installed; install it with: apt-get install {package}")
    definition.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=definition.folder.parent, prefix=".building-") as scratch:
        folder = Path(scratch) / "image"
        folder.mkdir()
        tree = Path(scratch) / "tree.tar"
        _debootstrap(definition, tree, progress, mirror)
        if definition.addon:
            tree = _beyond_base(tree, Path(scratch), progress, mirror)
        else:
            progress("taking out the kernel")
            _take_out_boot_files(tree, folder)
        progress("compressing the image")
        packages = _packages(tree)
        compress(tree, folder / "image.squashfs", definition)
        write_manifest_of(definition, folder, packages)
        shutil.rmtree(definition.folder, ignore_errors=True)
        folder.rename(definition.folder)


def _debootstrap(definition: Definition, tree: Path, progress: Progress, mirror: str) -> None:
    packages = [one for one in BASE.packages if one not in definition.excludes] if definition.addon else []
    packages += definition.packages
    argv = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--architectures={definition.architecture}"]
    argv += [f"--dpkgopt=path-exclude={pattern}" for pattern in definition.without]
    argv += [f"--include={','.join(packages)}", definition.suite, str(tree)]
    sources = [mirror] if mirror else machine_sources(definition.suite)
    # No initramfs is made: the lab has its own.
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(definition.source_date_epoch), "INITRD": "No"}
    words: list[str] = []
    with subprocess.Popen(
        [*argv, *sources],
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            words = [*words[-20:], line]
            if line.startswith("I: "):
                progress(line[3:].strip())
    if process.returncode != 0:
        hint = "" if os.geteuid() == 0 else f"\nwithout root, {UNPRIVILEGED}; or run it as root"
        raise ImageError(f"mmdebstrap ended with status {process.returncode}:\n{''.join(words)}{hint}")


def machine_sources(suite: str) -> list[str]:
    """The machine's own apt sources of Debian's main component for the suite, as lines of a sources.list."""
    if not shutil.which("apt-get"):
        return []
    fields = ("REPO_URI", "RELEASE", "COMPONENT", "ORIGIN")
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", " ".join(f"$({field})" for field in fields), "Created-By: Packages"],
        capture_output=True,
        text=True,
    ).stdout
    rows = sorted({tuple(line.split(" ", 3)) for line in listed.splitlines()})
    return [
        f"deb {uri} {release} {component}"
        for uri, release, component, origin in (row for row in rows if len(row) == 4)
        if origin == "Debian" and component == "main" and release.split("-")[0] == suite
    ]


def _take_out_boot_files(tree: Path, folder: Path) -> None:
    """Writes the kernel's ELF image, which QEMU boots without unpacking it first, and the first stage's archive."""
    with tarfile.open(tree) as tar:
        members = {_name(member): member for member in tar if member.isfile()}
        packed = next(name for name in members if name.startswith("boot/vmlinuz-"))
        version = packed.removeprefix("boot/vmlinuz-")
        (folder / "vmlinux").write_bytes(_unpacked(_content(tar, members[packed])))
        modules = f"usr/lib/modules/{version}"
        if f"{modules}/modules.dep" not in members:
            modules = f"lib/modules/{version}"
        needed = _in_order(_content(tar, members[f"{modules}/modules.dep"]).decode(), BOOT_MODULES)
        busybox = next(name for name in ("usr/bin/busybox", "bin/busybox") if name in members)
        files = {
            f"modules/{Path(name).name}": (cpio.FILE, _content(tar, members[f"{modules}/{name}"])) for name in needed
        }
        files["modules/order"] = (cpio.FILE, "".join(f"{Path(name).name}\n" for name in needed).encode())
        files["bin/busybox"] = (cpio.EXECUTABLE, _content(tar, members[busybox]))
    files["init"] = (cpio.EXECUTABLE, (GUEST / "init").read_bytes())
    for name in ("proc", "sys", "dev", "images", "memory", "system"):
        files[name] = (cpio.DIRECTORY, b"")
    (folder / "boot.cpio").write_bytes(cpio.archive(files))


def _unpacked(vmlinuz: bytes) -> bytes:
    """The kernel's ELF image in a bzImage that is compressed with xz. Raises ImageError."""
    start = vmlinuz.find(b"\xfd7zXZ\x00")
    if start < 0:
        raise ImageError("the kernel of the image is not compressed with xz; Tunbench knows no other form")
    return lzma.LZMADecompressor().decompress(vmlinuz[start:])


def _in_order(dependencies: str, wanted: Iterable[str]) -> list[str]:
    """Paths of the modules with all that they need, in the order in which they can be loaded; from a modules.dep."""
    needs = {path: rest.split() for path, _, rest in (line.partition(":") for line in dependencies.splitlines())}
    paths = {Path(path).name.removesuffix(".ko"): path for path in needs}
    order: list[str] = []
    for name in wanted:
        order += [path for path in [*reversed(needs[paths[name]]), paths[name]] if path not in order]
    return order


def _beyond_base(tree: Path, scratch: Path, progress: Progress, mirror: str) -> Path:
    """The tree less what the base image has: what an add-on consists of."""
    base = scratch / "base.tar"
    _debootstrap(BASE, base, progress, mirror)
    with tarfile.open(base) as tar:
        known = {_name(member): _fingerprint(tar, member) for member in tar}
    rest = scratch / "rest.tar"
    with tarfile.open(tree) as tar, tarfile.open(rest, "w", format=tarfile.PAX_FORMAT) as out:
        for member in tar:
            if member.isdir() or known.get(_name(member)) != _fingerprint(tar, member):
                out.addfile(member, tar.extractfile(member) if member.isfile() else None)
    return rest


def _fingerprint(tar: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[Any, ...]:
    content = hashlib.sha256(_content(tar, member)).digest() if member.isfile() else b""
    return (member.type, member.mode, member.uid, member.gid, member.linkname, content)


def compress(tree: Path, image: Path, definition: Definition = BASE) -> None:
    """Makes an image of a tar archive, in the format of the definition. Raises ImageError."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(definition.source_date_epoch)}
    compressor, block, _ = definition.format
    with tree.open("rb") as stream:
        done = subprocess.run(
            ["tar2sqfs", "-q", "-c", compressor, "-b", str(block), str(image)],
            stdin=stream,
            env=environment,
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        raise ImageError(f"tar2sqfs ended with status {done.returncode}: {done.stderr}")
    with image.open("ab") as file:
        size = file.tell()
        file.truncate(size + -size % ALIGNMENT_BYTES)


def _packages(tree: Path) -> dict[str, str]:
    """Name and version of every package, from dpkg's own record in the tree."""
    with tarfile.open(tree) as tar:
        member = next(member for member in tar if _name(member) == "var/lib/dpkg/status")
        status = _content(tar, member).decode()
    paragraphs = [
        dict(line.split(": ", 1) for line in text.splitlines() if ": " in line[:40]) for text in status.split("\n\n")
    ]
    return {fields["Package"]: fields["Version"] for fields in paragraphs if "Version" in fields}


def write_manifest_of(definition: Definition, folder: Path, packages: dict[str, str]) -> None:
    """Writes the manifest of an image that lies in a folder, with the version of each of its packages."""
    write_manifest(folder, {"name": definition.name, "definition": definition.digest}, packages)


def _name(member: tarfile.TarInfo) -> str:
    return member.name.removeprefix("./")


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file: IO[bytes] | None = tar.extractfile(member)
    assert file is not None, f"{member.name} is no file"
    return file.read()
