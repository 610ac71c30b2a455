"""Whether a template is what its maker left."""

import os
from pathlib import Path

import pytest

from tunbench.labs.vm.templates import seal


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "_known", {})


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "template"
    folder.mkdir(mode=0o700)
    (folder / "memory").write_bytes(b"memory")
    (folder / "state").write_bytes(b"state")
    seal.close(folder)
    return folder


def test_what_was_sealed_is_whole_and_its_owners_alone(template: Path) -> None:
    assert seal.whole(template)
    assert {path.stat().st_mode & 0o777 for path in template.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["memory", "state", "seal.json"])
def test_without_one_of_its_files_it_is_not(name: str, template: Path) -> None:
    (template / name).unlink()
    assert not seal.whole(template)


def test_with_another_file_it_is_not(template: Path) -> None:
    (template / "more").touch(mode=0o600)
    assert not seal.whole(template)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b'{"files": 7}', b'{"files": {"memory": null}}', b"\xff"])
def test_with_a_damaged_seal_it_is_not(text: bytes, template: Path) -> None:
    (template / "seal.json").write_bytes(text)
    assert not seal.whole(template)


def test_what_is_changed_after_it_was_found_whole_is_found(template: Path) -> None:
    assert seal.whole(template)
    (template / "memory").write_bytes(b"MEMORY")
    assert not seal.whole(template)


def test_what_was_found_whole_is_not_read_again(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seal.whole(template)
    monkeypatch.setattr(seal, "digest", lambda path: "another")
    assert seal.whole(template)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_what_others_may_write_to_is_not_used(mode: int, template: Path) -> None:
    (template / "memory").chmod(mode)
    assert not seal.whole(template)
    assert seal.foreign(template / "memory") == "can be written to by others"


def test_a_folder_that_others_may_write_to_is_not_used(template: Path) -> None:
    template.chmod(0o777)
    assert not seal.whole(template)


def test_a_link_to_a_whole_one_is_not_used(template: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(template)
    assert not seal.whole(tmp_path / "link")
    assert seal.foreign(tmp_path / "link") == "is a link"


def test_one_of_another_user_is_not_used(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = template.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert not seal.whole(template)
    assert seal.foreign(template) == f"belongs to user {owner}"


def test_what_is_not_there_is_not_whole(tmp_path: Path) -> None:
    assert not seal.whole(tmp_path / "nothing")


def file(path: Path, *pieces: tuple[int, bytes], size: int) -> Path:
    """A file of holes, with something at some places."""
    with path.open("wb") as opened:
        opened.truncate(size)
        for place, piece in pieces:
            opened.seek(place)
            opened.write(piece)
    return path


def test_holes_and_zeros_have_the_same_digest(tmp_path: Path) -> None:
    size = 10 * seal.PIECE_BYTES
    holes = file(tmp_path / "holes", (5 * seal.PIECE_BYTES + 7, b"x"), size=size)
    (tmp_path / "zeros").write_bytes(holes.read_bytes())
    assert seal.digest(holes) == seal.digest(tmp_path / "zeros")


def test_another_byte_place_or_size_is_another_digest(tmp_path: Path) -> None:
    piece = seal.PIECE_BYTES
    told = [
        seal.digest(file(tmp_path / "one", (7, b"x"), size=3 * piece)),
        seal.digest(file(tmp_path / "byte", (7, b"y"), size=3 * piece)),
        seal.digest(file(tmp_path / "place", (piece + 7, b"x"), size=3 * piece)),
        seal.digest(file(tmp_path / "last", (3 * piece - 1, b"x"), size=3 * piece)),
        seal.digest(file(tmp_path / "size", (7, b"x"), size=4 * piece)),
        seal.digest(file(tmp_path / "empty", size=3 * piece)),
    ]
    assert len(set(told)) == len(told)
