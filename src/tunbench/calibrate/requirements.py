"""What of the set this host can run natively, and the mend for what it cannot."""

import shutil
from collections.abc import Collection, Iterable
from typing import NamedTuple

from tunbench.calibrate.items import CIPHERS, PATHS, CipherItem, Item, PathItem
from tunbench.calibrate.sides import native_order
from tunbench.doctor import native_requirements
from tunbench.doctor.native_requirements import APT, Lack
from tunbench.labs import image
from tunbench.labs.vm import qemu
from tunbench.labs.vm.image_definition import BASE


class MeasureError(Exception):
    """Nothing of this host can be measured; the message says why, and the mend."""


class Missing(NamedTuple):
    """An item that was not measured, why, and the mend."""

    item: Item
    why: str
    mend: str


class Runnable(NamedTuple):
    """What of the set can be run on this host, and what cannot."""

    paths: tuple[PathItem, ...]
    ciphers: tuple[CipherItem, ...]
    missing: tuple[Missing, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """All that can be run."""
        return (*self.paths, *self.ciphers)

    def only(self, measured: Collection[Item]) -> "Runnable":
        """The same without what was not measured: there is nothing to compare it with."""
        return self._replace(
            paths=tuple(path for path in self.paths if path in measured),
            ciphers=tuple(cipher for cipher in self.ciphers if cipher in measured),
        )


def runnable() -> Runnable:
    """What of the set this host can run. Raises MeasureError where it is nothing, or the VM cannot be started."""
    # Told before the native half is measured for nothing. LabError and ImageError have mends of their own.
    qemu.check_installed()
    image.check(BASE)
    found = _sorted_out([(path, lacks_of_path(path)) for path in PATHS] + [(one, lacks_openssl()) for one in CIPHERS])
    if not (found.paths or found.ciphers):
        mends = dict.fromkeys(f"{one.why}: {one.mend}" for one in found.missing)
        raise MeasureError(f"nothing of the set can run natively on this host; it lacks {'; '.join(mends)}")
    return found


def lacks_of_path(path: PathItem) -> list[Lack]:
    """What this host lacks for a path natively."""
    return native_requirements.of_plan(native_order([path]).shards, {})


def lacks_openssl() -> list[Lack]:
    """What this host lacks for the ciphers natively."""
    return [] if shutil.which("openssl") else [Lack("the program openssl", f"{APT}openssl")]


def _sorted_out(examined: Iterable[tuple[Item, list[Lack]]]) -> Runnable:
    paths: list[PathItem] = []
    ciphers: list[CipherItem] = []
    missing: list[Missing] = []
    for item, lacks in examined:
        if lacks:
            mends = dict.fromkeys(lack.mend for lack in lacks)
            missing.append(Missing(item, ", ".join(lack.what for lack in lacks), "; ".join(mends)))
        elif isinstance(item, PathItem):
            paths.append(item)
        else:
            ciphers.append(item)
    return Runnable(tuple(paths), tuple(ciphers), tuple(missing))
