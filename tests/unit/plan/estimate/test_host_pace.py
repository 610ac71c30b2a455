"""How fast the machine is: measured on as many cores as are used, and applied to virtual time alone."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fakes import shard
from tunbench.plan.estimate import duration, host_pace

now: Callable[[int], float] = host_pace.now.__wrapped__
"""As the command line has it: other tests are given another one."""


def test_an_estimate_grows_with_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = [shard("none", 1, "ping:count=5,interval=1")]
    monkeypatch.setattr(host_pace, "now", lambda workers: 1.5 if workers == 2 else 1.2)
    assert host_pace.estimate(shards, 2) == pytest.approx(1.5 * duration.estimate(shards, 2))
    assert host_pace.estimate(shards, 1) == pytest.approx(1.2 * duration.estimate(shards, 1))
    assert host_pace.estimate(shards, 2, "real") == duration.estimate(shards, 2, "real")


@pytest.mark.parametrize(("workers", "cores", "pieces"), [(1, 4, 1), (3, 4, 3), (8, 2, 2), (8, None, 1)])
def test_each_core_that_will_be_used_is_given_work(
    workers: int, cores: int | None, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def piece() -> float:
        done.append(1)
        return len(done) * host_pace.REFERENCE

    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(host_pace, "_piece", piece)
    assert host_pace.measured(workers) == pytest.approx((pieces * host_pace.PIECES + 1) / 2), "the median of all"
    assert len(done) == pieces * host_pace.PIECES


def test_the_work_is_real() -> None:
    assert len(host_pace.TEXT) == 512 * 1024
    assert 0.0005 < host_pace._piece() < 5


def test_commands_that_follow_each_other_agree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    paces = iter([1.3, 1.7, 2.0, 2.5])
    monkeypatch.setattr(host_pace, "measured", lambda workers: next(paces))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert [now(2), now(2), now(1), now(2)] == [1.3, 1.3, 1.7, 1.3]
    late = time.time() + host_pace.KEPT_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: late)
    assert now(2) == 2.0
    (tmp_path / "tunbench" / host_pace.NAME).write_text('{"x": 1}')
    assert now(2) == 2.5


def test_a_cache_that_cannot_be_written_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tunbench").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(host_pace, "measured", lambda workers: 1.5)
    assert now(2) == now(2) == 1.5
