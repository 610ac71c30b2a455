"""One native run at a time: the lock, and what the second one is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.processes import written
from tests.helpers.runs import ScriptedLab, invoke, runs_here
from tunbench.labs.lab import LabError
from tunbench.labs.native.lab import MOUNTED
from tunbench.run import exclusive
from tunbench.runner.node.shell import wait_until

OTHER = """
import os, sys, time
from pathlib import Path
from tunbench.journal.journal import Journal
from tunbench.run import exclusive as alone
alone.SOCKET_NAME = "\\0" + sys.argv[1]
folder = Path(sys.argv[2])
with alone.exclusive_run():
    book = Journal(folder) if folder.name == "begun" else None
    (folder.parent / "pid").write_text(f"{os.getpid()}\\n")
    time.sleep(100)
"""


@pytest.fixture(autouse=True)
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    """A lock of this test's own: a native run may be under way."""
    monkeypatch.setattr(exclusive, "SOCKET_NAME", f"\0tunbench-test-{os.getpid()}")
    return exclusive.SOCKET_NAME


@pytest.fixture
def other(tmp_path: Path, name: str, request: pytest.FixtureRequest) -> Iterator[int]:
    """Another process that has the lock, and what its run's folder is called."""
    folder = tmp_path / "other" / str(getattr(request, "param", "begun"))
    folder.mkdir(parents=True)
    process = subprocess.Popen([sys.executable, "-c", OTHER, name[1:], str(folder)])
    written(tmp_path / "other" / "pid")
    yield process.pid
    process.kill()
    process.wait()


def test_one_after_the_other_may(name: str) -> None:
    for _ in range(3):
        with exclusive.exclusive_run():
            assert name[1:] in Path("/proc/net/unix").read_text()
    assert name[1:] not in Path("/proc/net/unix").read_text()


def test_the_second_is_told_the_first_ones_process_and_folder(other: int, tmp_path: Path) -> None:
    with pytest.raises(LabError) as caught, exclusive.exclusive_run():
        pytest.fail("there are two")
    assert str(caught.value) == (
        f"another native run is under way on this machine: process {other}, {tmp_path}/other/begun; "
        "wait for it, end it, or use --lab vm"
    )


@pytest.mark.parametrize("other", ["not-begun"], indirect=True)
def test_a_run_that_has_only_just_begun_has_no_folder_yet(other: int) -> None:
    with pytest.raises(LabError, match=f"process {other}; wait for it"), exclusive.exclusive_run():
        pytest.fail("there are two")


def test_the_lock_vanishes_with_its_process(other: int) -> None:
    os.kill(other, signal.SIGKILL)

    def free() -> bool:
        try:
            with exclusive.exclusive_run():
                return True
        except LabError:
            return False

    assert wait_until(free, 5)


def test_a_run_that_is_refused_leaves_nothing_and_exits_with_2(
    other: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_here(monkeypatch, tmp_path)
    monkeypatch.setattr(ScriptedLab, "exclusive", True)
    before = sorted(tmp_path.iterdir())
    result = invoke("run", "plan.toml", "--out", "mine")
    assert result.exit_code == 2
    assert f"process {other}" in result.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("folder", ["/run/mine", "/mnt/data/mine"])
def test_a_folder_that_the_lab_would_not_see_is_refused(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_here(monkeypatch, tmp_path)
    assert not Path(folder).exists()
    monkeypatch.setattr(ScriptedLab, "kind", "native")
    monkeypatch.setattr(ScriptedLab, "hidden_folders", MOUNTED)
    result = invoke("run", "plan.toml", "--out", folder)
    assert result.exit_code == 2
    assert "the native lab mounts its own /" in result.stderr
    assert not Path(folder).exists()
