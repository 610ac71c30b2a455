"""`kill -9` of the controlling process and of the runner, in namespaces on this kernel: nothing lost, nothing left."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.native_kills import assert_whole, native_killer
from tests.helpers.traces import traces
from tunbench.journal.readers.registry import record_of
from tunbench.runner.node.shell import wait_until

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

Property = Callable[[str, object], None]


def killed(count: int, seed: int, folder: Path, record_property: Property) -> None:
    before = traces()
    killer = native_killer(folder)
    record_property("reliability", killer.kill(count, seed).figure)
    assert traces() == before


def test_nothing_is_lost_or_left_by_5_kills_on_the_native_lab(tmp_path: Path, record_property: Property) -> None:
    killed(5, 1, tmp_path, record_property)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_left_by_100_kills_on_the_native_lab(tmp_path: Path, record_property: Property) -> None:
    killed(100, 2, tmp_path, record_property)


def test_a_runner_that_was_killed_is_told_and_the_rest_goes_on(tmp_path: Path, record_property: Property) -> None:
    killer = native_killer(tmp_path)
    process = killer.begin(run := tmp_path / "run")
    assert wait_until(lambda: bool(killer.labs(run)), 60)
    os.kill(killer.labs(run)[0], 9)
    assert process.wait(120) == 1
    assert "1 shard was interrupted; go on with: tunbench run --resume" in killer.printed()
    [interrupted] = record_of(run).interrupted
    assert interrupted == "none, baseline, repeat 1"
    assert killer.begin(run).wait(120) == 0
    assert_whole(run)
    record_property("reliability", "1 of 2 shards interrupted and told, exit code 1; --resume completes it")
