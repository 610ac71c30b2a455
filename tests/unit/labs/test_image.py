"""Whether an image is what its manifest says, and which packages images have."""

import json
import time
from pathlib import Path

import pytest

from tests.helpers.images import ADDON, SMALL, built
from tunbench.labs import image
from tunbench.labs.image import ImageError
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import Definition


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_whole_image_has_its_manifest() -> None:
    folder = built()
    manifest = image.check(SMALL)
    assert manifest["packages"] == {"kmod": "30"}
    assert set(manifest["files"]) == {"vmlinux", "boot.cpio", "image.squashfs"}
    assert manifest["definition"] == SMALL.digest
    assert manifest == json.loads((folder / "manifest.json").read_text())


def test_the_digest_follows_the_files() -> None:
    folder = built()
    before = image.check(SMALL)["digest"]
    (folder / "manifest.json").unlink()
    image_build.write_manifest_of(SMALL, folder, {})
    assert image.check(SMALL)["digest"] == before
    (folder / "manifest.json").unlink()
    (folder / "vmlinux").write_bytes(b"other")
    image_build.write_manifest_of(SMALL, folder, {})
    assert image.check(SMALL)["digest"] != before


def test_a_missing_image_says_how_to_build_it() -> None:
    with pytest.raises(ImageError, match=r"^the image small is not built; build it with: tunbench lab build small$"):
        image.check(SMALL)


@pytest.mark.parametrize("name", ["vmlinux", "boot.cpio", "image.squashfs"])
def test_one_byte_of_damage_is_noticed(name: str) -> None:
    file = built() / name
    data = bytearray(file.read_bytes())
    data[50] ^= 1
    file.write_bytes(data)
    message = f"the image small is damaged: .*{name} is not what its manifest says; build it anew with: .* --force"
    with pytest.raises(ImageError, match=message):
        image.check(SMALL)


@pytest.mark.parametrize(("still", "read"), [(-1.0, 1), (60.0, 2)])
def test_a_file_is_read_once_where_nobody_has_touched_it_for_long(
    still: float, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, digest = built() / "vmlinux", image._digest_now
    asked: list[Path] = []

    def counted(path: Path) -> str:
        asked.append(path)
        return digest(path)

    monkeypatch.setattr(image, "STILL", still)
    monkeypatch.setattr(image, "_digest_now", counted)
    for _ in range(2):
        image.check(SMALL)
    assert asked.count(file) == read
    # A tick of the kernel later, as long as before.
    time.sleep(0.05)
    file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    with pytest.raises(ImageError, match=r"vmlinux is not what its manifest says"):
        image.check(SMALL)


def test_a_file_that_is_gone_is_noticed() -> None:
    (built() / "boot.cpio").unlink()
    with pytest.raises(ImageError, match=r"the image small is damaged: .*No such file.*boot\.cpio.*--force"):
        image.check(SMALL)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"files": 3}', '{"packages": {}}', "\xff\xfe"])
def test_a_damaged_manifest_is_noticed(text: str) -> None:
    (built() / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ImageError, match=r"manifest\.json is damaged; build it anew with: tunbench lab build --force"):
        image.check(SMALL)


@pytest.mark.parametrize("text", ['{"files": {}}', '{"files": {}, "packages": {}}'])
def test_a_manifest_that_lacks_something_is_noticed(text: str) -> None:
    (built() / "manifest.json").write_text(text)
    with pytest.raises(ImageError, match=r"manifest\.json is damaged"):
        image.check(SMALL)


def left_behind(definition: Definition, packages: dict[str, str]) -> None:
    """The manifest of an image."""
    definition.folder.mkdir(parents=True)
    image_build.write_manifest_of(definition, definition.folder, packages)


def test_versions_are_those_of_the_images_that_are_built() -> None:
    assert image.installed_packages([SMALL, ADDON]) == {}
    left_behind(SMALL, {"kmod": "30", "procps": "4"})
    assert image.installed_packages([SMALL, ADDON]) == {"kmod": "30", "procps": "4"}
    left_behind(ADDON, {"kmod": "31", "libreswan": "4.10"})
    assert image.installed_packages([SMALL, ADDON]) == {"kmod": "31", "procps": "4", "libreswan": "4.10"}
    assert image.installed_packages([ADDON, SMALL])["kmod"] == "30"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"packages": 3}', '{"packages": null}', "\xff"])
def test_a_damaged_manifest_has_no_versions_and_hides_no_others(text: str) -> None:
    left_behind(SMALL, {"kmod": "30"})
    ADDON.folder.mkdir(parents=True)
    (ADDON.folder / "manifest.json").write_bytes(text.encode("latin-1"))
    assert image.installed_packages([ADDON, SMALL]) == {"kmod": "30"}
