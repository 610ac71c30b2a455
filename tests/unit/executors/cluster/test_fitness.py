import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tunbench.executors.choice import DaskChoice
from tunbench.executors.cluster import on_worker_greeting, on_worker_task
from tunbench.executors.cluster.connection import caution
from tunbench.executors.cluster.fitness import ROOM_BYTES, VM_BYTES, judged
from tunbench.executors.cluster.on_worker_greeting import code_digest, said_here

HERE = {"tunbench": "0.1.0 abc", "dask": "2026.8.0", "qemu": "QEMU emulator version 7.2.22"}

WORKER = {**HERE, "host": "a", "memory": 4 * VM_BYTES, "cache": "a 1 2", "room": 1 << 40, "unusable": ""}


def refusal(said: Any, threads: int = 1, to_send: int = 0) -> str:
    [one] = judged({"tcp://1": said}, {"tcp://1": threads}, HERE, {"tcp://1": to_send})
    assert one.address == "tcp://1"
    return one.refusal


def test_one_that_is_alike_is_used() -> None:
    assert refusal(WORKER) == ""
    assert refusal(WORKER, threads=4) == ""


@pytest.mark.parametrize(
    ("differs", "reason"),
    [
        ({"tunbench": "0.1.0 abd"}, "has Tunbench 0.1.0 abd, and this machine 0.1.0 abc; install the same there"),
        ({"dask": "2025.1.0"}, "has Dask distributed 2025.1.0, and this machine 2026.8.0; install the same there"),
        ({"qemu": ""}, "QEMU is not installed there; install it with: apt-get install qemu-system-x86"),
        ({"qemu": "QEMU 9"}, "has QEMU 9, and this machine QEMU emulator version 7.2.22, which counts otherwise"),
        ({"unusable": "cannot write to /x: No"}, "cannot write to /x: No"),
        ({"room": ROOM_BYTES - 1}, "has room for 511 MiB in its cache, and 512 MiB are needed; make room there"),
        (
            {"memory": VM_BYTES - 1},
            "has 1535 MiB of memory for VMs, and 1 shard at a time take up to 1536 MiB; start it with fewer "
            "--nthreads, or free some",
        ),
        ({"qemu": "QEMU\x1b[2J9"}, "has QEMU"),
    ],
)
def test_one_that_is_not_is_refused_with_the_reason(differs: dict[str, Any], reason: str) -> None:
    found = refusal({**WORKER, **differs})
    assert found.startswith(reason) and "\x1b" not in found


def test_what_it_is_sent_needs_room_as_well() -> None:
    assert refusal({**WORKER, "room": ROOM_BYTES + 5}, to_send=5) == ""
    assert refusal({**WORKER, "room": ROOM_BYTES + 4}, to_send=5).startswith("has room for 512 MiB")


def test_workers_of_one_host_share_its_memory() -> None:
    names = [f"tcp://{number}" for number in range(6)]
    found = judged(dict.fromkeys(names, WORKER), dict.fromkeys(names, 1), HERE, {})
    assert [bool(one.refusal) for one in found] == [False] * 4 + [True] * 2
    other = {**WORKER, "host": "b"}
    apart = judged({"tcp://1": WORKER, "tcp://2": other}, {"tcp://1": 4, "tcp://2": 4}, HERE, {})
    assert [one.refusal for one in apart] == ["", ""]


def test_those_that_are_used_already_share_it_too() -> None:
    [used] = judged({"tcp://1": WORKER}, {"tcp://1": 3}, HERE, {})
    late = {"tcp://2": WORKER, "tcp://3": WORKER, "tcp://4": {**WORKER, "host": "b"}}
    found = judged(late, dict.fromkeys(late, 1), HERE, {}, [used])
    assert [(one.short, one.refusal[:11]) for one in found] == [(False, ""), (True, "has 0 MiB o"), (False, "")]
    [unknown] = judged({"tcp://2": {**WORKER, "memory": -1}}, {"tcp://2": 9}, HERE, {}, [used])
    assert unknown.refusal == ""


def test_a_stack_that_needs_more_memory_asks_for_it_of_each_thread() -> None:
    usual, larger = (
        judged({"tcp://1": WORKER}, {"tcp://1": 4}, HERE, {}, vm_bytes=size) for size in (VM_BYTES, VM_BYTES + 1)
    )
    assert (usual[0].refusal, larger[0].short) == ("", True)


def test_memory_of_vms_of_workers_is_free_for_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 8388608 kB\nMemAvailable: 1048576 kB\n")
    monkeypatch.setattr(on_worker_greeting, "MEMORY", tmp_path / "meminfo")
    # Of all processes it sees one, since other tests may have VMs of workers meanwhile.
    monkeypatch.setattr(on_worker_greeting, "PROCESSES", seen := tmp_path / "proc")
    seen.mkdir()
    assert said_here()["memory"] == 1 << 30
    hold = "held = bytearray(b'x' * (300 << 20)); print(flush=True); input()"
    argv = [sys.executable, "-c", hold, f"file:/x/{on_worker_task.SHARD_FOLDER}1/console.log"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as vm:
        assert vm.stdout and vm.stdout.readline()
        (seen / str(vm.pid)).symlink_to(f"/proc/{vm.pid}")
        assert 300 << 20 < said_here()["memory"] - (1 << 30) < 400 << 20
        vm.communicate(b"\n")
    assert said_here()["memory"] == 1 << 30


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'tunbench'", name="tunbench"), "Tunbench is not installed there, or is"),
        (
            ModuleNotFoundError("no", name="tunbench.executors.cluster"),
            "Tunbench is not installed there, or is another",
        ),
        (ModuleNotFoundError("no", name="numpy"), "does not answer as a worker does: ModuleNotFoundError: no"),
        (OSError("it is gone"), "does not answer as a worker does: OSError: it is gone"),
        ("well", "does not answer as a worker does: str: well"),
    ],
)
def test_one_that_does_not_say_what_it_is_is_refused(error: object, reason: str) -> None:
    assert refusal(error).startswith(reason)


def test_this_machine_says_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = said_here()
    assert said["qemu"] == "" and said["unusable"] == "" and said["memory"] > 0 and said["room"] > 0
    assert code_digest()[:12] in said["tunbench"]
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert said_here()["unusable"].startswith("cannot write to")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (DaskChoice("tcp://10.0.0.1:8786"), True),
        (DaskChoice("tcp://127.0.0.1:8786"), False),
        (DaskChoice("tcp://localhost:8786"), False),
        (DaskChoice("tcp://[::1]:8786"), False),
        (DaskChoice("tcp://[::2]:8786"), True),
        (DaskChoice("tcp://localhost.example.org:8786"), True),
        (DaskChoice("tcp://127.example.org:8786"), True),
        (DaskChoice("tls://10.0.0.1:8786"), False),
        (DaskChoice("", 2), False),
    ],
)
def test_an_open_connection_is_said_where_it_leaves_the_machine(choice: DaskChoice, said: bool) -> None:
    assert bool(caution(choice)) == said
