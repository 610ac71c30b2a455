"""What of an installed tree makes an image, and what would make every image another one."""

import io
import tarfile
from pathlib import Path

from tunbench.labs.vm.image_tree import name_of, tidied

MOMENT = 1_767_225_600

FILES = {
    "etc/ssh/ssh_host_ed25519_key": "random",
    "etc/ssh/ssh_host_ed25519_key.pub": "random",
    "etc/ssh/sshd_config": "kept",
    "etc/ssl/private/ssl-cert-snakeoil.key": "random",
    "etc/ssl/certs/ssl-cert-snakeoil.pem": "random",
    "etc/machine-id": "random",
    "etc/apt/sources.list": "of this machine",
    "etc/hostname": "of this machine",
    "etc/resolv.conf": "of this machine",
    "usr/bin/ping": "kept",
    "usr/lib/python3.11/os.py": "kept",
    "var/cache/debconf/config.dat": "of its order",
    "var/lib/apt/extended_states": "of its order",
    "var/lib/dpkg/status": "kept",
    "var/log/dpkg.log": "of now",
}
FOLDERS = ("etc/ssl/certs", "var/log/nginx", "var/cache/adduser", "dev", "run/lock")
LINKS = {"etc/ssl/certs/0a1b2c3d.0": "ssl-cert-snakeoil.pem", "vmlinuz": "boot/vmlinuz-6"}
CAPABILITY = {"SCHILY.xattr.security.capability": "\x01", "LIBARCHIVE.creationtime": "7"}


def installed(path: Path, names: list[str], mtime: int) -> Path:
    """An archive of what was installed, in some order and at some time."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            member = tarfile.TarInfo(f"./{name}")
            member.mtime, member.uname, member.mode = mtime, f"user{mtime}", 0o755
            if name in FOLDERS:
                member.type = tarfile.DIRTYPE
            if name in LINKS:
                member.type, member.linkname = tarfile.SYMTYPE, LINKS[name]
            if name == "usr/bin/ping":
                member.pax_headers = CAPABILITY
            content = FILES.get(name, "")
            content = content if content == "kept" else content + str(mtime)
            member.size = len(content) if name in FILES else 0
            tar.addfile(member, io.BytesIO(content.encode()))
    return path


def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    names = [*FILES, *FOLDERS, *LINKS]
    tidied(installed(tmp_path / "a.tar", names, 1), tmp_path / "one.tar", MOMENT)
    tidied(installed(tmp_path / "b.tar", names[::-1], 2**31), tmp_path / "two.tar", MOMENT)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_what_is_kept(tmp_path: Path) -> None:
    tidied(installed(tmp_path / "a.tar", [*FILES, *FOLDERS, *LINKS], 1), tmp_path / "one.tar", MOMENT)
    with tarfile.open(tmp_path / "one.tar") as tar:
        members = {name_of(member): member for member in tar}
        contents = {name: tar.extractfile(one).read() for name, one in members.items() if one.isfile()}  # type: ignore[union-attr]
    assert list(members) == sorted(members)
    kept = {name for name, content in FILES.items() if content == "kept"}
    assert set(members) == {*kept, *FOLDERS, "etc/hostname", "etc/resolv.conf", "vmlinuz"}
    assert (contents["etc/hostname"], contents["etc/resolv.conf"]) == (b"lab\n", b"")
    assert {contents[name] for name in kept} == {b"kept"}
    assert {member.mtime for member in members.values()} == {MOMENT}
    assert members["usr/bin/ping"].pax_headers == {"SCHILY.xattr.security.capability": "\x01"}
