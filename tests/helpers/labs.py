"""Labs that start nothing: the command that would be started, and what stands in an archive for a VM."""

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import shard
from tests.helpers.host import install_program
from tunbench.labs.native import lab as native
from tunbench.labs.vm.image_definition import BASE, Definition
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.shard import Shard

ADDON = Definition(name="addon", packages=("tshark",), addon=True)

Member = tuple[str, int, bytes, list[int]]


def small_images(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """The base image and an add-on in a cache of their own, less what they hold."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    for number, definition in enumerate((BASE, ADDON), start=1):
        definition.folder.mkdir(parents=True)
        (definition.folder / "image.squashfs").write_bytes(bytes(4096 * number))
        (definition.folder / "boot.cpio").write_bytes(b"first stage;")


def qemu_is_there(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A program of QEMU's name that tells its version, and the only one there is."""
    install_program(folder, "qemu-system-x86_64", "echo QEMU emulator version 7.2.22; echo Copyright")
    monkeypatch.setenv("PATH", str(folder))


def fadt(size: int = 244, flags: int = 0x84A5) -> bytes:
    """A table FADT of ACPI, as QEMU has it."""
    table = bytearray(size)
    table[:8] = b"FACP" + struct.pack("<I", size)
    struct.pack_into("<I", table, 24, 1)
    struct.pack_into("<I", table, 76, 0x608)
    table[91] = 4
    struct.pack_into("<I", table, 112, flags)
    table[208:220] = b"\1 " + bytes(2) + struct.pack("<Q", 0x608)
    table[9] = -sum(table) % 256
    return bytes(table)


def icount(shift: int) -> str:
    """The instruction clock of a VM, as its command has it."""
    return f"shift={shift},sleep=off,rr=record,rrfile=/dev/null"


def after(argv: list[str], word: str) -> list[str]:
    """What stands behind each of these words."""
    return [argv[index + 1] for index, one in enumerate(argv) if one == word]


class Started:
    """Stands for an execution, and remembers what it was given."""

    def __init__(self, argv: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
        self.argv, self.folder, self.environment = argv, folder, environment


def started(monkeypatch: pytest.MonkeyPatch, lab: Any, tmp_path: Path, one: Shard | None = None) -> Any:
    """What a lab starts for a shard; a VM boots afresh."""
    monkeypatch.setenv(templates.SWITCH, "off")
    for module in (templates, native):
        monkeypatch.setattr(module, "ProcessGroup", Started)
    return lab.start(one or shard("wireguard"), tmp_path)


def members(data: bytes) -> list[Member]:
    """Name, mode, content and all other fields of each member of a newc archive, up to its trailer."""
    found: list[Member] = []
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        size, name_size = fields[6], fields[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        start = -(-(at + 110 + name_size) // 4) * 4
        if name == "TRAILER!!!":
            return found
        found.append((name, fields[1], data[start : start + size], fields))
        at = -(-(start + size) // 4) * 4
