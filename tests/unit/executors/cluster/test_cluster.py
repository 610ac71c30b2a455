"""Runs on real schedulers and workers, each a process with a cache of its own; their labs start no VM."""

import gc
import multiprocessing
import random
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.clusters import VERSION, ClusterProcesses
from tests.helpers.host import install_program
from tests.helpers.runs import ending_after, ordered
from tests.helpers.stub_worker import StubLab
from tests.helpers.traces import that_name
from tunbench.doctor.workers import worker_checks
from tunbench.executors import pool
from tunbench.executors.choice import DaskChoice, ExecutorError
from tunbench.executors.cluster import cluster, connection, sent_template
from tunbench.executors.cluster.sent_template import sent_templates
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.labs import image
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.templates import seal
from tunbench.labs.vm.templates import start as templates
from tunbench.run.execution import create, go
from tunbench.run.order import Order, RunError
from tunbench.runner.node.shell import wait_until

PLAN = """\
name = "any"
seed = 5
repeats = 2
stacks = ["none", "wireguard"]
workloads = ["ping:count=5"]
"""


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a small base image, and a QEMU that tells its version."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    (folder / "bin").mkdir()
    install_program(folder / "bin", "qemu-system-x86_64", f"echo {VERSION}")
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    small_image(BASE.folder, b"squashfs")
    return folder


def small_image(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "image.squashfs").write_bytes(content * 1000)
    (folder / "vmlinux").write_bytes(b"")
    (folder / "boot.cpio").write_bytes(b"first stage")
    image.write_manifest(folder, {"name": "base"}, {"kmod": "30"})


def base_in(home: Path) -> Path:
    return home / "cache" / "tunbench" / "images" / BASE.folder.name


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    """A scheduler with two workers, which no test ends."""
    found = ClusterProcesses(tmp_path_factory.mktemp("two"))
    with ended(found):
        found.start_scheduler()
        found.start_worker("one", STUB_SECONDS="0.3")
        found.start_worker("two", STUB_SECONDS="0.3")
        found.wait_for_workers()
        yield found


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ClusterProcesses]:
    """A scheduler, to which a test adds workers."""
    found = ClusterProcesses(tmp_path / "cluster")
    with ended(found):
        found.start_scheduler()
        yield found


@contextmanager
def ended(processes: ClusterProcesses) -> Iterator[None]:
    try:
        yield
    finally:
        processes.close()


@contextmanager
def on(processes: ClusterProcesses, said: list[str], text: str = PLAN) -> Iterator[Order]:
    """An order of the plan on a cluster."""
    order = ordered(StubLab(), text)  # type: ignore[arg-type]
    choice = DaskChoice(processes.address)
    with cluster.joined(choice, order.lab, order.loaded, order.overrides, said.append) as lab:
        yield order._replace(lab=lab)


def run(
    processes: ClusterProcesses, folder: Path, watch: Callable[[Any], None] = [].append, text: str = PLAN
) -> list[str]:
    """Begins a run on a cluster, or goes on with it; what was said."""
    said: list[str] = []
    with on(processes, said, text) as order:
        if not folder.exists():
            create(folder, order)
        assert go(folder, order, order.lab.seats, watch) == []  # type: ignore[attr-defined]
    return said


def by_the_pool(folder: Path, text: str = PLAN) -> str:
    """The fingerprint of the same run on this machine."""
    order = ordered(StubLab(), text)  # type: ignore[arg-type]
    create(folder, order)
    go(folder, order, 1, lambda _: None)
    return fingerprint(folder)


def fingerprint(folder: Path) -> str:
    record = record_of(folder)
    assert record.interrupted == ()
    return str(record.manifest["fingerprint"])


def shards_in(processes: ClusterProcesses) -> list[str]:
    """The processes of shards on workers."""
    return [one for one in that_name(processes.folder) if "/tunbench-" in one]


def states(folder: Path) -> list[str]:
    return [one["state"] for one in journal.events(folder) if one["event"] == "shard"]


def test_the_fingerprint_is_that_of_the_pool_and_an_image_is_sent_once(
    two: ClusterProcesses, tmp_path: Path, home: Path
) -> None:
    assert run(two, tmp_path / "a") == ["sending the image base (0 MiB) to 2 workers"]
    assert fingerprint(tmp_path / "a") == by_the_pool(tmp_path / "pool")
    assert (tmp_path / "a" / "trials").is_dir()
    assert run(two, tmp_path / "b") == [], "it is there by its digest"
    for name in ("one", "two"):
        received = two.folder / name / "cache" / "tunbench" / "received"
        digest = image.check(BASE)["digest"]
        assert sorted(path.name for path in received.iterdir()) == sorted([digest, "views"])
        damaged = received / digest / "image.squashfs"
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    assert run(two, tmp_path / "c") == ["sending the image base (0 MiB) to 2 workers"], "what is damaged is sent anew"
    assert fingerprint(tmp_path / "c") == fingerprint(tmp_path / "a")
    left = [path for name in ("one", "two") for path in (two.folder / name / "scratch").rglob("tunbench-*")]
    assert left == [], "nothing but what is kept by its digest is left on a worker"


