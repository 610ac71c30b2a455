"""The order in which shards are executed: the plan's in virtual time, a random one on the real clock."""

import os
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from tests.helpers.runs import PLAN, ScriptedLab, ending_after, finished, invoke, ordered, runs_here
from tunbench.executors import pool
from tunbench.journal import journal
from tunbench.journal.events import RunBegun
from tunbench.journal.readers.registry import record_of
from tunbench.plan.expand import expand
from tunbench.plan.load import check
from tunbench.plan.shard import Shard
from tunbench.run import execution
from tunbench.run.blocks import Schedule

STACKS = ["none", "vxlan", "gre", "ipip", "geneve", "fou"]
TEXT = PLAN.replace('["none", "wireguard"]', str(STACKS)).replace("repeats = 2", "repeats = 4")
REAL = TEXT + '[lab]\nclock = "real"\n'


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "POLL", 0.0001)
    monkeypatch.setattr(os, "fsync", lambda _: None)


def waiting(text: str = REAL) -> list[Shard]:
    plan = check(text, "any.toml")
    return Schedule(plan, expand(plan), [RunBegun({"lab": {}}, 0, {}, {})]).waiting()


def of_repeat(shards: list[Shard], repeat: int) -> list[str]:
    return [shard.stack.name for shard in shards if shard.repeat == repeat]


def test_virtual_time_keeps_the_order_of_the_plan() -> None:
    assert [(one.repeat, one.stack.name) for one in waiting(TEXT)] == [
        (k, name) for k in range(1, 5) for name in STACKS
    ]


def test_on_the_real_clock_the_shards_of_a_repeat_are_mixed_and_repeats_stay_together() -> None:
    shards = waiting()
    assert [one.repeat for one in shards] == sorted(one.repeat for one in shards)
    orders = [of_repeat(shards, repeat) for repeat in range(1, 5)]
    assert all(sorted(order) == sorted(STACKS) for order in orders)
    assert len({tuple(order) for order in [*orders, STACKS]}) == 5


def test_the_order_follows_from_the_seed() -> None:
    assert waiting() == waiting()
    assert waiting() != waiting(REAL.replace("seed = 5", "seed = 6"))


def test_every_stack_comes_first_as_often_as_any_other() -> None:
    shards = waiting(REAL.replace("repeats = 4", "repeats = 600"))
    first = Counter(of_repeat(shards, repeat)[0] for repeat in range(1, 601))
    # 100 of each are expected; 5 standard deviations of the binomial distribution are 46.
    assert all(54 <= first[name] <= 146 for name in STACKS)


def test_a_run_that_goes_on_keeps_the_order(tmp_path: Path) -> None:
    whole = ScriptedLab()
    finished(tmp_path / "whole", ordered(whole, REAL))
    order = ordered(text=REAL)
    execution.create(tmp_path / "torn", order)
    with pytest.raises(KeyboardInterrupt):
        execution.go(tmp_path / "torn", order, 1, ending_after(7, KeyboardInterrupt))
    again = ScriptedLab()
    execution.go(tmp_path / "torn", ordered(again, REAL), 1, lambda _: None)
    begun = executed(tmp_path / "torn")
    assert begun == executed(tmp_path / "whole") == [one.id for one in waiting()]
    assert len(cast("ScriptedLab", order.lab).executions) + len(again.executions) == len(begun) + 1


def executed(folder: Path) -> list[str]:
    """The shards as they were begun, each once."""
    return list(dict.fromkeys(one["shard"] for one in journal.events(folder) if one["event"] == "shard"))


def test_blocks_that_are_asked_for_later_are_mixed_too(tmp_path: Path) -> None:
    text = REAL.replace("repeats = 4", 'repeats = 5\nuntil = { width = "1%", max = 10, metrics = ["rtt"] }')
    order = ordered(text=text)
    finished(tmp_path, order)
    begun = [event["spec"] for event in journal.events(tmp_path) if event.get("state") == "started"]
    late = [one["repeat"] for one in begun if one["repeat"] > 5]
    assert len(begun) == 60
    assert len(set(late[:6])) < 5, "not one stack after the other, each with its five repeats"
    assert record_of(tmp_path).interrupted == ()


def test_the_plan_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_here(monkeypatch, tmp_path)
    assert "in a random order" not in invoke("plan", "show", "plan.toml").stdout
    assert "in a random order" in invoke("plan", "show", "plan.toml", "--clock", "real").stdout
