"""One image for all: built by root and by another user, in two time zones and locales, file by file the same."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import other_user
from tunbench.labs import image
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE

pytestmark = [pytest.mark.vm, pytest.mark.long]


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of another user, which that may reach."""
    folder = Path("/tmp") / f"tunbench-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def files_of(squashfs: Path) -> dict[str, tuple[Any, ...]]:
    """All that an image has, by name: kind, mode, owner, time, attributes, and a digest of its content."""
    data = subprocess.run(["sqfs2tar", str(squashfs)], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        return {
            one.name: (
                *(one.type, one.mode, one.uid, one.gid, one.mtime, one.linkname),
                *(one.devmajor, one.devminor, sorted(one.pax_headers.items())),
                hashlib.sha256(tar.extractfile(one).read()).hexdigest() if one.isfile() else "",  # type: ignore[union-attr]
            )
            for one in tar
        }


@pytest.mark.reliability
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [BASE.name, *ADDONS])
def test_an_image_is_built_by_two_users_in_two_time_zones_and_locales(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    definition = {BASE.name: BASE, **ADDONS}[name]
    with monkeypatch.context() as mine:
        for variable, value in {"XDG_CACHE_HOME": str(tmp_path), "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}.items():
            mine.setenv(variable, value)
        image_build.build(definition, print)
        here, manifest = definition.folder, image.check(definition)
    theirs = {"TZ": "Asia/Kathmandu", "LC_ALL": "POSIX", "LANGUAGE": "de"}
    done = other_user.tunbench(home, other_user.moved_in(home) | theirs, ["lab", "build", name])
    assert done.returncode == 0, done.stderr
    there = home / "cache" / "tunbench" / "images" / definition.folder.name
    files = files_of(here / "image.squashfs")
    others = files_of(there / "image.squashfs")
    assert {one for one in files.keys() | others.keys() if files.get(one) != others.get(one)} == set()
    assert json.loads((there / "manifest.json").read_text()) == manifest
    record_property("reliability", f"{len(files)} files, equal to the byte")