def test_a_template_that_this_machine_has_is_sent_and_one_that_it_has_not_is_not(
    two: ClusterProcesses, tmp_path: Path
) -> None:
    order = ordered(StubLab(), PLAN)  # type: ignore[arg-type]
    assert sent_templates(order.lab, order.shards) == []

    def saved(folder: Path) -> None:
        (folder / "state").write_bytes(b"state")

    name = sent_template._name(order.lab, order.shards[0])
    with templates.shelf().held(name, saved):
        pass
    said = run(two, tmp_path / "run")
    assert [text for text in said if "template" in text] == [f"sending the template {name} (0 MiB) to 2 workers"]
    for worker in ("one", "two"):
        assert seal.whole(two.folder / worker / "cache" / "tunbench" / "templates" / name)
    assert not [text for text in run(two, tmp_path / "again") if "template" in text]


def test_doctor_tells_what_each_worker_can_run(two: ClusterProcesses, home: Path) -> None:
    scheduler, *workers = worker_checks(DaskChoice(two.address))
    assert (scheduler.ok, scheduler.found) == (True, "2 workers, 2 shards at a time")
    assert len(workers) == 2
    for row in workers:
        assert row.ok and row.what.startswith("worker tcp://127.0.0.1:")
        assert f"1 shard at a time, {VERSION}, " in row.found and " tunnels; has " in row.found
    install_program(home / "bin", "qemu-system-x86_64", "echo QEMU emulator version 9.0.0")
    scheduler, *workers = worker_checks(DaskChoice(two.address))
    assert (scheduler.ok, scheduler.needed, scheduler.mend) == (False, True, "mend what the workers below say")
    assert [row.ok for row in workers] == [False, False]
    assert all(f"has {VERSION}, and this machine QEMU emulator version 9.0.0" in row.found for row in workers)


UNTIL = PLAN + 'until = { width = "1%", max = 10 }\n'


def test_with_until_the_same_blocks_are_asked_for(two: ClusterProcesses, tmp_path: Path) -> None:
    run(two, tmp_path / "run", text=UNTIL)
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool", UNTIL)
    assert states(tmp_path / "run").count("finished") > 10


