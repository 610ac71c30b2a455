"""Images on a worker: what it has already, what it is sent, and the folder in which a lab finds those of one run.

What is sent lies in the cache by its digest. An image of the worker's own is used where its digest is the one that is
wanted, and never touched.
"""

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tunbench.executors.cluster.sent_image import TEMPLATE_KIND, SentImage, told
from tunbench.labs import image
from tunbench.labs.image import ImageError
from tunbench.labs.vm import apic_timer
from tunbench.labs.vm.templates import seal
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.cache_folder import cache

RECEIVED, VIEWS, INCOMING = "received", "views", ".incoming-"

FORGOTTEN_SECONDS = 3600.0
"""What is still incoming after so long without a byte was never finished: whoever sent it has died."""

SHARED = ((templates.FOLDER, 0o700), (apic_timer.FOLDER, 0o755))
"""Folders of the worker's cache that runs share: what lies in them is named by all that it was made from."""


async def lacking(images: Sequence[Any]) -> list[str]:
    """The digests of those of the images that are not there whole."""
    return await asyncio.to_thread(lambda: [one.digest for one in told(images) if not _found(one)])


async def begin(run: str, digest: str) -> None:
    """Makes room for an image that is sent. Raises OSError."""
    await asyncio.to_thread(_begin, run, digest)


def _begin(run: str, digest: str) -> None:
    received = _received()
    for old in received.glob(f"{INCOMING}*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > FORGOTTEN_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(_incoming(run, digest), ignore_errors=True)
    _incoming(run, digest).mkdir(parents=True)


async def take(run: str, digest: str, name: str, size: int, pieces: Sequence[tuple[int, bytes]]) -> None:
    """Takes pieces of a file, which has zeros elsewhere. Raises OSError."""
    await asyncio.to_thread(_take, _incoming(run, digest) / name, size, pieces)


def _take(path: Path, size: int, pieces: Sequence[tuple[int, bytes]]) -> None:
    if not path.resolve().is_relative_to(_received().resolve()):
        raise PermissionError(f"{path} is outside of the cache")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(size)
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)


async def end(run: str, one: Sequence[str]) -> None:
    """Puts an image that was sent into its place, where its files are what its digest says. Raises ImageError."""
    await asyncio.to_thread(_end, run, SentImage(*one))


def _end(run: str, one: SentImage) -> None:
    incoming, place = _incoming(run, one.digest), _received() / one.digest
    if one.kind == TEMPLATE_KIND:
        _end_template(one, incoming)
        return
    try:
        if not _is_whole(one, incoming):
            raise ImageError(f"the image {one.name} did not arrive as it was sent")
        if not _is_whole(one, place):
            shutil.rmtree(place, ignore_errors=True)
            try:
                incoming.rename(place)
            except OSError:
                # Another run may have sent the same meanwhile.
                if not _is_whole(one, place):
                    raise
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def _end_template(one: SentImage, incoming: Path) -> None:
    def make(folder: Path) -> None:
        for path in incoming.iterdir():
            path.rename(folder / path.name)

    try:
        digests = {path.name: seal.digest(path) for path in incoming.iterdir()}
        if hashlib.sha256(seal.text(digests).encode()).hexdigest() != one.digest:
            raise ImageError(f"the template {one.name} did not arrive as it was sent")
        with templates.shelf().held(one.name, make):
            pass
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


async def drop(run: str) -> None:
    """Takes away what came of images that were never finished."""
    for path in _received().glob(f"{INCOMING}{run}-*"):
        await asyncio.to_thread(shutil.rmtree, path, True)


def view(images: Sequence[SentImage]) -> Path:
    """A folder that a lab can take for its cache, in which these images lie. Raises ImageError and OSError."""
    links: dict[str, Path] = {}
    for one in images:
        if (found := _found(one)) is None:
            raise ImageError(f"the image {one.name} is not there as it was sent")
        links[one.place] = found
    for name, mode in SHARED:
        links[name] = cache() / name
        links[name].mkdir(mode=mode, parents=True, exist_ok=True)
    named = hashlib.sha256("\n".join(f"{place} {links[place]}" for place in sorted(links)).encode()).hexdigest()[:16]
    folder = _received() / VIEWS / named
    for place, target in links.items():
        _link(folder / place, target)
    return folder


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        new = link.with_name(f".{link.name}-{os.getpid()}-{time.monotonic_ns()}")
        new.symlink_to(target)
        new.replace(link)


def _found(one: SentImage) -> Path | None:
    """Where an image lies that is whole: the worker's own, or one that was sent."""
    if one.kind == TEMPLATE_KIND:
        # One that it has saved itself is as good.
        return one.folder if seal.whole(one.folder) else None
    places = (one.folder.absolute(), (_received() / one.digest).absolute())
    return next((place for place in places if _is_whole(one, place)), None)


_whole: dict[Path, tuple[object, ...]] = {}
"""Folders that this process has found whole, and what their files looked like."""


def _is_whole(one: SentImage, folder: Path) -> bool:
    with suppress(OSError, ImageError):
        looks = (one.digest, *_looks(folder))
        if _whole.get(folder) == looks:
            return True
        if image.check(one.lying(folder))["digest"] == one.digest:
            _whole[folder] = looks
            return True
    return False


def _looks(folder: Path) -> list[object]:
    found = [(path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(str(path), one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for path, one in found]


def _received() -> Path:
    return cache() / RECEIVED


def _incoming(run: str, digest: str) -> Path:
    return _received() / f"{INCOMING}{run}-{digest}"
