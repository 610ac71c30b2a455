"""A VM starts from a template, or, where that fails, afresh, and says so. QEMU is a program that speaks like it."""

from pathlib import Path

import pytest

from tests.helpers.fake_qemu import FakeQemu
from tests.helpers.labs import ADDON
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.vm import image_build, kvm
from tunbench.labs.vm import qemu as program
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.templates import saving, start
from tunbench.plan.axes.machine import Machine
from tunbench.runner.declare.warnings import WarningKind

pytestmark = pytest.mark.usefixtures("qemu")


def vm(folder: Path, number: int = 0, program: str = "shard", clock: str = "virtual", **more: object) -> Boot:
    folder = folder / f"vm-{number}"
    folder.mkdir(exist_ok=True)
    one = Boot(clock, folder, **more)  # type: ignore[arg-type]
    one.write(program, {}, number)
    return one


def told(execution: ProcessGroup) -> str:
    execution.process.wait(10)
    lines = b"\n".join(execution.lines()).decode()
    execution.stop()
    return lines


TRIED = "load"
"""What was saved is loaded once to be tried."""

LOADED = "(b'state', b'a VM that has booted')"


def test_the_first_vm_makes_the_template_and_all_are_loaded(tmp_path: Path, qemu: FakeQemu) -> None:
    for number in range(3):
        execution = start.start(vm(tmp_path, number))
        assert execution.warnings == ()
        assert told(execution) == LOADED
    assert qemu.started() == ["save", TRIED, "load", "load", "load"]


@pytest.mark.parametrize("how", ["refuses", "dies"])
def test_where_none_can_be_made_a_vm_boots_afresh_and_says_so(how: str, tmp_path: Path, qemu: FakeQemu) -> None:
    qemu.does(how)
    execution = start.start(vm(tmp_path))
    assert told(execution) == "a fresh boot"
    [(name, why)] = execution.warnings
    assert name == WarningKind.FRESH_BOOT
    assert why.startswith({"refuses": "QEMU refuses xen-save-devices-state: not today", "dies": "QEMU ended"}[how])
    assert qemu.started() == ["save", "fresh"]
    assert [path for path in start.shelf().folder.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("how", ["refuses", "fails"])
def test_where_one_cannot_be_loaded_a_vm_boots_afresh_and_says_so(how: str, tmp_path: Path, qemu: FakeQemu) -> None:
    told(start.start(vm(tmp_path, 1)))
    qemu.does(how)
    execution = start.start(vm(tmp_path, 2))
    assert told(execution) == "a fresh boot"
    [(_, why)] = execution.warnings
    assert why.startswith(
        {"refuses": "QEMU refuses migrate-incoming: not today", "fails": "QEMU cannot load the state"}[how]
    )
    assert qemu.started() == ["save", TRIED, "load", "load", "fresh"]


def test_one_whose_clock_jumped_is_not_kept(tmp_path: Path, qemu: FakeQemu) -> None:
    qemu.does("jumps")
    execution = start.start(vm(tmp_path))
    assert told(execution) == "a fresh boot"
    assert execution.warnings[0][1].startswith("the clock of the VM jumped as it was saved, 5 times of 5")
    assert qemu.started() == [*["save", TRIED] * 5, "fresh"]
    assert [path for path in start.shelf().folder.iterdir() if path.is_dir()] == []


def test_one_that_says_nothing_is_given_up(tmp_path: Path, qemu: FakeQemu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "BOOT_LIMIT", 0.5)
    qemu.does("silent")
    execution = start.start(vm(tmp_path))
    assert told(execution) == "a fresh boot"
    assert execution.warnings[0][1].startswith("QEMU said nothing for 0.5 s")


def test_a_cache_that_cannot_be_written_to_is_no_hindrance(tmp_path: Path, qemu: FakeQemu) -> None:
    start.shelf().folder.touch()
    execution = start.start(vm(tmp_path))
    assert told(execution) == "a fresh boot"
    assert qemu.started() == ["fresh"]
    assert "File exists" in execution.warnings[0][1]


@pytest.mark.parametrize(("clock", "switch"), [("virtual", "off"), ("real", "on")])
def test_where_none_is_wanted_a_vm_boots_afresh_and_says_nothing(
    clock: str, switch: str, tmp_path: Path, qemu: FakeQemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(start.SWITCH, switch)
    monkeypatch.setattr(kvm, "machine", list)
    execution = start.start(vm(tmp_path, clock=clock))
    assert told(execution) == "a fresh boot"
    assert execution.warnings == ()
    assert not start.shelf().folder.exists()


def test_a_template_is_of_all_that_has_a_part_in_it_and_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = start.name_of(vm(tmp_path, 1))
    assert start.name_of(vm(tmp_path, 2)) == name, "neither of the folder nor of the seed"
    others = [
        start.name_of(vm(tmp_path, 3, program="script")),
        start.name_of(vm(tmp_path, 4, machine=Machine("slow", speed=250))),
        start.name_of(vm(tmp_path, 5, images=(BASE, ADDON))),
    ]
    (BASE.folder / "image.squashfs").write_bytes(bytes([1]) * 4096)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    others.append(start.name_of(vm(tmp_path, 6)))
    monkeypatch.setattr(program, "version", lambda: "QEMU emulator version 8")
    others.append(start.name_of(vm(tmp_path, 7)))
    others.append(start.name_of(vm(tmp_path, 8, more_memory=1)))
    assert len({name, *others}) == 7


def section(name: bytes, content: bytes) -> bytes:
    return b"QEVM" + bytes(3) + b"\3" + b"\4" + bytes(4) + bytes([len(name)]) + name + bytes(8) + content


def test_a_state_says_nothing_of_the_clocks_of_its_machine() -> None:
    ticks, unused, clock, rest = b"a" * 8, b"b" * 8, b"c" * 8, b"d" * 8
    state = section(b"timer", ticks + unused + clock + rest)
    assert saving.without_host_clocks(state) == section(b"timer", bytes(8) + unused + bytes(8) + rest)
    other = section(b"other", ticks + unused + clock + rest)
    assert saving.without_host_clocks(other) == other
