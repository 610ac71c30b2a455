"""Which core a VM is bound to: that to which the fewest processes are bound."""

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.machines import one_core
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.vm import host_core
from tunbench.runner.node import pinning


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /proc in which nobody is bound to anything, on a machine that shows no topology."""
    monkeypatch.setattr(host_core, "PROC", tmp_path)
    monkeypatch.setattr(pinning, "CORES", tmp_path / "nothing")
    return tmp_path


def bound(folder: Path, *lists: str, memory: str = "VmSize:\t   12000 kB\n") -> None:
    """Adds processes that may run on these cores."""
    for cores in lists:
        process = folder / str(1 + len(list(folder.iterdir())))
        process.mkdir()
        (process / "status").write_text(f"Name:\tany\n{memory}Cpus_allowed:\tf\nCpus_allowed_list:\t{cores}\n")


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ((), 0),
        (("0",), 1),
        (("0", "1"), 2),
        (("0", "1", "2"), 0),
        (("0", "0", "1", "2", "2"), 1),
        # Who may run elsewhere will.
        (("0-2", "0,1", "0-1", "12"), 0),
    ],
)
def test_the_least_taken_core_is_chosen(
    lists: Sequence[str], chosen: int, processes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_core(monkeypatch, {0, 1, 2})
    bound(processes, *lists)
    assert host_core.least_taken() == chosen


def test_threads_of_the_kernel_do_not_count(processes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch, {0, 1})
    bound(processes, "0", "0", memory="")
    assert host_core.least_taken() == 0


def test_only_cores_that_may_be_used_are_chosen(processes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch, {2, 3})
    bound(processes, "2")
    assert host_core.least_taken() == 3


def test_a_process_that_ends_meanwhile_does_not_matter(processes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch, {0, 1})
    (processes / "7").mkdir()
    (processes / "7" / "status").symlink_to(processes / "gone")
    assert host_core.least_taken() == 0


def test_of_two_who_choose_at_once_the_second_sees_what_the_first_has_started(
    processes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_core(monkeypatch, {0, 1})
    found, both = [], threading.Barrier(2)

    def choose() -> None:
        both.wait()
        with host_core.chosen() as core:
            # What is started needs a while until others see it.
            time.sleep(0.1)
            bound(processes, str(core))
            found.append(core)

    choosing = [threading.Thread(target=choose) for _ in range(2)]
    for one in choosing:
        one.start()
    for one in choosing:
        one.join()
    assert found == [0, 1]


def test_who_chooses_for_long_holds_up_nobody(processes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_core, "PATIENCE", 0.1)
    one_core(monkeypatch, {0, 1})
    with host_core.chosen() as first, host_core.chosen() as second:
        assert first == second == 0
    with host_core.chosen() as third:
        assert third == 0


def test_what_is_started_on_a_core_is_bound_to_it_from_its_first_moment(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    mine = max(before)
    with pinning.kept_to({mine}):
        execution = ProcessGroup(["sh", "-c", "grep Cpus_allowed_list /proc/self/status"], tmp_path)
    assert execution.process.wait() == 0
    execution.stop()
    assert (tmp_path / "output.log").read_text().split()[-1] == str(mine)
    assert os.sched_getaffinity(0) == before, "the controlling process goes where it likes"
