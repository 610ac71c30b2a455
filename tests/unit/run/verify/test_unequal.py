"""Where a trial came out otherwise: in which value, and from which event of its shard on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.packed_runs import change_events, whole_run
from tests.helpers.runs import ordered
from tunbench.journal import journal, read
from tunbench.plan.shard import Shard
from tunbench.run.verify.unequal import UnequalTrial, unequal_trials, with_events

Line = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run."""
    return whole_run(tmp_path_factory.mktemp("made") / "run")


@pytest.fixture
def sides(made: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two journals of the same run."""
    for name in ("theirs", "here"):
        (tmp_path / name).mkdir()
        (tmp_path / name / journal.NAME).write_bytes((made / journal.NAME).read_bytes())
    return tmp_path / "theirs", tmp_path / "here"


SHARDS: list[Shard] = list(ordered().shards)

FIRST = SHARDS[0].id


def found(sides: tuple[Path, Path]) -> list[UnequalTrial]:
    return with_events(unequal_trials(SHARDS, *map(read.events, sides)), *sides)


def of_ping(event: Line) -> bool:
    return bool(event["event"] == "trial" and event["shard"] == FIRST and event["workload"] != "up")


def test_what_is_equal_is_not_told(sides: tuple[Path, Path]) -> None:
    assert found(sides) == []


def test_a_value_is_told_to_the_last_digit_with_its_place(sides: tuple[Path, Path]) -> None:
    change_events(sides[1], lambda event: of_ping(event) and event["samples"][0].__setitem__(2, 0.1 + 0.2))
    [one] = found(sides)
    assert one.trial == "none, baseline, ping:count=5, repeat 1"
    assert (one.what, one.here) == ("rtt at 0.0 s (a-b, a)", "0.30000000000000004 s")
    assert (one.unequal, one.samples) == (1, 2)
    assert one.event is not None and one.event.measured
    line = json.loads((sides[0] / journal.NAME).read_text().splitlines()[one.event.line - 1])
    assert of_ping(line)


def test_samples_that_one_side_does_not_have_are_told(sides: tuple[Path, Path]) -> None:
    change_events(sides[1], lambda event: of_ping(event) and event["samples"].pop())
    [one] = found(sides)
    assert (one.what, one.theirs, one.here) == ("loss (a-b, a)", "0.0 ratio", "nothing")


def test_another_place_is_told_with_the_value(sides: tuple[Path, Path]) -> None:
    change_events(sides[1], lambda event: of_ping(event) and event["samples"][0].__setitem__(3, 0.5))
    [one] = found(sides)
    assert one.theirs.startswith("rtt at 0.0 s (a-b, a) ") and one.here.startswith("rtt at 0.5 s (a-b, a) ")


def test_a_verdict_comes_before_values(sides: tuple[Path, Path]) -> None:
    failed = {"verdict": "failed", "reason": "a\x1b[2J", "samples": []}
    change_events(sides[1], lambda event: of_ping(event) and event.update(failed))
    [one] = found(sides)
    assert (one.what, one.theirs, one.here) == ("verdict", "ok", "failed: a�[2J")


def test_a_trial_that_is_not_there_is_told(sides: tuple[Path, Path]) -> None:
    change_events(sides[1], lambda event: of_ping(event) and event.update(event="other"))
    [one] = found(sides)
    assert (one.what, one.theirs, one.here) == ("verdict", "ok", "nothing")
    assert one.event is not None and not one.event.measured


def test_the_first_event_that_is_another_one_is_named(sides: tuple[Path, Path]) -> None:
    def slower(event: Line) -> None:
        if event.get("shard") == FIRST and event["event"] == "phase" and event["name"] == "trial":
            event["at"] += 1e-9
        if of_ping(event):
            event["samples"][0][2] *= 2

    change_events(sides[1], slower)
    [one] = found(sides)
    assert one.event is not None and not one.event.measured
    assert one.event.theirs == "the phase trial ping:count=5 at 3.0 s"
    assert one.event.here == "the phase trial ping:count=5 at 3.000000001 s"


def test_wall_clock_logs_and_files_decide_nothing(sides: tuple[Path, Path]) -> None:
    def other(event: Line) -> None:
        if event["event"] == "shard":
            event["wall"] = 99.0
        if event["event"] == "trial":
            event["outputs"], event["logs"] = {"x": "y"}, {"a/b.log": "z"}
        if of_ping(event):
            event["samples"][0][2] *= 2

    change_events(sides[1], other)
    [one] = found(sides)
    assert one.event is not None and one.event.theirs == "the result of ping:count=5"


def test_a_shard_that_was_interrupted_first_is_taken_as_it_came_to_its_end(sides: tuple[Path, Path]) -> None:
    path = sides[0] / journal.NAME
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if FIRST in line)
    began = lines[at]
    torn = json.dumps({"shard": FIRST, "event": "phase", "name": "nodes", "at": 77.0})
    ended = json.dumps({"shard": FIRST, "event": "shard", "state": "interrupted"})
    path.write_text("\n".join([*lines[:at], began, torn, ended, *lines[at:]]) + "\n")
    change_events(sides[1], lambda event: of_ping(event) and event["samples"][0].__setitem__(2, 0.5))
    [one] = found(sides)
    assert one.event is not None and one.event.measured
