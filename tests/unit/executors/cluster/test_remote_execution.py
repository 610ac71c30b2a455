"""A shard on a worker, as its messages come: the network is not there, and the task is a fake."""

import select
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.dask_fakes import FakeTask
from tunbench.executors.cluster.remote_execution import RemoteExecution
from tunbench.runner.declare.warnings import WarningKind


class Handed:
    """A shard that was handed out to two workers."""

    def __init__(self) -> None:
        self.task = FakeTask()
        self.alive = {"tcp://1", "tcp://2"}
        self.refused: dict[str, str] = {}
        task: Any = self.task
        self.execution = RemoteExecution(
            task, ["tcp://1", "tcp://2"], lambda: self.alive, lambda worker, why: self.refused.update({worker: why})
        )

    def tell(self, attempt: str = "x", worker: str = "tcp://1", **what: object) -> None:
        self.execution.told({"key": "k", "attempt": attempt, "worker": worker, **what})

    def lines(self, *lines: bytes) -> None:
        self.tell(lines=zlib.compress(b"\n".join(lines)))


@pytest.fixture
def handed() -> Iterator[Handed]:
    found = Handed()
    yield found
    found.execution.stop()


def rings(handed: Handed) -> bool:
    poll = select.poll()
    for descriptor in handed.execution.wakes:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def test_what_a_worker_tells_comes_as_lines_and_rings(handed: Handed) -> None:
    assert handed.execution.running() and not rings(handed)
    assert handed.execution.age() == 0.0, "nobody has begun it"
    handed.tell(began=True)
    handed.lines(b"a", b"b")
    assert rings(handed)
    assert handed.execution.lines() == [b"a", b"b"]
    assert not rings(handed) and handed.execution.lines() == []
    assert handed.execution.age() > 0
    handed.tell(over=2, age=7.5, words="bye")
    assert rings(handed) and not handed.execution.running()
    assert (handed.execution.age(), handed.execution.lost) == (7.5, "")
    assert handed.execution.last_words() == "worker tcp://1: bye"


def test_the_end_of_its_task_rings_and_does_not_make_a_shard_lost_that_is_over(handed: Handed) -> None:
    handed.tell(began=True)
    handed.tell(over=0, age=1.0, words="")
    handed.task.status = "finished"
    handed.execution.lines()
    handed.task.callbacks[0](handed.task)
    assert rings(handed)
    assert not handed.execution.running() and handed.execution.lost == ""


def test_a_shard_whose_end_comes_while_it_is_asked_about_is_not_lost(handed: Handed) -> None:
    handed.tell(began=True)
    done = handed.task.done

    def done_meanwhile() -> bool:
        before = done()
        handed.tell(over=0, age=1.0, words="")
        handed.task.status = "finished"
        return before

    vars(handed.task)["done"] = done_meanwhile
    handed.execution.running()
    assert handed.execution.lost == "" and not handed.execution.running()


def test_a_task_that_is_done_without_having_told_its_end_is_lost(handed: Handed) -> None:
    handed.tell(began=True)
    handed.task.status = "lost"
    assert not handed.execution.running()
    assert handed.execution.lost == "worker tcp://1 did not execute it: lost"
    assert handed.refused == {}


def test_a_worker_that_cannot_execute_it_takes_no_more(handed: Handed) -> None:
    handed.tell(began=True)
    handed.task.status = "error"
    assert not handed.execution.running()
    assert handed.refused == {"tcp://1": "OSError: [Errno 28] No space left on device"}
    assert "No space left on device" in handed.execution.last_words()
    assert handed.execution.lost == "worker tcp://1 did not execute it: OSError: [Errno 28] No space left on device"


def test_a_shard_that_would_fail_on_every_worker_does_not_begin_anew_and_none_is_refused(handed: Handed) -> None:
    handed.tell(began=True)
    handed.task.status, handed.task.error = "error", ValueError("no such speed")
    assert not handed.execution.running()
    assert (handed.refused, handed.execution.lost) == ({}, "")
    assert handed.execution.last_words().endswith("worker tcp://1 did not execute it: ValueError: no such speed")


def test_a_shard_whose_workers_died_before_they_told_of_it_begins_anew(handed: Handed) -> None:
    from distributed import KilledWorker

    last: Any = SimpleNamespace(address="tcp://2")
    handed.task.status, handed.task.error = "error", KilledWorker("k", last, 3)
    assert not handed.execution.running()
    assert "KilledWorker" in handed.execution.lost and handed.refused == {}


def test_where_its_worker_has_gone_it_is_lost(handed: Handed) -> None:
    handed.tell(began=True)
    handed.alive = {"tcp://2"}
    assert not handed.execution.running()
    assert handed.execution.lost == "worker tcp://1 is gone"


def test_while_nobody_has_begun_it_one_worker_of_those_it_may_go_to_is_enough(handed: Handed) -> None:
    handed.alive = {"tcp://2"}
    assert handed.execution.running()
    handed.alive = {"tcp://3"}
    assert not handed.execution.running()
    assert handed.execution.lost == "no worker that could take it is there"


def test_another_attempt_says_that_the_first_is_lost_and_is_not_mixed_with_it(handed: Handed) -> None:
    handed.tell(began=True)
    handed.lines(b"a")
    handed.tell("y", "tcp://2", began=True)
    handed.tell("y", "tcp://2", lines=zlib.compress(b"other"))
    assert handed.execution.lines() == [b"a"]
    assert not handed.execution.running() and handed.execution.lost == "worker tcp://1 is gone"


def test_warnings_are_those_that_there_are(handed: Handed) -> None:
    handed.tell(began=True)
    handed.tell(warnings=[["fresh-boot", "no room"], ["evil", "x"]])
    assert handed.execution.warnings == [(WarningKind.FRESH_BOOT, "no room")]


def test_who_stops_it_lets_the_task_go_once(handed: Handed) -> None:
    handed.execution.stop()
    handed.execution.stop()
    assert handed.task.released == 1 and not handed.execution.is_open
    handed.lines(b"late")
