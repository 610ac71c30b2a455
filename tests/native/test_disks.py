"""A disk that fills up, a folder that cannot be written, a run that is begun twice, a machine that is suspended."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.kills import RUN, suspend, told
from tests.helpers.native_kills import FOUR_TRIALS, assert_whole, native_killer
from tests.helpers.traces import traces
from tunbench.runner.node.shell import wait_until

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

Property = Callable[[str, object], None]


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Callable[..., "subprocess.CompletedProcess[str]"]]:
    """A file system of that size on a folder, in a mount namespace of its own; yields what runs a command there."""
    folder.mkdir()
    holder = subprocess.Popen(["unshare", "--mount", "sleep", "600"])
    enter = ["nsenter", "--target", str(holder.pid), "--mount", "--"]

    def there(*argv: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*enter, *map(str, argv)], capture_output=True, text=True, timeout=300)

    try:
        # unshare is asked for its namespace, not told when it is there.
        assert wait_until(lambda: Path(f"/proc/{holder.pid}/comm").read_text() == "sleep\n", 10)
        there("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder).check_returncode()
        yield there
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.parametrize("size", ["64k", "780k", "840k"])
def test_a_full_disk_loses_nothing_that_was_told(size: str, tmp_path: Path, record_property: Property) -> None:
    (tmp_path / "plan.toml").write_text(FOUR_TRIALS)
    run, before = tmp_path / "disk" / "run", traces()
    with disk(tmp_path / "disk", size) as there:
        first = there(*RUN, tmp_path / "plan.toml", "--out", run, "--workers", "1")
        assert "Traceback" not in first.stderr
        assert first.returncode in (0, 1, 2)
        if first.returncode == 2:
            assert re.search(r"cannot write to .*: No space left on device", first.stderr.replace("\n", " "))
        there("cp", "-r", f"{run}/.", tmp_path / "first")
        kept = told(tmp_path / "first")
        there("mount", "-o", "remount,size=64m", tmp_path / "disk").check_returncode()
        begun = (tmp_path / "first" / "journal.jsonl").exists() and (
            tmp_path / "first" / "journal.jsonl"
        ).stat().st_size
        again = ["--resume", run] if begun else [tmp_path / "plan.toml", "--out", run, "--workers", "1"]
        second = there(*RUN, *again)
        assert second.returncode == 0, second.stderr
        there("cp", "-r", f"{run}/.", tmp_path / "second")
    after = told(tmp_path / "second")
    assert {key: after.get(key) for key in kept} == kept
    assert_whole(tmp_path / "second")
    assert traces() == before
    record_property(
        "reliability", f"exit code {first.returncode}, {len(kept)} of 6 trials told and kept; with room it is completed"
    )


def test_a_folder_that_cannot_be_written_is_a_message(tmp_path: Path, record_property: Property) -> None:
    (tmp_path / "plan.toml").write_text(FOUR_TRIALS)
    run = tmp_path / "disk" / "run"
    with disk(tmp_path / "disk", "64m") as there:
        there(*RUN, tmp_path / "plan.toml", "--out", run).check_returncode()
        there("mount", "-o", "remount,ro", tmp_path / "disk").check_returncode()
        for argv in (["--resume", run], [tmp_path / "plan.toml", "--out", run.parent / "other"]):
            done = there(*RUN, *argv)
            assert done.returncode == 2
            assert "Traceback" not in done.stderr
            assert f"cannot write to {argv[-1]}: Read-only file system" in done.stderr.replace("\n", "")
    record_property("reliability", "exit code 2 and one message, for a new run and for --resume")


def test_two_processes_do_not_share_a_folder(tmp_path: Path, record_property: Property) -> None:
    killer = native_killer(tmp_path)
    process = killer.begin(run := tmp_path / "run")
    assert wait_until(lambda: bool(killer.labs(run)), 60)
    # Stopped it cannot come to its end before the second has looked.
    process.send_signal(signal.SIGSTOP)
    second = subprocess.run([*RUN, "--resume", str(run)], capture_output=True, text=True)
    process.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    # It is the machine that they do not share here; the test of the vm lab has the folder alone.
    assert f"another native run is under way on this machine: process {process.pid}, {run}" in second.stderr.replace(
        "\n", ""
    )
    assert process.wait(120) == 0
    assert_whole(run)
    record_property("reliability", "the second is refused with exit code 2, the first is whole")


def test_a_machine_that_is_suspended_goes_on(tmp_path: Path, record_property: Property) -> None:
    killer = native_killer(tmp_path)
    process = killer.begin(run := tmp_path / "run")
    assert wait_until(lambda: bool(killer.labs(run)), 60)
    suspend(process.pid, 5)
    assert process.wait(120) == 0, killer.printed()
    assert_whole(run)
    record_property("reliability", "5 s in which no process of the run had the processor: all trials there, ok")
