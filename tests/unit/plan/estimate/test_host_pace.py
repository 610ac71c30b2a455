"""How fast the machine is: measured on as many cores as are used, and applied to virtual time alone."""

import os
from collections.abc import Callable

import pytest

from tests.helpers.fakes import shard
from tunbench.plan.estimate import duration, host_pace

measured: Callable[[int], float] = host_pace.now.__wrapped__


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
    assert measured(workers) == pytest.approx((pieces * host_pace.PIECES + 1) / 2), "the median of all"
    assert len(done) == pieces * host_pace.PIECES


def test_the_work_is_real() -> None:
    assert len(host_pace.TEXT) == 512 * 1024
    assert 0.0005 < host_pace._piece() < 5
