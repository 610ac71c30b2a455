import json
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import FakeExecution, FakeLab, QuietLab, shard
from tunbench.executors import pool
from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import WarningRaised
from tunbench.labs import inotify
from tunbench.labs.process_group import ProcessGroup
from tunbench.plan.shard import Shard
from tunbench.runner.declare.warnings import WarningKind

SHARDS = [shard("none", repeat) for repeat in range(1, 6)]

PHASE = {"event": "phase", "name": "nodes", "at": 1.0}
TRIAL = {"event": "trial", "workload": "ping:count=5", "verdict": "ok", "reason": "", "samples": []}
END = {"event": "phase", "name": "end", "at": 2.0}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "POLL", 0.001)


def lines(*events: dict[str, Any], first: int = 0) -> bytes:
    return b"".join(json.dumps({"n": first + n, **event}).encode() + b"\n" for n, event in enumerate(events))


WHOLE = [lines(PHASE), b"", lines(TRIAL, END, first=1)]


def executed(
    script: Callable[[Shard], FakeExecution], folder: Path, shards: list[Shard] = SHARDS[:1], workers: int = 1
) -> tuple[list[ShardEvent], FakeLab]:
    lab = FakeLab(script)
    told = list(pool.execute(lab, deque(shards), pool.seats_of(workers), folder))
    assert all(one.stopped for one in lab.executions)
    return told, lab


def as_told(told: ShardEvent) -> dict[str, Any]:
    """What a lab told, of its own shard."""
    assert told.line["shard"] == told.shard.id
    return {key: value for key, value in told.line.items() if key != "shard"}


def states(told: list[ShardEvent]) -> list[tuple[int, str]]:
    return [(one.shard.repeat, one.line["state"]) for one in told if one.line["event"] == "shard"]


def test_what_happens_is_told_as_it_happens(tmp_path: Path) -> None:
    told, _ = executed(lambda _: FakeExecution(WHOLE), tmp_path)
    assert [as_told(one) for one in told] == [
        {"event": "shard", "state": "started", "spec": SHARDS[0].spec()},
        *(PHASE, TRIAL, END),
        {"event": "shard", "state": "finished", "wall": 1.0},
    ]
    assert list(tmp_path.iterdir()) == [], "nothing is left of a shard that is over"


def test_what_there_was_to_warn_of_when_it_was_started_is_told_first(tmp_path: Path) -> None:
    def warned(_: Shard) -> FakeExecution:
        execution = FakeExecution(WHOLE)
        execution.warnings = ((WarningKind.FRESH_BOOT, "no room"),)
        return execution

    told, _ = executed(warned, tmp_path)
    assert as_told(told[1]) == {"event": "warning", "name": "fresh-boot", "text": "no room"}
    assert told[1].event == WarningRaised(SHARDS[0].id, "fresh-boot", "no room")
    assert as_told(told[2]) == PHASE


def test_one_worker_executes_one_after_the_other_in_order(tmp_path: Path) -> None:
    told, lab = executed(lambda _: FakeExecution(WHOLE), tmp_path, SHARDS)
    assert states(told) == [(repeat, state) for repeat in range(1, 6) for state in ("started", "finished")]
    assert lab.most == 1


@pytest.mark.parametrize("workers", [2, 3, 100])
def test_workers_execute_side_by_side_and_begin_in_order(workers: int, tmp_path: Path) -> None:
    told, lab = executed(lambda _: FakeExecution(WHOLE), tmp_path, SHARDS, workers)
    assert [repeat for repeat, state in states(told) if state == "started"] == [1, 2, 3, 4, 5]
    assert sorted(states(told)) == sorted(
        (repeat, state) for repeat in range(1, 6) for state in ("started", "finished")
    )
    assert lab.most == min(workers, 5)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_events_of_a_shard_do_not_depend_on_the_number_of_workers(workers: int, tmp_path: Path) -> None:
    told, _ = executed(lambda _: FakeExecution(WHOLE), tmp_path, SHARDS, workers)
    for one in SHARDS:
        events = [as_told(item) for item in told if item.shard is one]
        assert events[1:-1] == [PHASE, TRIAL, END]


class Looked(ProcessGroup):
    """A lab whose looks are counted."""

    looks = 0

    def lines(self) -> list[bytes]:
        self.looks += 1
        return super().lines()


