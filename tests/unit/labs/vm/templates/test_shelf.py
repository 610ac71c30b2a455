"""Where templates lie: made once, by whoever comes first, and never half."""

import fcntl
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from tunbench.labs.lab import LabError
from tunbench.labs.vm.templates import seal, shelf
from tunbench.labs.vm.templates.shelf import Shelf
from tunbench.runner.node.shell import wait_until


@pytest.fixture
def shelf_folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "templates"


class Maker:
    """Makes templates of a few bytes, and counts them."""

    def __init__(self, content: bytes = b"memory") -> None:
        self.made: list[Path] = []
        self.content = content

    def __call__(self, folder: Path) -> None:
        self.made.append(folder)
        (folder / "memory").write_bytes(self.content)


def taken(folder: Path, make: Callable[[Path], None], name: str = "one") -> bytes:
    with Shelf(folder).held(name, make) as template:
        return (template / "memory").read_bytes()


def test_the_first_to_need_one_makes_it_and_others_use_it(shelf_folder: Path) -> None:
    maker = Maker()
    assert {taken(shelf_folder, maker) for _ in range(3)} == {b"memory"}
    assert len(maker.made) == 1
    assert shelf_folder.stat().st_mode & 0o777 == 0o700


def test_each_has_its_own_name(shelf_folder: Path) -> None:
    maker = Maker()
    for name in ("one", "another", "one"):
        taken(shelf_folder, maker, name)
    assert len(maker.made) == 2


def damage(template: Path) -> None:
    (template / "memory").write_bytes(b"damage")


def widen(template: Path) -> None:
    (template / "memory").chmod(0o666)


def give_away(template: Path) -> None:
    os.chown(template, 12345, -1)


def link(template: Path) -> None:
    template.rename(template.parent / "elsewhere")
    template.symlink_to(template.parent / "elsewhere")


def replace(template: Path) -> None:
    shutil.rmtree(template)
    template.write_bytes(b"a file")


