"""Adaptive stopping: how a plan asks for it, the answers of its blocks, and that samples alone decide on them."""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.fakes import FakeExecution
from tests.helpers.records import TCP, cell, trial
from tests.helpers.runs import PLAN, ScriptedLab, batches, events, finished, invoke, ordered, runs_here
from tunbench.analysis.cells import per_trial
from tunbench.analysis.samples import good_samples
from tunbench.analysis.statistics import coverage, median_rank
from tunbench.analysis.stopping import Narrowness, narrow_enough, until_of, widths
from tunbench.executors import pool
from tunbench.journal import journal, read
from tunbench.labs import registry as labs
from tunbench.plan.estimate.duration import estimate
from tunbench.plan.expand import expand, least, most, next_block
from tunbench.plan.extent import duration_in_words
from tunbench.plan.load import check
from tunbench.plan.shard import Shard
from tunbench.plan.until import BLOCK, Until, fewest
from tunbench.run import execution, resume
from tunbench.run.order import Order, RunError, read_order

RTT = Until(0.1, metrics=("rtt",))

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


# Whether it is enough.


def samples(*values: float, metric: str = "rtt", unit: str = "s", stack: str = "none") -> pl.DataFrame:
    """A value a trial."""
    trials = [
        trial(cell(stack, workload=TCP, repeat=repeat), [(metric, unit, value)])
        for repeat, value in enumerate(values, start=1)
    ]
    return good_samples(trials)


@pytest.mark.parametrize(
    ("values", "width"),
    [
        ([1.0] * 5, None),
        ([1.0] * 6, 0.0),
        ([9.0, 10, 10, 10, 10, 11], 0.2),
        ([-9.0, -10, -10, -10, -10, -11], 0.2),
        # Of ten values the interval is from the second to the ninth.
        ([1.0, 9, 10, 10, 10, 10, 10, 10, 11, 99], 0.2),
        ([-1.0, 0, 0, 0, 0, 1], None),
        ([0.0] * 6, 0.0),
    ],
)
def test_the_width_is_that_of_the_interval_relative_to_the_median(values: list[float], width: float | None) -> None:
    found = widths(per_trial(samples(*values)), RTT)["width"].to_list()
    assert found == [pytest.approx(width) if width is not None else None]


def test_every_cell_must_be_narrow_enough() -> None:
    narrow, wide = samples(*[10.0, 10.1] * 5), samples(*[10.0, 19.0] * 5, stack="gre")
    assert narrow_enough(narrow, RTT).enough
    answer = narrow_enough(pl.concat([narrow, wide]), RTT)
    assert not answer.enough
    assert answer.widest is not None
    assert answer.widest["width"] == pytest.approx(9 / 14.5)
    # What has no interval is wider than anything.
    answer = narrow_enough(pl.concat([wide, samples(1.0, stack="gre").with_columns(node=pl.lit("b"))]), RTT)
    assert answer.widest == {
        **{"workload": TCP, "pair": "a-b", "node": "b", "metric": "rtt", "statistic": "value", "width": None}
    }


def test_other_metrics_and_percentiles_and_the_time_to_come_up_do_not_count() -> None:
    assert narrow_enough(samples(*range(20), metric="loss", unit="ratio"), RTT) == Narrowness(False, None)
    up = [trial(cell("none", workload="up", repeat=n), [("rtt", "s", float(n))]) for n in range(1, 9)]
    assert narrow_enough(good_samples(up), RTT) == Narrowness(False, None)
    series = [
        trial(cell("none", repeat=n), [("rtt", "s", value, value) for value in (1.0, 2.0, 3.0 * n)])
        for n in range(1, 9)
    ]
    assert narrow_enough(good_samples(series), RTT).enough


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), st.randoms())
@settings(max_examples=25, deadline=None)
def test_the_answer_does_not_depend_on_the_order(values: list[float], rng: Any) -> None:
    found = samples(*values)
    order = list(range(len(found)))
    rng.shuffle(order)
    assert narrow_enough(found[order], RTT) == narrow_enough(found, RTT)


# What a run makes of it.


