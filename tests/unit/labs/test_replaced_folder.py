"""A folder that is built beside itself, and what builds leave that are killed."""

import os
from pathlib import Path

import pytest

from tunbench.labs.image import ImageError
from tunbench.labs.replaced_folder import BUILDING, replacing


def test_it_takes_the_place_of_what_was_there_also_of_a_link(tmp_path: Path) -> None:
    folder, link = tmp_path / "base", tmp_path / "link"
    (folder / "old").mkdir(parents=True)
    link.symlink_to(folder)
    for one in (link, folder):
        with replacing(one) as scratch:
            (scratch / "image" / "new").touch()
        assert [path.name for path in one.iterdir()] == ["new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "link"]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "base" / "old").mkdir(parents=True)
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "base"):
        _ = 1 / 0
    assert [path.name for path in (tmp_path / "base").iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


def test_what_a_killed_build_left_is_swept_away_and_a_living_one_is_not(tmp_path: Path) -> None:
    dead, alive = tmp_path / f"{BUILDING}4194305-x", tmp_path / f"{BUILDING}{os.getpid()}-x"
    for path in (dead, alive):
        path.mkdir()
    with replacing(tmp_path / "base") as scratch:
        assert scratch.name.startswith(f"{BUILDING}{os.getpid()}-")
        assert not dead.exists() and alive.exists()


def test_where_it_cannot_be_made_the_cache_is_told(tmp_path: Path) -> None:
    (tmp_path / "images").touch()
    with (
        pytest.raises(ImageError, match=r"cannot write to .*images: File exists; .* XDG_CACHE_HOME"),
        replacing(tmp_path / "images" / "base"),
    ):
        pass
