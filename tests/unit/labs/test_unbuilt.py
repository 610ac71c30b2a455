"""What is told of images that cannot be used."""

from pathlib import Path

import pytest

from tests.helpers.images import ADDON, SMALL, built
from tunbench.labs import image, unbuilt
from tunbench.labs.image import ImageError
from tunbench.labs.unbuilt import LAB_BUILD, TOOLBOX_INSTALL


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_all_that_are_not_built_stand_in_one_line_with_their_command() -> None:
    assert unbuilt.lines([SMALL, ADDON], LAB_BUILD) == [
        "not built: small, addon; build with: tunbench lab build small addon"
    ]
    built()
    assert unbuilt.lines([SMALL], LAB_BUILD) == []


@pytest.mark.parametrize("damage", ["image.squashfs", "manifest.json"])
def test_an_image_that_lacks_a_file_is_damaged(damage: str) -> None:
    folder = built()
    if damage == "manifest.json":
        (folder / damage).write_text("[")
    else:
        (folder / damage).unlink()
    assert image.is_there(SMALL) and not image.is_whole(SMALL)
    assert unbuilt.lines([SMALL], TOOLBOX_INSTALL) == [
        "damaged: small; install anew with: tunbench toolbox install --force small"
    ]


def test_several_are_refused_at_once_and_one_by_the_check_of_its_own() -> None:
    with pytest.raises(ImageError, match=r"^the images small, addon are not built; build them with: "):
        unbuilt.refuse_several([SMALL, ADDON], LAB_BUILD)
    built()
    unbuilt.refuse_several([SMALL, ADDON], LAB_BUILD)
