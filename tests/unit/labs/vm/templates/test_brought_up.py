"""A shard goes on in a VM whose stack is up, which the first one makes. QEMU is a program that speaks like it."""

from pathlib import Path

import pytest

from tests.helpers.fake_qemu import FakeQemu
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.templates import brought_up, start
from tunbench.labs.vm.templates.brought_up import BroughtUp
from tunbench.plan.cache_folder import cache_in
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node.shell import wait_until
from tunbench.runner.template import SECOND_PART

pytestmark = pytest.mark.usefixtures("qemu")

TRIED = "load"
"""What was saved is loaded once to be tried."""

MADE = ["save", TRIED, "save further", TRIED]

UP = "up\n(b'state', b'a VM that has booted, whose stack is up')"
"""What a VM tells that was loaded there: what was told before it was saved, and what it is."""

BOOTED = "(b'state', b'a VM that has booted')"


def begun(folder: Path, number: int = 0, seed: int = 1, first: bytes = b"a stack") -> BroughtUp:
    folder = folder / f"vm-{number}"
    folder.mkdir()
    one = Boot("virtual", folder, two_parts=True)
    one.write("shard", {"shard.json": first}, seed)
    one.hand_in(SECOND_PART, files={"shard.json": f"{number}"})
    return BroughtUp(one)


def told(execution: BroughtUp) -> str:
    lines: list[bytes] = []

    def ended() -> bool:
        alive = execution.running()
        lines.extend(execution.lines())
        return not alive

    assert wait_until(ended, 60)
    execution.stop()
    return b"\n".join(lines).decode()


def test_the_first_one_makes_it_and_all_of_the_same_first_part_are_loaded(tmp_path: Path, qemu: FakeQemu) -> None:
    for number in range(3):
        execution = begun(tmp_path, number)
        assert told(execution) == UP
        assert execution.warnings == ()
    assert qemu.started() == [*MADE, "load", "load", "load"]


@pytest.mark.parametrize("other", [{"seed": 2}, {"first": b"another stack"}])
def test_another_seed_or_stack_is_brought_up_for_itself(
    other: dict[str, object], tmp_path: Path, qemu: FakeQemu
) -> None:
    told(begun(tmp_path, 1))
    assert told(begun(tmp_path, 2, **other)) == UP  # type: ignore[arg-type]
    assert qemu.started() == [*MADE, "load", "save further", TRIED, "load"]


def test_it_is_made_in_the_cache_that_whoever_begins_it_looks_into(tmp_path: Path, qemu: FakeQemu) -> None:
    images, other = BASE.folder.parent, tmp_path / "other"
    other.mkdir()
    (other / "images").symlink_to(images)
    with cache_in(other):
        assert told(begun(tmp_path)) == UP
    assert len([path for path in (other / start.FOLDER).iterdir() if path.is_dir()]) == 2


def test_a_stack_that_does_not_come_up_fails_in_the_shard_itself(tmp_path: Path, qemu: FakeQemu) -> None:
    qemu.does("ends")
    execution = begun(tmp_path)
    assert told(execution) == BOOTED
    assert execution.warnings == (), "that is the tunnel's, and no matter of templates"
    assert qemu.started() == ["save", TRIED, "save further", "load"]


def test_where_it_cannot_be_saved_the_stack_comes_up_anew_and_says_so(tmp_path: Path, qemu: FakeQemu) -> None:
    told(begun(tmp_path, 1))
    qemu.does("refuses")
    execution = begun(tmp_path, 2, seed=2)
    assert told(execution) == "a fresh boot", "it refuses to load what has booted, too"
    [(name, why), (_, further)] = execution.warnings
    assert name == WarningKind.FRESH_BOOT and why.startswith("QEMU refuses migrate-incoming")
    assert further.startswith("its stack came up anew: QEMU refuses xen-save-devices-state: not today")


def test_one_that_was_told_twice_is_told_once(tmp_path: Path, qemu: FakeQemu, monkeypatch: pytest.MonkeyPatch) -> None:
    told(begun(tmp_path, 1))
    qemu.does("fails")
    execution = begun(tmp_path, 2)
    assert told(execution) == "a fresh boot", "without what the one that was saved had told"
    assert len(execution.warnings) == 2


def test_nothing_is_told_while_it_is_made_and_whoever_stops_ends_that(
    tmp_path: Path, qemu: FakeQemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(begun(tmp_path, 1))
    monkeypatch.setattr(brought_up, "STOP_SECONDS", 60.0)
    qemu.does("silent")
    execution = begun(tmp_path, 2, seed=2)
    assert wait_until(lambda: "save further" in qemu.started()[len(MADE) :], 60)
    assert execution.running() and execution.lines() == [] and len(execution.wakes) == 1
    assert "brought up" in execution.last_words()
    execution.stop()
    assert not execution._thread.is_alive()
    assert [path for path in start.shelf().folder.iterdir() if path.name.startswith(".")] == []
