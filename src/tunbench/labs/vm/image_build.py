"""Builds the images of the vm lab from Debian's packages."""

import hashlib
import lzma
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from tunbench.labs.image import ImageError, write_manifest
from tunbench.labs.payload import GUEST
from tunbench.labs.replaced_folder import replacing
from tunbench.labs.unwritable import in_cache, temporary_folder
from tunbench.labs.vm import cpio
from tunbench.labs.vm.image_definition import BASE, BOOT_MODULES, Definition
from tunbench.labs.vm.image_packages import Mirror, Versions, write_index
from tunbench.labs.vm.image_tree import COMPILING, name_of, tidied

Progress = Callable[[str], None]

ALIGNMENT_BYTES = 128 << 20
"""The size of persistent memory is a multiple of it, because Linux maps it in sections of 128 MiB."""

PROGRAMS = {"mmdebstrap": "mmdebstrap", "tar2sqfs": "squashfs-tools-ng"}
"""What building needs, and the Debian package of it."""


UNPRIVILEGED = "it needs the package uidmap, a range of the user in /etc/subuid, and unprivileged user namespaces"
"""What mmdebstrap needs of a machine where it does not run as root."""


def build(
    definition: Definition, progress: Progress, mirror: str = "", versions: Mapping[str, Versions] | None = None
) -> None:
    """Builds an image from Debian's packages and puts it into the cache. Raises ImageError.

    All its packages have the `versions` of the image of that name; an add-on needs those of the base as well. Without,
    they are the newest that the mirror has.
    """
    for program, package in PROGRAMS.items():
        if not shutil.which(program):
            raise ImageError(f"{program} is not installed; install it with: apt-get install {package}")
    with in_cache(definition.folder.parent):
        _build(definition, progress, mirror, versions)


def _build(definition: Definition, progress: Progress, mirror: str, versions: Mapping[str, Versions] | None) -> None:
    with replacing(definition.folder) as scratch:
        folder = scratch / "image"
        tree, packages = _tree(definition, scratch, progress, mirror, versions)
        if not definition.addon:
            progress("taking out the kernel")
            _take_out_boot_files(tree, folder)
        progress("compressing the image")
        compress(tree, folder / "image.squashfs", definition)
        write_manifest_of(definition, folder, packages)


def _tree(
    definition: Definition, scratch: Path, progress: Progress, mirror: str, versions: Mapping[str, Versions] | None
) -> tuple[Path, Versions]:
    """An archive of the files of an image, for an add-on of those beyond the base; and its packages."""
    parts = [definition, *([BASE] if definition.addon else [])]
    with temporary_folder() as beside:
        # mmdebstrap and apt read it as users of their own.
        beside.chmod(0o755)
        repository = beside / "packages"
        progress("looking for the packages")
        source = Mirror(definition, beside / "apt", mirror)
        if versions is None:
            versions = {one.name: source.newest(packages_of(one)) for one in parts}
        else:
            for one in parts:
                source.check(one.name, versions[one.name])
        progress("fetching the packages")
        source.fetch((versions[one.name] for one in parts), repository)
        trees = [scratch / f"{one.name}.tar" for one in parts]
        for one, tree in zip(parts, trees, strict=True):
            write_index(repository, versions[one.name])
            _install(one, versions[one.name], repository, tree, progress)
    tree = _beyond(trees[1], trees[0], scratch / "beyond.tar") if definition.addon else trees[0]
    return tree, versions[definition.name]


def packages_of(definition: Definition) -> list[str]:
    """The packages that are asked for; of an add-on, with those of the base beside which it can be installed."""
    base = [one for one in BASE.packages if one not in definition.excludes] if definition.addon else []
    return [*base, *definition.packages]


def _install(definition: Definition, versions: Versions, repository: Path, tree: Path, progress: Progress) -> None:
    """Installs packages, all of which a repository has, and archives their files. Raises ImageError."""
    installed = tree.with_suffix(".installed")
    argv = ["mmdebstrap", "--variant=essential", "--format=tar", f"--architectures={definition.architecture}"]
    argv += [f"--dpkgopt=path-exclude={pattern}" for pattern in definition.without]
    argv += [f"--customize-hook={COMPILING}", f"--include={','.join(sorted(versions))}"]
    # It has no suite.
    argv += ["", str(installed), f"deb [trusted=yes] copy:{repository} ./"]
    words: list[str] = []
    with subprocess.Popen(
        argv,
        env=_environment(definition),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            words = [*words[-20:], line]
            if line.startswith("I: "):
                # Which hook is run is of interest, and not its text.
                progress(line[3:].partition(" in shell:")[0].strip())
    if process.returncode != 0:
        hint = "" if os.geteuid() == 0 else f"\nwithout root, {UNPRIVILEGED}; or run it as root"
        raise ImageError(f"mmdebstrap ended with status {process.returncode}:\n{''.join(words)}{hint}")
    tidied(installed, tree, definition.source_date_epoch)
    installed.unlink()


def _environment(definition: Definition) -> dict[str, str]:
    """What scripts of packages may know of whoever builds: where programs are, and where temporary files go."""
    known = {name: value for name, value in os.environ.items() if name in ("PATH", "TMPDIR", "HOME")}
    # No initramfs is made: the lab has its own.
    fixed = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "INITRD": "No", "SOURCE_DATE_EPOCH": str(definition.source_date_epoch)}
    return known | fixed


def _take_out_boot_files(tree: Path, folder: Path) -> None:
    """Writes the kernel's ELF image, which QEMU boots without unpacking it first, and the first stage's archive."""
    with tarfile.open(tree) as tar:
        members = {name_of(member): member for member in tar if member.isfile()}
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


def _beyond(base: Path, tree: Path, rest: Path) -> Path:
    """The tree less what the base has: what an add-on consists of."""
    with tarfile.open(base) as tar:
        known = {name_of(member): _fingerprint(tar, member) for member in tar}
    with tarfile.open(tree) as tar, tarfile.open(rest, "w", format=tarfile.PAX_FORMAT) as out:
        for member in tar:
            if member.isdir() or known.get(name_of(member)) != _fingerprint(tar, member):
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


def write_manifest_of(definition: Definition, folder: Path, packages: Versions) -> None:
    """Writes the manifest of an image that lies in a folder, with the version of each of its packages."""
    write_manifest(folder, {"name": definition.name, "definition": definition.digest}, packages)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file: IO[bytes] | None = tar.extractfile(member)
    assert file is not None, f"{member.name} is no file"
    return file.read()
