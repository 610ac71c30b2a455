"""What a worker does with images, without a network."""

import asyncio
import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest

from tunbench.executors.cluster import on_worker_received as on_worker
from tunbench.executors.cluster import shipment
from tunbench.executors.cluster.sent_image import TEMPLATE_KIND, SentImage, sent
from tunbench.labs import image
from tunbench.labs.image import ImageError
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.templates import seal
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.cache_folder import cache, cache_in


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SentImage:
    """An image of the machine where a run was begun; from then on this is a worker with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    made(BASE.folder, b"squashfs")
    [one] = sent([BASE], [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "worker"))
    return one


def made(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "image.squashfs").write_bytes(content * 100)
    image.write_manifest(folder, {"name": "base"}, {})


def received(one: SentImage, tmp_path: Path, spoil: bytes = b"") -> None:
    source = tmp_path / "here" / "tunbench" / one.place
    asyncio.run(on_worker.begin("run", one.digest))
    for path in source.iterdir():
        content = path.read_bytes()
        size = len(content + spoil)
        asyncio.run(on_worker.take("run", one.digest, path.name, size, [(5, content[5:] + spoil)]))
        asyncio.run(on_worker.take("run", one.digest, path.name, size, [(0, content[:5])]))
    asyncio.run(on_worker.end("run", list(one)))


def lacking(one: SentImage) -> list[str]:
    return asyncio.run(on_worker.lacking([list(one)]))


def test_what_was_sent_lies_there_by_its_digest_and_a_lab_finds_it(base: SentImage, tmp_path: Path) -> None:
    assert lacking(base) == [base.digest]
    received(base, tmp_path)
    assert lacking(base) == []
    view = on_worker.view([base])
    with cache_in(view):
        assert image.check(BASE)["digest"] == base.digest
        assert (cache() / "templates").is_dir()
    assert on_worker.view([base]) == view
    assert not BASE.folder.exists(), "the worker's own images are left alone"


def test_an_image_of_its_own_is_used_where_it_is_the_same(base: SentImage, tmp_path: Path) -> None:
    made(BASE.folder, b"squashfs")
    assert lacking(base) == []
    assert (on_worker.view([base]) / base.place).resolve() == BASE.folder.resolve()


@pytest.mark.parametrize("spoilt", [True, False])
def test_an_image_of_its_own_that_is_another_is_not(spoilt: bool, base: SentImage, tmp_path: Path) -> None:
    made(BASE.folder, b"squashfs" if spoilt else b"another")
    if spoilt:
        (BASE.folder / "image.squashfs").write_bytes(b"another" * 100)
    assert lacking(base) == [base.digest]
    received(base, tmp_path)
    assert (on_worker.view([base]) / base.place / "image.squashfs").read_bytes() == b"squashfs" * 100
    assert (BASE.folder / "image.squashfs").read_bytes() == b"another" * 100


def test_what_arrives_otherwise_is_refused_and_leaves_nothing(base: SentImage, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="did not arrive as it was sent"):
        received(base, tmp_path, spoil=b"!")
    assert list((cache() / "received").iterdir()) == []
    with pytest.raises(ImageError, match="is not there as it was sent"):
        on_worker.view([base])


def test_what_was_damaged_since_is_lacking(base: SentImage, tmp_path: Path) -> None:
    received(base, tmp_path)
    file = cache() / "received" / base.digest / "image.squashfs"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert lacking(base) == [base.digest]
    received(base, tmp_path)
    assert lacking(base) == []


@pytest.mark.parametrize("whole", [True, False])
def test_of_two_runs_that_send_the_same_at_once_the_second_finds_it(
    whole: bool, base: SentImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def another_was_faster(incoming: Path, place: Path) -> None:
        shutil.copytree(incoming, place)
        if not whole:
            (place / "image.squashfs").write_bytes(b"half")
        rename(incoming, place)

    monkeypatch.setattr(Path, "rename", another_was_faster)
    if whole:
        received(base, tmp_path)
        assert lacking(base) == []
    else:
        with pytest.raises(OSError, match="Directory not empty"):
            received(base, tmp_path)
    assert [path.name for path in (cache() / "received").iterdir()] == [base.digest]


@pytest.mark.parametrize("name", ["../../../evil", "/etc/evil", "a/../../../evil"])
def test_nothing_is_written_outside_of_the_cache(name: str, base: SentImage, tmp_path: Path) -> None:
    asyncio.run(on_worker.begin("run", base.digest))
    with pytest.raises(PermissionError):
        asyncio.run(on_worker.take("run", base.digest, name, 1, [(0, b"x")]))
    assert [path.name for path in tmp_path.rglob("evil")] == []


def test_what_was_never_finished_is_taken_away(base: SentImage) -> None:
    asyncio.run(on_worker.begin("first", base.digest))
    asyncio.run(on_worker.begin("second", base.digest))
    asyncio.run(on_worker.drop("first"))
    [left] = (cache() / "received").iterdir()
    assert "second" in left.name
    long_ago = time.time() - 2 * on_worker.FORGOTTEN_SECONDS
    os.utime(left, (long_ago, long_ago))
    asyncio.run(on_worker.begin("third", base.digest))
    assert ["third" in path.name for path in (cache() / "received").iterdir()] == [True]


def test_another_cache_holds_for_one_thread_alone(tmp_path: Path) -> None:
    before = cache()
    with cache_in(tmp_path):
        assert cache() == tmp_path
        with cache_in(tmp_path / "inner"):
            assert cache() == tmp_path / "inner"
        assert cache() == tmp_path
    assert cache() == before


def saved(folder: Path) -> None:
    """What stands for a saved VM: memory with holes and zeros, and a state."""
    with (folder / "memory").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(5 << 16)
        file.write(b"page" * 100 + bytes(1 << 17) + b"last")
    (folder / "state").write_bytes(b"state")


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SentImage:
    """A template of the machine where a run was begun; from then on this is a worker with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    with templates.shelf().held("0123456789abcdef", saved) as folder:
        digest = hashlib.sha256((folder / seal.SEAL).read_bytes()).hexdigest()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "worker"))
    return SentImage("0123456789abcdef", "templates/0123456789abcdef", digest, TEMPLATE_KIND)


