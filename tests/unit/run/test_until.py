"""Adaptive stopping: how a plan asks for it, and what a run makes of the answers of its blocks."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.fakes import FakeExecution
from tests.helpers.runs import PLAN, ScriptedLab, batches, events, finished, invoke, ordered, runs_here
from tunbench.analysis.statistics import coverage
from tunbench.analysis.stopping import until_of
from tunbench.executors import pool
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.labs import registry as labs
from tunbench.plan.estimate.duration import estimate
from tunbench.plan.expand import expand, least, most, next_block
from tunbench.plan.extent import duration_in_words
from tunbench.plan.load import check
from tunbench.plan.shard import Shard
from tunbench.plan.until import Until, fewest
from tunbench.run import execution, resume
from tunbench.run.order import Order, RunError, read_order
from tunbench.runner.declare.verdicts import Verdict

ADAPTIVE = PLAN.replace("repeats = 2", 'repeats = 2\nuntil = { width = "10%", max = 20, metrics = ["rtt"] }')


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "POLL", 0.0001)
    monkeypatch.setattr(os, "fsync", lambda _: None)


def plan(text: str = ADAPTIVE) -> Any:
    return check(text, "any.toml")


# What a plan says.


def test_a_plan_says_until_when() -> None:
    assert plan().until == Until(0.1, 0.95, 20, ("rtt",))
    assert plan(PLAN).until is None


def test_throughputs_and_times_of_workloads_count_where_none_are_named() -> None:
    text = PLAN.replace('["ping:count=5"]', '["ping", "iperf3-tcp"]\nuntil = { width = "2%" }')
    assert plan(text).until == Until(0.02, 0.95, 30, ("rtt", "tcp-rtt", "throughput"))


def test_the_first_blocks_are_the_plans_and_further_ones_the_same_with_other_seeds() -> None:
    shards = expand(plan())
    assert [shard.repeat for shard in shards] == [repeat for repeat in range(1, 6) for _ in range(2)]
    assert len(least(plan())) == 20
    assert len(most(plan())) == 40
    more = next_block(shards[-1], plan().seed)
    assert [shard.repeat for shard in more] == [6, 7, 8, 9, 10]
    assert {shard.group for shard in more} == {shards[-1].group}
    assert {shard.id for shard in more} <= {shard.id for shard in most(plan())}


@pytest.mark.parametrize(("repeats", "first"), [(1, 5), (5, 5), (6, 10), (11, 15)])
def test_repeats_are_rounded_up_to_blocks(repeats: int, first: int) -> None:
    assert len(expand(plan(ADAPTIVE.replace("repeats = 2", f"repeats = {repeats}")))) == 2 * first


def test_groups_differ_where_anything_but_repeat_and_seed_does() -> None:
    shards = expand(
        plan(ADAPTIVE.replace("stacks", 'profiles = ["baseline", "medium"]\nmachine = ["full", "slow"]\nstacks'))
    )
    assert len({shard.group for shard in shards}) == len(shards) / 5 == 8


@given(st.floats(0.5, 0.999))
def test_the_fewest_values_are_those_whose_range_is_an_interval(confidence: float) -> None:
    n = fewest(confidence)
    assert coverage(n, 1) >= confidence
    assert n == 2 or coverage(n - 1, 1) < confidence


# What a run makes of it.


def spread(shard: Shard) -> float:
    """WireGuard becomes narrow at once, `none` by and by."""
    return {"wireguard": 0.001, "none": 0.35}[shard.stack.name] * (shard.seed % 1000) / 1000


def scripted(shard: Shard, verdict: str = "ok", base: float = 1.0) -> FakeExecution:
    told = events(shard, verdict=verdict)
    for event in told:
        if event["event"] == "trial" and event["workload"] != "up" and verdict == Verdict.OK:
            event["samples"][0][2] = base + spread(shard)
    return FakeExecution(batches(told))


def adaptive(**how: Any) -> Order:
    return ordered(ScriptedLab(lambda shard: scripted(shard, **how)), ADAPTIVE)


def fingerprint(folder: Path) -> str:
    return str(record_of(folder).manifest["fingerprint"])


def blocks(folder: Path) -> list[tuple[str, int, bool, bool]]:
    return sorted((one.shard["stack"], one.repeats, one.enough, one.goes_on) for one in record_of(folder).blocks)


EXPECTED = [
    *[("none", 5, False, True), ("none", 10, False, True), ("none", 15, False, True), ("none", 20, False, False)],
    *[("wireguard", 5, False, True), ("wireguard", 10, True, False)],
]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_blocks_follow_until_every_cell_is_narrow_or_there_are_enough(workers: int, tmp_path: Path) -> None:
    assert finished(tmp_path, adaptive(), workers) == []
    found = record_of(tmp_path)
    assert blocks(tmp_path) == EXPECTED
    assert found.planned == len(found.trials) == 2 * (20 + 10)
    assert {trial.cell["repeat"] for trial in found.trials if trial.cell["stack"] == "none"} == set(range(1, 21))
    assert {trial.cell["repeat"] for trial in found.trials if trial.cell["stack"] == "wireguard"} == set(range(1, 11))
    assert until_of(found) == plan().until


def test_the_fingerprint_depends_on_no_number_of_workers(tmp_path: Path) -> None:
    for workers in (1, 2, 3, 16):
        finished(tmp_path / str(workers), adaptive(), workers)
    assert len({fingerprint(path) for path in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize("verdict", ["failed", "unsupported"])
def test_what_never_works_is_not_asked_for_again(verdict: str, tmp_path: Path) -> None:
    finished(tmp_path, adaptive(verdict=verdict))
    assert blocks(tmp_path) == [("none", 5, False, False), ("wireguard", 5, False, False)]
    assert {one.widest is None for one in record_of(tmp_path).blocks} == {True}


def test_a_trial_that_fails_once_counts_for_nothing_and_stops_nothing(tmp_path: Path) -> None:
    order = ordered(ScriptedLab(lambda one: scripted(one, "failed" if one.repeat == 2 else "ok")), ADAPTIVE)
    finished(tmp_path, order)
    assert ("wireguard", 10, True, False) in blocks(tmp_path)
    assert ("none", 20, False, False) in blocks(tmp_path)


def test_a_block_with_an_interrupted_shard_waits_for_it(tmp_path: Path) -> None:
    def broken(shard: Shard) -> FakeExecution:
        return FakeExecution([]) if (shard.stack.name, shard.repeat) == ("none", 3) else scripted(shard)

    finished(tmp_path, ordered(ScriptedLab(broken), ADAPTIVE))
    assert blocks(tmp_path) == EXPECTED[4:]
    assert execution.go(tmp_path, adaptive(), 2, lambda _: None) == []
    assert blocks(tmp_path) == EXPECTED
    finished(tmp_path / "whole", adaptive())
    assert fingerprint(tmp_path) == fingerprint(tmp_path / "whole")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "POLL", 0.0001)
        finished(folder, adaptive(), 2)
    yield folder


def cut(whole: Path, folder: Path, size: int) -> Path:
    """The run as a crash leaves it: so many bytes of its journal."""
    folder.mkdir()
    (folder / journal.NAME).write_bytes((whole / journal.NAME).read_bytes()[:size])
    return folder


def goes_on(folder: Path, whole: Path, workers: int) -> None:
    assert execution.go(folder, adaptive(), workers, lambda _: None) == []
    assert fingerprint(folder) == fingerprint(whole)
    assert blocks(folder) == EXPECTED
    told = [event for event in journal.events(folder) if event["event"] == "block"]
    assert len(told) == len(EXPECTED)


def test_a_run_goes_on_from_every_line_around_an_answer(whole: Path, tmp_path: Path) -> None:
    lines = (whole / journal.NAME).read_bytes().splitlines(keepends=True)
    ends = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    answers = [number for number, line in enumerate(lines) if b'"event":"block"' in line]
    assert len(answers) == len(EXPECTED)
    # The end of the block is there and its answer is not; it is torn; it is there and nothing behind it.
    sizes = [size for number in answers for size in (ends[number], ends[number] + 20, ends[number + 1])]
    for number, size in enumerate(sizes):
        goes_on(cut(whole, tmp_path / str(number), size), whole, workers=1 + number % 3)


@given(data=st.data())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_run_goes_on_from_every_byte(
    data: st.DataObject, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = (whole / journal.NAME).read_bytes()
    size = data.draw(st.integers(text.index(b"\n") + 1, len(text)))
    folder = cut(whole, tmp_path_factory.mktemp("cut") / "run", size)
    goes_on(folder, whole, data.draw(st.integers(1, 3)))


def test_an_answer_that_does_not_follow_from_the_samples_is_told_and_kept(whole: Path, tmp_path: Path) -> None:
    folder = cut(whole, tmp_path / "run", -1)
    (folder / journal.NAME).write_bytes(
        b"".join(
            line.replace(b'"enough":false', b'"enough":true').replace(b'"more":10', b'"more":0')
            if b'"event":"block"' in line and b'"stack":"none"' in line and b'"repeats":15' in line
            else line
            for line in (whole / journal.NAME).read_bytes().splitlines(keepends=True)
        )
    )
    order = adaptive()
    assert execution.go(folder, order, 1, lambda _: None) == [
        "none, baseline, repeat 15: whether more repeats are needed"
    ]
    assert cast("ScriptedLab", order.lab).executions == []


def test_a_run_does_not_go_on_with_another_until(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab())
    execution.create(tmp_path, read_order(ADAPTIVE, "any.toml", {}))
    assert resume.reopen(tmp_path).plan.until == plan().until
    (tmp_path / "plan.toml").write_text(ADAPTIVE.replace('"10%"', '"20%"'))
    with pytest.raises(RunError, match="the plan is not the one"):
        resume.reopen(tmp_path)


# What people see.


def test_plan_show_says_at_least_and_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_here(monkeypatch, tmp_path)
    Path("plan.toml").write_text(ADAPTIVE)
    assert "ok, 20 to 40 shards, 20 to 40 trials" in invoke("plan", "check", "plan.toml").stdout
    shown = invoke("plan", "show", "plan.toml", "--workers", "2").stdout
    assert "the first 5 repeats; until asks for more in blocks of 5, up to 20" in shown
    few, many = (duration_in_words(estimate(shards(plan()), 2)) for shards in (least, most))
    assert f"20 to 40 shards, 20 to 40 trials, about {few} to {many} with 2 labs side by side" in shown
    told = json.loads(invoke("plan", "show", "plan.toml", "--json").stdout)
    assert told["until"]["metrics"] == ["rtt"]
    assert (len(told["shards"]), told["least"]["shards"], told["most"]["shards"]) == (10, 20, 40)
    assert told["most"]["seconds"] == pytest.approx(2 * told["least"]["seconds"], rel=0.01)


def test_a_run_says_at_most_how_long_while_more_may_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_here(monkeypatch, tmp_path)
    Path("plan.toml").write_text(ADAPTIVE)
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab(scripted))
    told = invoke("run", "plan.toml", "--out", "out", "--workers", "1").stderr
    lines = [line for line in told.splitlines() if line.startswith("[")]
    assert len(lines) == 30
    assert lines[0].startswith("[1/10]") and "at most" in lines[0]
    assert lines[-2].startswith("[29/30]") and lines[-2].endswith("left")
    assert lines[-1].startswith("[30/30]") and lines[-1].endswith(" s")
    assert "at most" in lines[14]
