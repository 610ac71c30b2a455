import lzma
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

import tunbench
from tests.helpers.images import ADDON, SMALL
from tests.helpers.mirrors import ALWAYS, APT, Package, debian, installs_here, publish
from tunbench.labs import image
from tunbench.labs.image import ImageError
from tunbench.labs.replaced_folder import BUILDING
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE, BOOT_MODULES, Definition
from tunbench.plan.cache_folder import cache


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


FAILING = """\
echo "I: unpacking" >&2
echo "I: running --hook in shell: rm -r x" >&2
echo "E: it does not fit" >&2
exit 25"""


def test_a_build_sweeps_what_a_killed_one_left_and_can_be_swept_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installs_here(monkeypatch, tmp_path / "bin")
    left = ADDON.folder.parent / f"{BUILDING}4194305-x"
    left.mkdir(parents=True)

    def tree(definition: Definition, scratch: Path, *_: object) -> tuple[Path, dict[str, str]]:
        assert scratch.name.startswith(f"{BUILDING}{os.getpid()}-")
        return scratch, {"libreswan": "1"}

    monkeypatch.setattr(image_build, "_tree", tree)
    monkeypatch.setattr(image_build, "compress", lambda *_: None)
    image_build.build(ADDON, print)
    assert image.check(ADDON)["packages"] == {"libreswan": "1"}
    assert list(ADDON.folder.parent.iterdir()) == [ADDON.folder]


@APT
def test_a_build_that_fails_says_its_last_words_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installs_here(monkeypatch, tmp_path / "bin")
    program(tmp_path / "bin", "mmdebstrap", FAILING)
    told: list[str] = []
    with pytest.raises(
        ImageError, match="status 25:\nI: unpacking\nI: running --hook in shell: rm -r x\nE: it does not fit"
    ):
        image_build.build(SMALL, told.append, publish(tmp_path / "mirror", [*ALWAYS, Package("kmod")]))
    assert "unpacking" in told and "running --hook" in told
    assert list((cache() / "images").iterdir()) == []


@APT
def test_two_users_get_one_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installs_here(monkeypatch, tmp_path / "bin")
    digests = set()
    for number, packages in enumerate((debian(), debian()[::-1])):
        mirror = publish(tmp_path / f"mirror-{number}", packages)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{number}"))
        monkeypatch.setenv("TZ", ("UTC", "Asia/Kathmandu")[number])
        image_build.build(BASE, lambda _: None, mirror)
        digests.add(image.check(BASE)["digest"])
        assert image.check(BASE)["packages"].keys() == {one.name for one in packages}
    assert len(digests) == 1


@APT
def test_an_add_on_has_what_lies_beyond_the_base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installs_here(monkeypatch, tmp_path / "bin")
    mirror = publish(tmp_path / "mirror", [*debian(), Package("libreswan")])
    image_build.build(ADDON, lambda _: None, mirror)
    with tarfile.open(ADDON.folder / "image.squashfs") as tar:
        assert [member.name for member in tar] == ["./usr/share/libreswan", "./var/lib/dpkg/status"]
    packages = image.check(ADDON)["packages"]
    assert packages.keys() == {*BASE.packages, "libreswan", "dash", "apt-utils"} - {*ADDON.excludes}


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
        "small": "a707d56e96c0",
        "containers": "b9ef8007f4b2",
        "coturn": "bcd2f196160b",
        "libreswan": "51084973ef03",
        "miniupnpd": "4e0e975b3fa1",
        "mosquitto": "91044da3be43",
        "ngtcp2": "519df770f027",
        "nix": "8e0c4b1f7253",
        "rist": "f33738469a36",
        "tayga": "b2fed4e2cfd5",
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


def test_an_addon_is_installed_beside_the_base_but_for_what_it_excludes() -> None:
    assert {"openvpn", "tinc"} <= set(BASE.packages)
    assert set(image_build.packages_of(ADDON)) == (set(BASE.packages) | {"libreswan"}) - {"openvpn", "tinc"}


def test_the_base_excludes_nothing() -> None:
    assert image_build.packages_of(BASE) == list(BASE.packages)


@pytest.mark.parametrize("name", ADDONS)
def test_what_an_addon_excludes_is_in_the_base(name: str) -> None:
    addon = ADDONS[name]
    assert addon.addon and addon.name == name
    assert set(addon.excludes) <= set(BASE.packages)
    assert not set(addon.packages) & set(addon.excludes)