def test_a_template_arrives_with_its_holes_and_is_sealed(
    template: SentImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipment, "PIECES_AT_ONCE", 2)
    assert lacking(template) == [template.digest]
    asyncio.run(on_worker.begin("run", template.digest))
    source = tmp_path / "here" / "tunbench" / template.place
    for name in ("memory", "state"):
        size = (source / name).stat().st_size
        for pieces in shipment._pieces(source / name):
            assert sum(len(piece) for _, piece in pieces) <= 2 * shipment.PIECE_BYTES
            asyncio.run(on_worker.take("run", template.digest, name, size, pieces))
    asyncio.run(on_worker.end("run", list(template)))
    assert lacking(template) == []
    assert seal.whole(template.folder)
    for name in ("memory", "state"):
        assert (template.folder / name).read_bytes() == (source / name).read_bytes()
    assert (template.folder / "memory").stat().st_blocks <= 8 * shipment.PIECE_BYTES // 512
    assert list((cache() / "received").iterdir()) == []


def test_a_template_that_arrives_otherwise_is_not_taken(template: SentImage) -> None:
    asyncio.run(on_worker.begin("run", template.digest))
    asyncio.run(on_worker.take("run", template.digest, "memory", 4, [(0, b"evil")]))
    with pytest.raises(ImageError, match="the template 0123456789abcdef did not arrive as it was sent"):
        asyncio.run(on_worker.end("run", list(template)))
    assert lacking(template) == [template.digest] and not template.folder.exists()


def test_a_template_that_a_worker_has_saved_itself_is_as_good(template: SentImage) -> None:
    def otherwise(folder: Path) -> None:
        (folder / "memory").write_bytes(b"its own")

    with templates.shelf().held(template.name, otherwise):
        assert lacking(template) == []