def spread(shard: Shard) -> float:
    """WireGuard becomes narrow at once, `none` by and by."""
    return {"wireguard": 0.001, "none": 0.35}[shard.stack.name] * (shard.seed % 1000) / 1000


def scripted(shard: Shard, verdict: str = "ok", base: float = 1.0) -> FakeExecution:
    told = events(shard, verdict=verdict)
    for event in told:
        if event["event"] == "trial" and event["workload"] != "up" and verdict == "ok":
            event["samples"][0][2] = base + spread(shard)
    return FakeExecution(batches(told))


def adaptive(**how: Any) -> Order:
    return ordered(ScriptedLab(lambda shard: scripted(shard, **how)), ADAPTIVE)


def fingerprint(folder: Path) -> str:
    return str(read.record(folder).manifest["fingerprint"])


def blocks(folder: Path) -> list[tuple[str, int, bool, bool]]:
    return sorted((one.shard["stack"], one.repeats, one.enough, one.goes_on) for one in read.record(folder).blocks)


EXPECTED = [
    *[("none", 5, False, True), ("none", 10, False, True), ("none", 15, False, True), ("none", 20, False, False)],
    *[("wireguard", 5, False, True), ("wireguard", 10, True, False)],
]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_blocks_follow_until_every_cell_is_narrow_or_there_are_enough(workers: int, tmp_path: Path) -> None:
    assert finished(tmp_path, adaptive(), workers) == []
    found = read.record(tmp_path)
    assert blocks(tmp_path) == EXPECTED
    assert found.planned == len(found.trials) == 2 * (20 + 10)
    assert {trial.cell["repeat"] for trial in found.trials if trial.cell["stack"] == "none"} == set(range(1, 21))
    assert {trial.cell["repeat"] for trial in found.trials if trial.cell["stack"] == "wireguard"} == set(range(1, 11))
    assert until_of(found.manifest) == plan().until


def test_the_fingerprint_depends_on_no_number_of_workers(tmp_path: Path) -> None:
    for workers in (1, 2, 3, 16):
        finished(tmp_path / str(workers), adaptive(), workers)
    assert len({fingerprint(path) for path in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize("verdict", ["failed", "unsupported"])
def test_what_never_works_is_not_asked_for_again(verdict: str, tmp_path: Path) -> None:
    finished(tmp_path, adaptive(verdict=verdict))
    assert blocks(tmp_path) == [("none", 5, False, False), ("wireguard", 5, False, False)]
    assert {one.widest is None for one in read.record(tmp_path).blocks} == {True}


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
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    assert lines[-1].startswith("[30/30]") and "about 0 s left" in lines[-1]
    assert "at most" in lines[14]


def test_metrics_are_narrow_only_below_the_width() -> None:
    values = samples(*[10.0, 11.0] * 5)
    width = widths(per_trial(values), RTT)["width"][0]
    assert narrow_enough(values, RTT._replace(width=width)).enough
    assert not narrow_enough(values, RTT._replace(width=math.nextafter(width, 0))).enough
    assert BLOCK == 5


def test_stopping_costs_little_of_the_confidence_over_all_cells() -> None:
    """docs/methodology.md: values whose interval after 30 repeats is as wide as was asked, the worst case there."""
    rng = np.random.default_rng(7)
    drawn = rng.normal(1, 0.02, (20_000, 30))
    open_yet, holds = np.ones(len(drawn), bool), np.zeros(len(drawn), bool)
    for n in range(10, 31, BLOCK):
        ordered, rank = np.sort(drawn[:, :n], axis=1), median_rank(n)
        low, high = ordered[:, rank - 1], ordered[:, n - rank]
        narrow = (high - low) / np.median(ordered, axis=1) <= 0.02
        stops = open_yet & (narrow | (n == 30))
        holds[stops] = ((low <= 1) & (high >= 1))[stops]
        open_yet &= ~stops
    assert holds.mean() == pytest.approx(0.943, abs=0.005)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_an_interval_of_any_confidence_has_a_width(confidence: float) -> None:
    until = RTT._replace(confidence=confidence)
    assert widths(per_trial(samples(*[10.0, 11.0] * 5)), until)["width"][0] is not None
    assert widths(per_trial(samples(10.0, 11.0, 10.0)), until)["width"][0] is None