def test_ctrl_c_ends_what_is_under_way_on_workers_and_resume_goes_on(two: ClusterProcesses, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(two, tmp_path / "run", ending_after(1, KeyboardInterrupt))
    assert wait_until(lambda: not shards_in(two), 10), "no process is left"
    assert wait_until(lambda: not list(two.folder.glob("*/scratch/**/tunbench-*")), 10), "no folder is left"
    run(two, tmp_path / "run")
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")


def _killed_after_the_first_shard(address: str, folder: Path) -> None:
    found: Any = SimpleNamespace(address=address)
    run(found, folder, ending_after(1, signal.SIGKILL))


def test_where_the_command_is_killed_workers_end_what_they_do_and_resume_goes_on(
    two: ClusterProcesses, tmp_path: Path
) -> None:
    command = multiprocessing.get_context("spawn").Process(
        target=_killed_after_the_first_shard, args=(two.address, tmp_path / "run")
    )
    command.start()
    command.join(120)
    assert command.exitcode == -signal.SIGKILL
    assert wait_until(lambda: not shards_in(two), 10), "no process is left"
    assert wait_until(lambda: not list(two.folder.glob("*/scratch/**/tunbench-*")), 10), "no folder is left"
    run(two, tmp_path / "run")
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")


def test_a_worker_that_is_slow_changes_nothing(two: ClusterProcesses, tmp_path: Path) -> None:
    begun = threading.Event()

    def suspend() -> None:
        begun.wait(60)
        two.suspend("one", 2)

    helper = threading.Thread(target=suspend)
    helper.start()
    run(two, tmp_path / "run", lambda _: begun.set())
    helper.join()
    assert "interrupted" not in states(tmp_path / "run")
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")


def test_two_runs_share_a_cluster(two: ClusterProcesses, tmp_path: Path) -> None:
    found: dict[int, list[pool.ShardEvent]] = {}

    def execute(seed: int) -> None:
        with on(two, [], PLAN.replace("seed = 5", f"seed = {seed}")) as order:
            lab: Any = order.lab
            scratch = tmp_path / str(seed)
            found[seed] = list(pool.execute(lab, deque(order.shards), lab.seats, scratch))

    threads = [threading.Thread(target=execute, args=(seed,)) for seed in (6, 7)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for seed in (6, 7):
        ended = [one.line for one in found[seed] if one.line["event"] == "shard"]
        assert [line["state"] for line in ended].count("finished") == 4, ended
        assert len({line["shard"] for line in ended}) == 4, "none of the other run"
    assert len({one.shard.id for told in found.values() for one in told}) == 8


def test_a_worker_that_comes_later_takes_part_and_one_that_dies_gives_its_shard_back(
    own: ClusterProcesses, tmp_path: Path
) -> None:
    # Longer than all that another one does.
    own.start_worker("first", STUB_SECONDS="600")
    own.wait_for_workers()
    told: list[str] = []

    def watch(one: pool.ShardEvent) -> None:
        told.append(str(one.line.get("state")))
        if told == ["started"]:
            own.start_worker("later", STUB_SECONDS="0.2")
            own.wait_for_workers()
        elif told[-1] == "finished" and told.count("finished") == 1:
            own.kill("first")

    said = run(own, tmp_path / "run", watch)
    assert any("is gone; its shards begin anew elsewhere" in text for text in said)
    assert states(tmp_path / "run").count("interrupted") == 1
    assert states(tmp_path / "run").count("finished") == 4
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")
    assert wait_until(lambda: not shards_in(own), 10), "its shard ended with it"
    assert not list(own.folder.glob("*/scratch/**/tunbench-*"))


def test_a_scheduler_that_goes_ends_the_run_and_resume_goes_on_with_another_one(
    own: ClusterProcesses, tmp_path: Path
) -> None:
    own.start_worker("one", STUB_SECONDS="0.5")
    own.wait_for_workers()

    def watch(one: pool.ShardEvent) -> None:
        if one.line.get("state") == "finished" and own.scheduler and own.scheduler.poll() is None:
            own.kill_scheduler()

    with pytest.raises(
        RunError, match=r"does not answer any more; start it again\nWhat was measured is kept\. Go on with: "
    ):
        run(own, tmp_path / "run", watch)
    finished = states(tmp_path / "run").count("finished")
    assert finished >= 1
    own.kill("one")
    own.start_scheduler()
    own.start_worker("again")
    own.wait_for_workers()
    run(own, tmp_path / "run")
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")


def test_workers_that_cannot_are_refused_and_another_does_it_all(own: ClusterProcesses, tmp_path: Path) -> None:
    nobody = pytest.raises(ExecutorError, match=r"has no workers; start some with: dask worker tcp://127\.0\.0\.1:")
    with nobody, on(own, []):
        pass
    own.start_worker("other", qemu="QEMU emulator version 9.0.0")
    own.wait_for_workers()
    none_that_can = pytest.raises(ExecutorError, match=r"no worker of .* can execute this run\n  tcp://.*: has QEMU")
    with none_that_can, on(own, []):
        pass
    own.start_worker("full", STUB_FULL="1")
    own.start_worker("greedy", threads=900)
    own.start_worker("filled", STUB_FILLED="1")
    own.start_worker("wrong", STUB_SECONDS="0.2")
    small_image(base_in(own.folder / "wrong"), b"another squashfs")
    before = (base_in(own.folder / "wrong") / "image.squashfs").read_bytes()
    own.wait_for_workers()
    said = "\n".join(run(own, tmp_path / "run"))
    assert f"is not used: has QEMU emulator version 9.0.0, and this machine {VERSION}, which counts otherwise" in said
    assert "is not used: cannot take the image base: No space left on device; make room there" in said
    assert "900 shards at a time take up to 1382400 MiB; start it with fewer --nthreads" in said
    assert "is not used: OSError: [Errno 28] No space left on device" in said
    assert said.count("is not used") == 4
    assert states(tmp_path / "run").count("interrupted") == 1, "the shard that filled the disk began anew elsewhere"
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")
    assert (base_in(own.folder / "wrong") / "image.squashfs").read_bytes() == before, "its own image is left alone"
    assert not list((own.folder / "full" / "cache" / "tunbench" / "received").glob(".incoming-*"))


OTHER_VERSION = """\
from distributed import versions
whole = versions.get_package_info
def get_package_info(packages):
    return {**dict(whole(packages)), "distributed": "2020.1.0"}
versions.get_package_info = get_package_info
from distributed.cli.dask_scheduler import main
main()
"""


def test_a_scheduler_of_another_version_is_refused(tmp_path: Path) -> None:
    found = ClusterProcesses(tmp_path)
    with ended(found):
        found.start_scheduler(OTHER_VERSION)
        with pytest.raises(ExecutorError, match=r"has Dask distributed 2020\.1\.0, and this machine"), on(found, []):
            pass


def certificates(folder: Path) -> Path:
    """A key, and a certificate that signs itself: whoever has both is let in."""
    folder.mkdir()
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2", "-subj", "/CN=lab"]
    subprocess.run([*argv, "-addext", "basicConstraints=critical,CA:TRUE"], check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return folder


def test_with_certificates_a_run_goes_over_tls_and_nobody_else_is_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    keys = certificates(tmp_path / "keys")
    found = ClusterProcesses(tmp_path / "cluster", certificates=keys)
    both = str(keys / "both.pem")
    tls = "distributed.comm.tls"
    known = {f"{tls}.ca-file": str(keys / "cert.pem"), f"{tls}.client.cert": both, f"{tls}.client.key": both}
    with ended(found):
        found.start_scheduler()
        found.start_worker("one")
        found.wait_for_workers()
        with dask.config.set(known):
            run(found, tmp_path / "run")
        assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")
        monkeypatch.setattr(connection, "ANSWER_SECONDS", 1.0)
        with pytest.raises(ExecutorError, match="Dask has no certificates for it"), on(found, []):
            pass
        other = str(certificates(tmp_path / "other") / "both.pem")
        strange = {**known, f"{tls}.client.cert": other, f"{tls}.client.key": other}
        with (
            dask.config.set(strange),
            pytest.raises(ExecutorError, match="no scheduler of Dask answers"),
            on(found, []),
        ):
            pass


def test_what_dask_leaves_of_a_refused_client_is_not_collected_by_the_next_ones_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from distributed.compatibility import asyncio_run as started

    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.5)

    def collecting(*given: Any, **options: Any) -> Any:
        gc.collect()
        return started(*given, **options)

    gc.disable()
    try:
        with (
            pytest.raises(ExecutorError, match="no certificates"),
            connection.connected(DaskChoice("tls://127.0.0.1:1")),
        ):
            pass
        monkeypatch.setattr("distributed.utils.asyncio_run", collecting)
        with pytest.raises(ExecutorError, match="no scheduler"), connection.connected(DaskChoice("tcp://127.0.0.1:1")):
            pass
    finally:
        gc.enable()


def test_an_address_where_nothing_answers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.5)
    found = ClusterProcesses(tmp_path)
    with (
        pytest.raises(ExecutorError, match=r"no scheduler of Dask answers at tcp://127\.0\.0\.1:\d+ within"),
        on(found, []),
    ):
        pass


@pytest.mark.long
@pytest.mark.reliability
@pytest.mark.timeout(3600)
def test_one_of_three_workers_is_killed_20_times_at_random_moments(
    own: ClusterProcesses, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance, expected = random.Random(1), by_the_pool(tmp_path / "pool")
    killed, given_back = 0, 0
    for name in ("0", "1", "2"):
        own.start_worker(name, STUB_SECONDS="0.5")
    own.wait_for_workers()
    for number in range(20):
        left = [chance.randrange(20)]

        def watch(_: pool.ShardEvent, left: list[int] = left, victim: str = str(number)) -> None:
            left[0] -= 1
            if left[0] == 0:
                own.kill(victim)

        run(own, folder := tmp_path / f"run-{number}", watch)
        if str(number) in own.workers:
            own.kill(str(number))
        killed, given_back = killed + 1, given_back + states(folder).count("interrupted")
        assert fingerprint(folder) == expected
        assert not list(own.folder.glob("*/scratch/*/tunbench-*")), "nothing is left"
        own.start_worker(str(number + 3), STUB_SECONDS="0.5")
        own.wait_for_workers()
    assert given_back >= 3
    record_property(
        "reliability", f"{killed} kills; {given_back} shards given back and done; one fingerprint, the pool's"
    )


def test_workers_of_this_process_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tunbench.executors.cluster import on_worker_task

    monkeypatch.setattr(on_worker_task, "lab", lambda kind, clock: StubLab())
    order, said = ordered(StubLab(), PLAN), list[str]()  # type: ignore[arg-type]
    with cluster.joined(DaskChoice("", 2), order.lab, order.loaded, order.overrides, said.append) as lab:
        create(tmp_path / "run", order)
        assert lab.seats() == 2
        go(tmp_path / "run", order._replace(lab=lab), lab.seats, lambda _: None)
    assert said == [], "they share this machine's cache, and nothing is sent"
    assert fingerprint(tmp_path / "run") == by_the_pool(tmp_path / "pool")