class Real(QuietLab):
    """A lab that executes a script of the shell."""

    def __init__(self, script: str) -> None:
        self.script = script

    def start(self, shard: Shard, folder: Path) -> ProcessGroup:
        self.execution = Looked(["sh", "-c", self.script], folder, {"FOLDER": str(folder), "PATH": os.environ["PATH"]})
        return self.execution


def test_nothing_is_looked_at_while_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LONGEST_WAIT", 60.0)
    (tmp_path / "first").write_bytes(lines(PHASE))
    (tmp_path / "last").write_bytes(lines(TRIAL, END, first=1))
    lab = Real(f"cat {tmp_path}/first >>$FOLDER/events.jsonl; sleep 1; cat {tmp_path}/last >>$FOLDER/events.jsonl")
    began = time.monotonic()
    told = list(pool.execute(lab, deque(SHARDS[:1]), lambda: 1, tmp_path / "shards"))
    assert told[-1].line["state"] == "finished"
    assert time.monotonic() - began < 10, "what it tells, and its end, are heard at once"
    assert lab.execution.looks < 8


def test_a_lab_without_a_bell_is_looked_at_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LONGEST_WAIT", 60.0)
    monkeypatch.setattr(inotify.LIBC, "inotify_init1", lambda *_: -1)
    (tmp_path / "all").write_bytes(lines(PHASE, TRIAL, END))
    lab = Real(f"sleep 0.5; cat {tmp_path}/all >>$FOLDER/events.jsonl")
    told = list(pool.execute(lab, deque(SHARDS[:1]), lambda: 1, tmp_path / "shards"))
    assert told[-1].line["state"] == "finished"
    assert lab.execution.looks > 20


def test_no_shards_are_done_at_once(tmp_path: Path) -> None:
    told, lab = executed(lambda _: FakeExecution([]), tmp_path, [])
    assert told == []
    assert lab.executions == []


def test_a_slow_shard_does_not_hold_up_the_others(tmp_path: Path) -> None:
    slow = [lines(PHASE), *[b""] * 50, lines(END, first=1)]
    told, _ = executed(lambda one: FakeExecution(slow if one.repeat == 1 else WHOLE), tmp_path, SHARDS, 2)
    assert [repeat for repeat, state in states(told) if state == "finished"][-1] == 1


def interruption(told: list[ShardEvent]) -> str:
    assert told[-1].line["state"] == "interrupted"
    return str(told[-1].line["reason"])


@pytest.mark.parametrize(
    "batches",
    [
        [],
        [lines(PHASE, TRIAL)],
        [lines(PHASE), lines(TRIAL, first=1)],
        [lines(PHASE, END), lines(TRIAL, first=2)],
    ],
)
def test_a_lab_that_ends_before_the_shard_does_is_interrupted(batches: list[bytes], tmp_path: Path) -> None:
    told, _ = executed(lambda _: FakeExecution(batches), tmp_path)
    assert interruption(told) == "the lab ended before the shard did; its last words:\nKernel panic"


@pytest.mark.parametrize(
    "second",
    [
        lines(TRIAL, END, first=2),
        lines(TRIAL, END, first=0),
        b"not json\n" + lines(END, first=1),
        b"[1]\n" + lines(END, first=1),
        b"7\n" + lines(END, first=1),
        b'{"event":"trial"}\n' + lines(END, first=1),
        lines(TRIAL, first=1) + b"\xff\xfe\n" + lines(END, first=2),
    ],
)
def test_where_an_event_was_lost_the_shard_is_interrupted(second: bytes, tmp_path: Path) -> None:
    told, _ = executed(lambda _: FakeExecution([lines(PHASE), second]), tmp_path)
    assert interruption(told) == "an event of the lab is lost or torn; its last words:\nKernel panic"
    assert END not in [as_told(one) for one in told]


def test_an_event_that_cannot_be_ends_the_shard_at_once_and_is_told(tmp_path: Path) -> None:
    batches = [lines(PHASE, {**TRIAL, "verdict": "splendid"}), lines(END, first=2)]
    told, _ = executed(lambda _: FakeExecution(batches, hangs=True), tmp_path)
    assert interruption(told).startswith("the lab told what cannot be: the verdict of trial is not sound; its last")
    assert [as_told(one) for one in told[1:-1]] == [PHASE]


def test_behind_a_lost_event_nothing_is_believed(tmp_path: Path) -> None:
    batches = [lines(PHASE), lines(TRIAL, first=2), lines(TRIAL, END, first=3)]
    told, _ = executed(lambda _: FakeExecution(batches), tmp_path)
    assert [as_told(one) for one in told[1:-1]] == [PHASE]
    assert "interrupted" in told[-1].line["state"]


