"""The APIC's timer, for a machine whose kernel is told another rate of the TSC than QEMU counts it at.

HPET counts by QEMU's clock, and its interrupts come early where the kernel's second is longer: it sets each timer ten
times and more before it is due. The APIC's timer is measured against the TSC, at the rate that the kernel was told, and
comes in time. The kernel takes it only where nothing contradicts: no HPET, no PIT, and no ACPI PM timer. That is what
ACPI calls a hardware-reduced platform (ACPI 6.5, section 4.1). QEMU's q35 is none, so its table FADT is edited, and
given to the kernel before its initrd (Linux, Documentation/admin-guide/acpi/initrd_table_override.rst).
"""

import hashlib
import secrets
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

from tunbench.labs.image import ImageError
from tunbench.labs.swept_folder import swept
from tunbench.labs.vm import cpio
from tunbench.plan.cache_folder import cache

FOLDER = "images/acpi"
"""Where tables are kept in a cache."""

PATH_IN_INITRD = "kernel/firmware/acpi/facp.aml"

SIGNATURE = b"FACP"

LENGTH, CHECKSUM, OEM_REVISION, PM_TIMER, PM_TIMER_LENGTH, FLAGS, X_PM_TIMER = 4, 9, 24, 76, 91, 112, 208
"""Offsets in the FADT. Source: ACPI 6.5, table 5.9."""

HW_REDUCED_ACPI = 1 << 20
"""The flag of a hardware-reduced platform. Source: ACPI 6.5, table 5.10."""

ADDRESS_STRUCTURE_BYTES = 12


def archive(identity: str, shown: Callable[[Path], bytes]) -> bytes:
    """What comes before the initrd of a machine with the APIC's timer.

    `shown` boots a VM of this `identity`, QEMU and its options, whose files it writes to a folder that is swept, and
    returns the FADT that it has; it is called once, and what came of it is kept in the cache. Raises OSError and
    ImageError.
    """
    kept = cache() / FOLDER / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.aml"
    if not (kept.is_file() and _sound(kept.read_bytes())):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with swept(kept.with_name(f".asking-{secrets.token_hex(4)}")) as folder:
            _keep(kept, reduced(shown(folder)))
    return cpio.archive({PATH_IN_INITRD: (cpio.FILE, kept.read_bytes())})


def reduced(table: bytes) -> bytes:
    """The FADT of a machine, said to be hardware-reduced and without a PM timer. Raises ImageError."""
    if not _sound(table):
        raise ImageError(
            f"QEMU gave the VM no sound table FADT of ACPI ({table[:20]!r}), which this machine needs: take a"
            " cpu.speed of 1000, 500, 250 or 125, or the QEMU of Debian 12"
        )
    edited = bytearray(table)
    # A table replaces another one only where its revision is higher.
    _change(edited, OEM_REVISION, lambda revision: revision + 1)
    _change(edited, FLAGS, lambda flags: flags | HW_REDUCED_ACPI)
    _change(edited, PM_TIMER, lambda _: 0)
    edited[PM_TIMER_LENGTH] = 0
    edited[X_PM_TIMER : X_PM_TIMER + ADDRESS_STRUCTURE_BYTES] = bytes(ADDRESS_STRUCTURE_BYTES)
    edited[CHECKSUM] = 0
    edited[CHECKSUM] = -sum(edited) % 256
    return bytes(edited)


def _change(table: bytearray, offset: int, change: Callable[[int], int]) -> None:
    struct.pack_into("<I", table, offset, change(*struct.unpack_from("<I", table, offset)))


def _sound(table: bytes) -> bool:
    """Whether it is a whole FADT: its bytes sum up to 0 (ACPI 6.5, section 5.2.6)."""
    whole = len(table) >= X_PM_TIMER + ADDRESS_STRUCTURE_BYTES and table.startswith(SIGNATURE)
    return whole and struct.unpack_from("<I", table, LENGTH) == (len(table),) and sum(table) % 256 == 0


def _keep(path: Path, table: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(table)
    Path(file.name).replace(path)
