"""A read-only image of programs in the cache, and whether its files are what its manifest says."""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

STILL = 2.0
"""Seconds for which nobody has touched a file whose digest is remembered within a process, as long as its times stay:
the base image has 470 MB. They move by a tick of the kernel, so that two changes at once could look like one."""


MANIFEST = "manifest.json"
"""The file that says what an image holds. It is written last."""


class ImageError(Exception):
    """An image cannot be built or used; the message says why, and the mend."""


class Image(Protocol):
    """A read-only image in the cache: `folder` has image.squashfs and the manifest."""

    @property
    def name(self) -> str:
        """What messages and manifests call it."""

    @property
    def folder(self) -> Path:
        """Where it lies in the cache."""

    @property
    def build(self) -> str:
        """The command that builds it."""

    @property
    def rebuild(self) -> str:
        """The command that builds it although something is there."""


def is_there(definition: Image) -> bool:
    """Whether an image was built, as far as this user may look; it may be damaged since."""
    return os.access(definition.folder / MANIFEST, os.F_OK)


def is_whole(definition: Image) -> bool:
    """Whether its files are all there, at a glance: what is in them is looked at by `check`, which takes its time."""
    try:
        files = json.loads((definition.folder / MANIFEST).read_text())["files"]
        return all((definition.folder / name).is_file() for name in files)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def check(definition: Image) -> dict[str, Any]:
    """The manifest of an image whose files are what it says. Raises ImageError."""
    folder = definition.folder
    mend = f"build it anew with: {definition.rebuild}"
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        files = dict(manifest["files"])
        complete = isinstance(manifest["packages"], dict) and manifest["digest"] == _digest_of(files)
    except FileNotFoundError:
        raise ImageError(f"the image {definition.name} is not built; build it with: {definition.build}") from None
    except OSError as error:
        raise ImageError(
            f"the image {definition.name} cannot be read: {error.strerror} ({error.filename or folder}); make it "
            "readable, or name another cache with XDG_CACHE_HOME"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ImageError(f"{folder / MANIFEST} is damaged; {mend}") from None
    if not complete:
        raise ImageError(f"{folder / MANIFEST} is damaged; {mend}")
    for name, expected in files.items():
        try:
            found = _digest(folder / name)
        except OSError as error:
            raise ImageError(f"the image {definition.name} is damaged: {error}; {mend}") from None
        if found != expected:
            raise ImageError(
                f"the image {definition.name} is damaged: {folder / name} is not what its manifest says; {mend}"
            )
    return manifest


def installed_packages(definitions: Iterable[Image]) -> dict[str, str]:
    """The version of every package in those of the images that are built."""
    versions: dict[str, str] = {}
    for definition in definitions:
        try:
            versions |= json.loads((definition.folder / MANIFEST).read_text())["packages"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return versions


def write_manifest(folder: Path, head: dict[str, Any], packages: Mapping[str, str]) -> None:
    """Writes the manifest of what lies in a folder: `head`, and every file with its SHA-256."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {str(path.relative_to(folder)): _digest(path) for path in paths}
    manifest = {**head, "digest": _digest_of(files), "files": files, "packages": dict(sorted(packages.items()))}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def _digest_of(files: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    found = path.stat()
    if time.time_ns() - found.st_ctime_ns < STILL * 1e9:
        return _digest_now(path)
    return _remembered_digest(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(maxsize=256)
def _remembered_digest(path: Path, *untouched: int) -> str:
    return _digest_now(path)


def _digest_now(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
