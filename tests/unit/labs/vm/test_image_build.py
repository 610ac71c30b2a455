import lzma
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import tunbench
from tests.helpers.images import ADDON, SMALL
from tunbench.labs.image import ImageError, cache
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE, BOOT_MODULES, Definition


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_building_needs_its_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="apt-get install mmdebstrap"):
        image_build.build(SMALL, print)
    assert not SMALL.folder.exists()


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_build_that_fails_says_its_last_words_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, "mmdebstrap", 'echo "I: downloading" >&2; echo "E: cannot reach it" >&2; exit 25')
    program(tmp_path, "tar2sqfs", "")
    program(tmp_path, "apt-get", "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    told: list[str] = []
    with pytest.raises(ImageError, match="mmdebstrap ended with status 25:\nI: downloading\nE: cannot reach it"):
        image_build.build(SMALL, told.append)
    assert "downloading" in told
    assert list((cache() / "images").iterdir()) == []


# What `apt-get indextargets` printed on a Debian 12 with updates, security and a source of somebody else.
TARGETS = """\
https://deb.example.org/debian/ bookworm main Debian
https://deb.example.org/debian/ bookworm main Debian
https://deb.example.org/debian/ bookworm contrib Debian
https://deb.example.org/debian/ bookworm-updates main Debian
https://deb.example.org/debian-security/ bookworm-security main Debian
https://deb.example.org/debian/ trixie main Debian
https://other.example.org/ bookworm main Some Other Origin
https://nothing.example.org/ bookworm main
"""


def test_the_machines_own_sources_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "targets").write_text(TARGETS)
    program(tmp_path, "apt-get", f'test "$1" = indextargets && echo "$@" >{tmp_path}/asked && cat {tmp_path}/targets')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert image_build.machine_sources("bookworm") == [
        "deb https://deb.example.org/debian-security/ bookworm-security main",
        "deb https://deb.example.org/debian/ bookworm main",
        "deb https://deb.example.org/debian/ bookworm-updates main",
    ]
    asked = (tmp_path / "asked").read_text()
    assert "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)" in asked
    assert "Created-By: Packages" in asked
    assert image_build.machine_sources("sid") == []


def test_a_machine_without_apt_has_no_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert image_build.machine_sources("bookworm") == []


# From the modules.dep of Debian 12, which lists what a module needs with the most direct first.
DEPENDENCIES = """\
kernel/drivers/acpi/nfit/nfit.ko: kernel/drivers/nvdimm/libnvdimm.ko
kernel/drivers/nvdimm/libnvdimm.ko:
kernel/drivers/nvdimm/nd_pmem.ko: kernel/drivers/nvdimm/nd_btt.ko kernel/drivers/nvdimm/libnvdimm.ko
kernel/drivers/nvdimm/nd_btt.ko: kernel/drivers/nvdimm/libnvdimm.ko
kernel/fs/squashfs/squashfs.ko:
kernel/fs/overlayfs/overlay.ko:
"""


def test_modules_come_behind_what_they_need_and_once() -> None:
    order = [Path(path).name for path in image_build._in_order(DEPENDENCIES, BOOT_MODULES)]
    assert order == ["libnvdimm.ko", "nfit.ko", "nd_btt.ko", "nd_pmem.ko", "squashfs.ko", "overlay.ko"]
    assert image_build._in_order(DEPENDENCIES, ["overlay"]) == ["kernel/fs/overlayfs/overlay.ko"]


def test_a_kernel_is_unpacked_whatever_lies_behind_it() -> None:
    assert image_build._unpacked(b"MZ boot code" + lzma.compress(b"\x7fELF kernel") + b"tail") == b"\x7fELF kernel"
    with pytest.raises(ImageError, match="not compressed with xz"):
        image_build._unpacked(b"MZ boot code")


def test_the_digest_of_a_definition_follows_all_that_it_says() -> None:
    again = Definition(name="small", packages=("kmod",))
    others = [
        replace(SMALL, name="other"),
        replace(SMALL, packages=("kmod", "procps")),
        replace(SMALL, addon=True),
        replace(SMALL, excludes=("procps",)),
        replace(SMALL, suite="trixie"),
        replace(SMALL, source_date_epoch=1),
        replace(SMALL, without=()),
        replace(SMALL, format=("another", *SMALL.format[1:])),
    ]
    assert again.digest == SMALL.digest
    assert len({SMALL.digest, *(other.digest for other in others)}) == 1 + len(others)


def test_the_digest_of_a_definition_is_the_same_in_every_version() -> None:
    assert {one.name: one.digest[:12] for one in (SMALL, *ADDONS.values())} == {
        "small": "0210b188569c",
        "libreswan": "1a378ce141d2",
        "mosquitto": "c5aeb55f7d1c",
    }, "who has built an image would have to build it anew"


def test_the_digest_of_a_definition_is_the_same_on_every_machine(home: Path) -> None:
    program = "from tunbench.labs.vm.image_definition import BASE; print(BASE.digest)"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(tunbench.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == BASE.digest
    assert BASE.folder == home / "tunbench" / "images" / f"base-{BASE.digest[:12]}"


def test_images_lie_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert len({one.folder for one in (BASE, *ADDONS.values())}) == 1 + len(ADDONS)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert cache() == tmp_path / "me" / ".cache" / "tunbench"


def asked_for(definition: Definition, monkeypatch: pytest.MonkeyPatch, folder: Path) -> set[str]:
    """The packages that mmdebstrap is told to install."""
    program(folder, "mmdebstrap", f'for word; do echo "$word"; done >{folder}/asked')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    image_build._debootstrap(definition, folder / "tree.tar", print, "deb file:///mirror bookworm main")
    words = (folder / "asked").read_text().splitlines()
    [included] = [word for word in words if word.startswith("--include=")]
    return set(included.removeprefix("--include=").split(","))


def test_an_addon_is_installed_beside_the_base_but_for_what_it_excludes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert {"openvpn", "tinc"} <= set(BASE.packages)
    assert asked_for(ADDON, monkeypatch, tmp_path) == (set(BASE.packages) | {"libreswan"}) - {"openvpn", "tinc"}


def test_the_base_excludes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert asked_for(BASE, monkeypatch, tmp_path) == set(BASE.packages)


@pytest.mark.parametrize("name", ADDONS)
def test_what_an_addon_excludes_is_in_the_base(name: str) -> None:
    addon = ADDONS[name]
    assert addon.addon and addon.name == name
    assert set(addon.excludes) <= set(BASE.packages)
    assert not set(addon.packages) & set(addon.excludes)