@pytest.mark.parametrize(
    "spoil",
    [
        *(damage, widen, link, replace),
        pytest.param(give_away, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")),
    ],
)
def test_one_that_is_damaged_or_foreign_is_made_anew(spoil: Callable[[Path], None], shelf_folder: Path) -> None:
    maker = Maker()
    taken(shelf_folder, maker)
    spoil(shelf_folder / "one")
    assert taken(shelf_folder, maker) == b"memory"
    assert len(maker.made) == 2
    assert seal.whole(shelf_folder / "one")


def test_what_fails_leaves_nothing(shelf_folder: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "memory").write_bytes(b"half")
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        taken(shelf_folder, fail)
    assert [path for path in shelf_folder.iterdir() if path.is_dir()] == []
    assert taken(shelf_folder, Maker()) == b"memory"


def test_a_mistake_of_whoever_uses_one_is_theirs(shelf_folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="theirs"), Shelf(shelf_folder).held("one", Maker()):
        raise FileNotFoundError("theirs")
    with Shelf(shelf_folder).held("one", Maker()) as template:
        assert (template / "memory").exists()


def test_one_that_does_not_stay_as_it_was_made_is_told(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "chmod", lambda self, mode: None)
    monkeypatch.setattr(seal, "WRITABLE_BY_OTHERS", 0o400)
    with pytest.raises(OSError, match="one does not stay as it was made"):
        taken(shelf_folder, Maker())


def _half(folder: Path) -> None:
    (folder / "memory").write_bytes(b"half")
    time.sleep(100)


def test_whoever_is_killed_while_making_one_leaves_nothing_that_is_used(shelf_folder: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=taken, args=(shelf_folder, _half))
    process.start()
    assert wait_until(lambda: (shelf_folder / ".making-one" / "memory").exists(), 10)
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert taken(shelf_folder, Maker()) == b"memory"
    assert sorted(path.name for path in shelf_folder.iterdir() if path.is_dir()) == ["one"]


def test_others_wait_while_one_makes_it(shelf_folder: Path) -> None:
    begun, go_on, maker = threading.Event(), threading.Event(), Maker()

    def slowly(folder: Path) -> None:
        begun.set()
        assert go_on.wait(10)
        maker(folder)

    first = threading.Thread(target=taken, args=(shelf_folder, slowly))
    second = threading.Thread(target=taken, args=(shelf_folder, maker))
    first.start()
    assert begun.wait(10)
    second.start()
    assert taken(shelf_folder, maker, "another") == b"memory", "whoever needs another one does not wait"
    assert second.is_alive()
    go_on.set()
    for thread in (first, second):
        thread.join(10)
    assert len(maker.made) == 2, "one of either name"


def bounded(monkeypatch: pytest.MonkeyPatch, most: int = 100, most_bytes: int = 1 << 40, room: int = 0) -> None:
    monkeypatch.setattr(shelf, "MOST", most)
    monkeypatch.setattr(shelf, "MOST_BYTES", most_bytes)
    monkeypatch.setattr(shelf, "ROOM_BYTES", room)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def used(folder: Path, *order: str) -> None:
    for number, name in enumerate(order):
        taken(folder, Maker(bytes([number + 1]) * (1 << 20)), name)
        os.utime(folder / name, (number, number))


def test_the_one_that_was_not_used_for_longest_goes_first(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, most=3)
    used(shelf_folder, "a", "b", "c")
    taken(shelf_folder, Maker(), "a")
    taken(shelf_folder, Maker(), "d")
    assert names(shelf_folder) == ["a", "c", "d"]
    assert not (shelf_folder / "b.lock").exists()


def test_they_are_bounded_in_bytes_too(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, most_bytes=(7 << 20) // 2, room=1 << 20)
    used(shelf_folder, "a", "b", "c", "d")
    assert names(shelf_folder) == ["b", "c", "d"]


def test_one_that_is_in_use_stays(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, most=2)
    used(shelf_folder, "a", "b")
    with Shelf(shelf_folder).held("a", Maker()) as template:
        os.utime(template, (0, 0))
        taken(shelf_folder, Maker(), "c")
        assert (template / "memory").exists()
    assert names(shelf_folder) == ["a", "c"]


def test_a_lock_that_was_removed_while_one_waited_for_it_is_none(shelf_folder: Path) -> None:
    shelf_folder.mkdir(parents=True)
    path, maker = shelf_folder / "one.lock", Maker()
    thread = threading.Thread(target=taken, args=(shelf_folder, maker))
    with ExitStack() as new:
        # Whoever looks whether it is there may do so meanwhile, and then waits for its turn to make it.
        with shelf._locked(path, fcntl.LOCK_SH):
            thread.start()
            time.sleep(0.2)
            path.unlink()
            new.enter_context(shelf._locked(path, fcntl.LOCK_EX))
        time.sleep(0.2)
        assert maker.made == [], "another one holds the lock that has this name now"
    thread.join(10)
    assert len(maker.made) == 1


def test_a_folder_that_is_there_is_no_mistake(shelf_folder: Path) -> None:
    Shelf(shelf_folder).check()
    Shelf(shelf_folder).check()
    assert list(shelf_folder.iterdir()) == []


def refused(folder: Path) -> str:
    with pytest.raises(LabError) as told:
        Shelf(folder).check()
    return str(told.value)


def test_a_folder_that_is_a_file_is_told(shelf_folder: Path) -> None:
    shelf_folder.parent.mkdir()
    shelf_folder.touch()
    assert refused(shelf_folder) == (
        f"cannot write to {shelf_folder}: File exists; make it writable, or name another cache with XDG_CACHE_HOME"
    )


def test_a_folder_of_another_user_is_told(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Shelf(shelf_folder).check()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert refused(shelf_folder) == (
        f"{shelf_folder} belongs to user {owner}, so that others could change what shards start from; "
        "name another cache with XDG_CACHE_HOME"
    )


def test_a_cache_without_room_is_told(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=5 << 20))
    assert refused(shelf_folder) == (
        f"{shelf_folder} has room for 5 MiB, and a template takes up to 512; make room, or name another cache with "
        "XDG_CACHE_HOME"
    )


def test_one_that_is_foreign_and_cannot_be_removed_is_told(shelf_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf_folder / "one").mkdir(parents=True)
    (shelf_folder / "one").chmod(0o777)
    shelf_folder.chmod(0o700)

    def refuse(path: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(shutil, "rmtree", refuse)
    assert refused(shelf_folder) == (
        f"{shelf_folder}/one can be written to by others, and cannot be removed; remove it with: "
        f"sudo rm -r {shelf_folder}/one"
    )


def test_one_that_is_foreign_is_removed_before_a_run(shelf_folder: Path) -> None:
    (shelf_folder / "one").mkdir(parents=True)
    (shelf_folder / "one").chmod(0o777)
    Shelf(shelf_folder).check()
    assert names(shelf_folder) == []
