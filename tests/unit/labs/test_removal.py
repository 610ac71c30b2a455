"""What is removed from the cache, and what is said where it cannot be."""

from pathlib import Path

import pytest

from tunbench.labs.image import ImageError
from tunbench.labs.removal import remove


def filled(folder: Path) -> Path:
    (folder / "base").mkdir(parents=True)
    (folder / "base" / "image.squashfs").touch()
    (folder / "elsewhere").symlink_to("/")
    (folder / "note").touch()
    return folder


def test_a_folder_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = filled(tmp_path / "images")
    assert remove(folder)
    assert not folder.exists()
    assert not remove(folder), "nothing is there any more"
    assert not remove(tmp_path / "never" / "images")


def test_what_a_link_leads_to_is_emptied_and_both_stay(tmp_path: Path) -> None:
    larger, folder = filled(tmp_path / "larger disk"), tmp_path / "images"
    folder.symlink_to(larger)
    assert remove(folder)
    assert folder.is_symlink() and list(larger.iterdir()) == []
    assert not remove(folder), "nothing is in it any more"


def test_what_is_no_folder_goes_too(tmp_path: Path) -> None:
    lost, file = tmp_path / "templates", tmp_path / "images"
    lost.symlink_to("nowhere")
    file.touch()
    assert remove(lost) and remove(file)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_cache_is_told_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "tunbench").touch()
    with pytest.raises(ImageError) as refused:
        remove(tmp_path / "tunbench" / "images")
    assert str(refused.value) == (
        f"cannot remove {tmp_path}/tunbench/images: Not a directory; {tmp_path}/tunbench has to be a folder, or name "
        "another cache with XDG_CACHE_HOME"
    )
