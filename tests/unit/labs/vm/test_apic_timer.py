"""The table by which a VM has the APIC's timer alone."""

import struct
from pathlib import Path

import pytest

from tests.helpers.labs import fadt
from tunbench.labs.image import ImageError
from tunbench.labs.vm import apic_timer, cpio


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tunbench" / "images" / "acpi"


def asked(folder: Path) -> bytes:
    (folder / "events.jsonl").write_bytes(fadt())
    return (folder / "events.jsonl").read_bytes()


def never(folder: Path) -> bytes:
    raise AssertionError("it is in the cache")


def test_a_table_says_hardware_reduced_and_no_pm_timer() -> None:
    edited = apic_timer.reduced(fadt())
    assert sum(edited) % 256 == 0
    assert struct.unpack_from("<I", edited, 112) == (0x84A5 | 1 << 20,)
    assert struct.unpack_from("<I", edited, 24) == (2,), "an equal revision replaces nothing"
    assert struct.unpack_from("<I", edited, 76) == (0,)
    assert edited[91] == 0
    assert edited[208:220] == bytes(12)
    same = [n for n in range(244) if edited[n] == fadt()[n]]
    assert {0, 36, 40, 140} <= set(same), "where other tables lie is kept"


@pytest.mark.parametrize("spoilt", [b"", b"FACP", fadt()[:-1], fadt().replace(b"FACP", b"DSDT"), fadt()[:-1] + b"\1"])
def test_what_is_no_table_is_refused(spoilt: bytes) -> None:
    with pytest.raises(ImageError, match=r"no sound table FADT.*take a cpu\.speed of 1000"):
        apic_timer.reduced(spoilt)


def test_a_vm_is_asked_once() -> None:
    first = apic_timer.archive("QEMU 7.2", asked)
    assert first == apic_timer.archive("QEMU 7.2", never)
    assert first == cpio.archive({apic_timer.PATH_IN_INITRD: (cpio.FILE, apic_timer.reduced(fadt()))})


def test_another_qemu_is_asked_anew_and_a_torn_file_is_made_anew(empty_cache: Path) -> None:
    first = apic_timer.archive("QEMU 7.2", asked)
    assert apic_timer.archive("QEMU 10.0", lambda _: fadt(flags=5)) != first
    for kept in empty_cache.iterdir():
        kept.write_bytes(kept.read_bytes()[:100])
    assert apic_timer.archive("QEMU 7.2", asked) == first
    assert len(list(empty_cache.iterdir())) == 2
