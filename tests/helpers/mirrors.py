"""A mirror of Debian with small packages, in states that follow one another, and an mmdebstrap that installs them."""

import hashlib
import io
import lzma
import shutil
import sys
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.host import install_program
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE, BOOT_MODULES

APT = pytest.mark.skipif(not (shutil.which("apt-get") and shutil.which("dpkg-deb")), reason="there is no apt here")


class Package(NamedTuple):
    """A package of a mirror."""

    name: str
    version: str = "1.0"
    more: str = ""
    files: Mapping[str, bytes] = {}


KERNEL = {
    "boot/vmlinuz-6": lzma.compress(b"\x7fELF kernel"),
    "usr/lib/modules/6/modules.dep": "".join(f"kernel/{name}.ko:\n" for name in BOOT_MODULES).encode(),
    **{f"usr/lib/modules/6/kernel/{name}.ko": name.encode() for name in BOOT_MODULES},
    "usr/bin/busybox": b"busybox",
}

ALWAYS = (Package("dash", more="Essential: yes\n"), Package("apt-utils", more="Priority: required\n"))


def debian(openssl: str = "3.0") -> list[Package]:
    """All that the base image asks for, with one version of openssl."""
    files = {"linux-image-amd64": KERNEL}
    versions = {"openssl": openssl}
    return [*ALWAYS, *(Package(name, versions.get(name, "1.0"), "", files.get(name, {})) for name in BASE.packages)]


def publish(mirror: Path, packages: Iterable[Package]) -> str:
    """Makes a mirror of these packages, in their order; returns its line of a sources.list."""
    shutil.rmtree(mirror, ignore_errors=True)
    (mirror / "pool").mkdir(parents=True)
    index = "\n".join(_paragraph(mirror, one) for one in packages).encode()
    lists = mirror / "dists" / "bookworm"
    (lists / "main" / "binary-amd64").mkdir(parents=True)
    (lists / "main" / "binary-amd64" / "Packages").write_bytes(index)
    digest = hashlib.sha256(index).hexdigest()
    (lists / "Release").write_text(
        "Suite: bookworm\nCodename: bookworm\nComponents: main\nArchitectures: amd64\n"
        f"SHA256:\n {digest} {len(index)} main/binary-amd64/Packages\n"
    )
    for path in [mirror, *mirror.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return f"deb [trusted=yes] copy:{mirror} bookworm main"


def _paragraph(mirror: Path, one: Package) -> str:
    name = f"{one.name}_{one.version.replace(':', '%3a')}_amd64.deb"
    control = f"Package: {one.name}\nVersion: {one.version}\nArchitecture: amd64\n{one.more}Description: a package\n"
    content = _deb(control, {**one.files, f"usr/share/{one.name}": one.version.encode()})
    (mirror / "pool" / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return f"{control}Filename: pool/{name}\nSize: {len(content)}\nSHA256: {digest}\n"


def _deb(control: str, files: Mapping[str, bytes]) -> bytes:
    """A package as deb(5) has it."""
    members = {"debian-binary": b"2.0\n", "control.tar": _tar({"control": control.encode()}), "data.tar": _tar(files)}
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts.append(f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content)
        parts.append(b"\n" * (len(content) % 2))
    return b"".join(parts)


def _tar(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def installs_here(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Lets images be built of a mirror's packages by a program that leaves keys and logs, in an order of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "installer.py").write_text(INSTALLER)
    install_program(folder, "mmdebstrap", f'exec {sys.executable} {folder}/installer.py "$@"')
    install_program(folder, "tar2sqfs")
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setattr(image_build, "compress", lambda tree, target, definition: shutil.copyfile(tree, target))


INSTALLER = """\
import os, random, subprocess, sys, tarfile, io, time
*_, tree, source = sys.argv[1:]
repository = source.split("copy:")[1].split()[0]
index = open(repository + "/Packages").read()
files = {"etc/ssh/ssh_host_rsa_key": os.urandom(20), "var/log/apt.log": repository.encode(), "etc/hostname": b"mine"}
# What is installed may depend on the order of the index alone.
files["var/lib/dpkg/status"] = index.encode()
names = [line.split("./")[1] for line in index.splitlines() if line.startswith("Filename:")]
with tarfile.open(tree, "w") as out:
    for name in names:
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", f"{repository}/{name}"], stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            files |= {member.name[2:]: tar.extractfile(member).read() for member in tar}
    for name, content in random.sample(list(files.items()), len(files)):
        member = tarfile.TarInfo("./" + name)
        member.size, member.mtime = len(content), int(time.time())
        out.addfile(member, io.BytesIO(content))
"""
"""What stands for mmdebstrap."""
