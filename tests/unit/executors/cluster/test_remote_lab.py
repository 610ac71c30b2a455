"""Shards that are handed out, where the scheduler is a fake: what it tells comes whenever it comes."""

import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.dask_fakes import FakeClient
from tests.helpers.fakes import QuietLab, shard
from tunbench.executors.choice import DaskChoice, ExecutorError
from tunbench.executors.cluster import remote_lab
from tunbench.executors.cluster.remote_lab import RemoteLab


def lab(client: Any, used: dict[str, int] | None = None, failed: str = "") -> RemoteLab:
    used = {"tcp://1": 2} if used is None else used
    crew: Any = SimpleNamespace(run="run", used=used, seats=sum(used.values()), refuse=None)
    vars(crew).update(reasons="\n  tcp://2: no", failed=failed)
    inner: Any = QuietLab()
    return RemoteLab(inner, client, DaskChoice("tcp://127.0.0.1:8786"), crew)


def told(key: str) -> list[dict[str, Any]]:
    head = {"key": key, "attempt": "x", "worker": "tcp://1"}
    return [
        {**head, "began": True},
        {**head, "lines": zlib.compress(b"a\nb")},
        {**head, "over": 2, "age": 1, "words": ""},
    ]


def test_what_a_worker_tells_before_it_is_known_what_it_was_handed_is_not_lost(tmp_path: Path) -> None:
    one = lab(FakeClient(told)).start(shard("none"), tmp_path)
    assert one.lines() == [b"a", b"b"] and not one.running() and one.lost == ""
    one.stop()


def test_what_is_told_of_a_shard_that_nobody_waits_for_is_left_aside(tmp_path: Path) -> None:
    client = FakeClient()
    remote = lab(client)
    first = remote.start(shard("none"), tmp_path)
    [key] = client.tasks
    first.stop()
    second = remote.start(shard("none"), tmp_path)
    for message in (*told(key), *told("another run's"), "", None, {"key": 7}):
        client.tell(message)
    assert second.lines() == [] and second.running()
    assert len(client.tasks) == 2, "each attempt is a task of its own"
    remote.close()
    assert all(task.released == 1 for task in client.tasks.values())
    assert client.logged == remote_lab.KEPT_MESSAGES and client.handlers == {}


def test_as_many_messages_push_out_those_of_a_run_as_a_scheduler_keeps() -> None:
    from dask import config

    client = FakeClient()
    with config.set({remote_lab.KEPT_SETTING: 7}):
        lab(client).close()
    assert client.logged == 7


def test_a_scheduler_that_goes_while_a_run_ends_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(topics: object, message: object) -> None:
        raise OSError("Stream is closed")

    client = FakeClient()
    monkeypatch.setattr(client, "log_event", gone)
    lab(client).close()
    assert client.handlers == {}


def test_seats_are_those_of_the_workers_and_a_scheduler_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient()
    assert lab(client).seats() == 2
    monkeypatch.setattr(remote_lab, "PATIENCE", -1.0)
    with pytest.raises(ExecutorError, match=r"has had no worker for -1 s; start some\n  tcp://2: no"):
        lab(client, {}).seats()
    client.status = "connecting"
    with pytest.raises(ExecutorError, match=r"the scheduler at tcp://127\.0\.0\.1:8786 does not answer any more"):
        lab(client).seats()


def test_what_went_wrong_while_workers_were_looked_for_ends_the_run() -> None:
    with pytest.raises(ExecutorError, match="looking for workers has failed"):
        lab(FakeClient(), failed="looking for workers has failed").seats()


def test_all_else_of_it_is_of_this_machine() -> None:
    remote = lab(FakeClient())
    assert (remote.kind, remote.clock, remote.extras, remote.plugins) == ("vm", "virtual", (), ())
    assert (remote.exclusive, remote.hidden_folders) == (False, ())
    assert remote.with_extras([]).with_plugins([]) is remote
    assert remote.check([], [], []) == {} and remote.examine([]) is None
    assert remote.deciding_facts == QuietLab.deciding_facts
