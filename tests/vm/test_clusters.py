"""VMs on the workers of a cluster: results equal to the byte to those of the pool, whatever happens to a worker."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.clusters import ClusterProcesses
from tests.helpers.kills import RUN
from tests.helpers.measuring import plan
from tests.helpers.traces import that_name
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.plan.cache_folder import cache
from tunbench.runner.node.shell import wait_until

pytestmark = [pytest.mark.vm, pytest.mark.reliability]

PLAN = plan(["none", "wireguard"], '["baseline"]', ["ping:count=10"])

WORKER = "distributed.cli.dask_worker"

Property = Callable[[str, object], None]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[ClusterProcesses]:
    """A scheduler, to which a test adds workers."""
    found = ClusterProcesses(tmp_path / "cluster", WORKER)
    try:
        found.start_scheduler()
        yield found
    finally:
        found.close()


def begin(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A run of the plan, or one that goes on."""
    (folder.parent / "plan.toml").write_text(PLAN)
    begun = ["--resume", str(folder)] if folder.exists() else [str(folder.parent / "plan.toml"), "--out", str(folder)]
    argv = [sys.executable, "-m", "tunbench", *RUN[3:], *begun, *arguments]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finished(folder: Path, *arguments: str, code: int = 0) -> str:
    """What was said of a run that came to its end."""
    process = begin(folder, *arguments)
    _, said = process.communicate(timeout=1500)
    assert process.returncode == code, said
    return said


def fingerprint(folder: Path) -> str:
    record = record_of(folder)
    assert record.interrupted == ()
    assert {trial.verdict for trial in record.trials} == {"ok"}
    return str(record.manifest["fingerprint"])


def shares_images(processes: ClusterProcesses, name: str) -> str:
    """A cache of a worker's own that has the images of this machine, and no template."""
    home = processes.folder / name / "cache" / "tunbench"
    home.mkdir(parents=True)
    (home / "images").symlink_to(cache() / "images")
    return str(home.parent)


@pytest.mark.timeout(2400)
def test_the_fingerprint_of_a_cluster_is_that_of_the_pool(
    processes: ClusterProcesses, tmp_path: Path, record_property: Property
) -> None:
    """One worker has nothing and is sent all; the other has the image, and makes a template of its own."""
    processes.start_worker("empty", qemu="")
    processes.start_worker("own", qemu="", XDG_CACHE_HOME=shares_images(processes, "own"))
    processes.wait_for_workers()
    where = ("--executor", f"dask={processes.address}")
    assert "sending the image base" in finished(tmp_path / "cluster-run", *where)
    finished(tmp_path / "pool", "--workers", "1")
    assert fingerprint(tmp_path / "cluster-run") == fingerprint(tmp_path / "pool")
    workers = [processes.folder / name / "scratch" for name in ("empty", "own")]
    assert wait_until(lambda: not any(list(one.rglob("tunbench-*")) for one in workers), 5)
    record_property("reliability", "2 workers with caches of their own, one of them empty: the pool's fingerprint")


@pytest.mark.long
@pytest.mark.timeout(10800)
def test_a_worker_with_vms_is_killed_20_times_at_random_moments(
    processes: ClusterProcesses, tmp_path: Path, record_property: Property
) -> None:
    chance, alike, given_back = random.Random(3), set[str](), 0
    finished(tmp_path / "pool", "--workers", "1")
    for number in range(20 + 2):
        processes.start_worker(str(number), qemu="", XDG_CACHE_HOME=shares_images(processes, str(number)))
        if number < 2:
            continue
        processes.wait_for_workers()
        process = begin(folder := tmp_path / f"run-{number}", "--executor", f"dask={processes.address}")
        _wait_for_lines(process, folder, chance.randrange(1, 40))
        victim = chance.choice(list(processes.workers))
        processes.kill(victim)
        _, said = process.communicate(timeout=1500)
        assert process.returncode == 0, said
        alike.add(fingerprint(folder))
        given_back += sum(one.get("state") == "interrupted" for one in journal.events(folder))
        _check_nothing_is_left(processes.folder / victim / "scratch")
    assert alike == {fingerprint(tmp_path / "pool")}
    assert given_back >= 3
    record_property("reliability", f"20 kills of one of 3 workers; {given_back} shards given back; one fingerprint")


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_scheduler_that_is_killed_and_started_again_loses_nothing(
    processes: ClusterProcesses, tmp_path: Path, record_property: Property
) -> None:
    processes.start_worker("one", qemu="", XDG_CACHE_HOME=shares_images(processes, "one"))
    processes.wait_for_workers()
    process = begin(folder := tmp_path / "run", "--executor", f"dask={processes.address}")
    assert wait_until(lambda: '"finished"' in _text(folder), 900)
    processes.kill_scheduler()
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2 and "does not answer any more; start it again" in said.replace("\n", " "), said
    processes.kill("one")
    processes.start_scheduler()
    processes.start_worker("two", qemu="", XDG_CACHE_HOME=shares_images(processes, "two"))
    processes.wait_for_workers()
    finished(folder, "--executor", f"dask={processes.address}")
    finished(tmp_path / "pool", "--workers", "1")
    assert fingerprint(folder) == fingerprint(tmp_path / "pool")
    record_property("reliability", "exit code 2 and what was measured kept; --resume gives the pool's fingerprint")


def _text(folder: Path) -> str:
    return (folder / journal.NAME).read_text() if (folder / journal.NAME).exists() else ""


def _wait_for_lines(process: "subprocess.Popen[str]", folder: Path, count: int) -> None:
    assert wait_until(lambda: process.poll() is not None or _text(folder).count("\n") >= count, 600)


def _check_nothing_is_left(work: Path) -> None:
    assert wait_until(lambda: not that_name(work) and not list(work.rglob("tunbench-*")), 5)