@pytest.mark.parametrize("batches", [[lines(PHASE)], WHOLE])
def test_a_shard_is_given_up_when_its_wall_clock_is_over(batches: list[bytes], tmp_path: Path) -> None:
    told, _ = executed(lambda _: FakeExecution(batches, hangs=True, age=pool.WALL_LIMIT + 1), tmp_path)
    assert interruption(told).startswith("the shard did not end within 1800 s of wall clock; its last words:")


def test_a_shard_that_is_interrupted_does_not_stop_the_next(tmp_path: Path) -> None:
    told, _ = executed(lambda one: FakeExecution([] if one.repeat == 1 else WHOLE), tmp_path, SHARDS[:2])
    assert states(told) == [(1, "started"), (1, "interrupted"), (2, "started"), (2, "finished")]


def lost_once(times: int, batches: list[bytes]) -> Callable[[Shard], FakeExecution]:
    """A lab whose machine goes so often before a shard has told all."""
    left = [times]

    def script(_: Shard) -> FakeExecution:
        execution = FakeExecution(batches if left[0] else WHOLE)
        execution.lost = "worker a is gone" if left[0] else ""
        left[0] -= bool(left[0])
        return execution

    return script


def test_a_shard_whose_machine_has_gone_begins_anew_before_the_others(tmp_path: Path) -> None:
    told, _ = executed(lost_once(2, [lines(PHASE)]), tmp_path, SHARDS[:2])
    assert states(told) == [(1, "started"), (1, "interrupted")] * 2 + [
        *((1, "started"), (1, "finished")),
        *((2, "started"), (2, "finished")),
    ]
    assert told[2].line["reason"].startswith("worker a is gone; its last words:")


def test_a_shard_that_had_ended_when_its_machine_went_is_whole(tmp_path: Path) -> None:
    told, _ = executed(lost_once(1, [lines(PHASE, TRIAL, END)]), tmp_path)
    assert states(told) == [(1, "started"), (1, "finished")]


def test_a_shard_that_machines_go_from_again_and_again_is_given_up(tmp_path: Path) -> None:
    told, _ = executed(lost_once(100, [lines(PHASE)]), tmp_path, SHARDS[:1])
    assert [state for _, state in states(told)].count("interrupted") == pool.MOST_LOSSES + 1


def test_seats_that_come_and_go_are_taken_as_they_are(tmp_path: Path) -> None:
    seats = iter([0, 0, 1, 1, 2])
    lab = FakeLab(lambda _: FakeExecution(WHOLE))
    told = list(pool.execute(lab, deque(SHARDS), lambda: next(seats, 2), tmp_path))
    assert [state for _, state in states(told)].count("finished") == 5
    assert lab.most == 2


def test_a_warning_that_comes_late_is_told_once(tmp_path: Path) -> None:
    def warned(_: Shard) -> FakeExecution:
        execution = FakeExecution([lines(PHASE), b"", lines(TRIAL, END, first=1)])
        whole = execution.lines

        def late() -> list[bytes]:
            execution.warnings = ((WarningKind.FRESH_BOOT, "no room"),)
            return whole()

        vars(execution)["lines"] = late
        return execution

    told, _ = executed(warned, tmp_path)
    assert [one.line["event"] for one in told].count("warning") == 1


def test_everything_is_stopped_when_the_consumer_stops_early(tmp_path: Path) -> None:
    lab = FakeLab(lambda _: FakeExecution([lines(PHASE)], hangs=True))
    told = pool.execute(lab, deque(SHARDS), lambda: 3, tmp_path)
    while as_told(next(told)) != PHASE:
        pass
    assert [one.stopped for one in lab.executions] == [0, 0, 0]
    told.close()  # type: ignore[attr-defined]
    assert [one.stopped for one in lab.executions] == [1, 1, 1]


def test_everything_is_stopped_when_a_lab_cannot_start(tmp_path: Path) -> None:
    def script(one: Shard) -> FakeExecution:
        if one.repeat == 3:
            raise OSError("no space left")
        return FakeExecution([], hangs=True)

    lab = FakeLab(script)
    with pytest.raises(OSError, match="no space left"):
        list(pool.execute(lab, deque(SHARDS), lambda: 3, tmp_path))
    assert [one.stopped for one in lab.executions] == [1, 1]
