"""`kill -9` of the controlling process and of the runner, in namespaces on this kernel: nothing lost, nothing left."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.kills import Killer
from tests.helpers.traces import traces
from tests.native.test_native_lab import native
from tunbench.journal import read
from tunbench.runner.node.shell import wait_until

pytestmark = [
    pytest.mark.native,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

PLAN = native(["none"], '["baseline"]', ["ping:count=10", "ping:count=20"]).replace("repeats = 1", "repeats = 2")

Property = Callable[[str, object], None]


def whole(run: Path) -> None:
    """Every trial is there, once, with its folder."""
    record = read.record(run)
    assert record.interrupted == ()
    cells = Counter((trial.cell["workload"], trial.cell["repeat"]) for trial in record.trials)
    assert cells == Counter((workload, n) for workload in ("up", "ping:count=10", "ping:count=20") for n in (1, 2))
    for trial in record.trials:
        assert trial.verdict == "ok", trial.reason
        assert (run / trial.folder / "commands.sh").stat().st_size
    assert (run / "report.html").read_text().rstrip().endswith("</html>")


def killed(count: int, seed: int, folder: Path, record_property: Property) -> None:
    before = traces()
    killer = Killer(PLAN, folder, "tunbench.runner", "runner", whole)
    record_property("reliability", killer.kill(count, seed).figure)
    assert traces() == before


def test_nothing_is_lost_or_left_by_5_kills_on_the_native_lab(tmp_path: Path, record_property: Property) -> None:
    killed(5, 1, tmp_path, record_property)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_left_by_100_kills_on_the_native_lab(tmp_path: Path, record_property: Property) -> None:
    killed(100, 2, tmp_path, record_property)


def test_a_runner_that_was_killed_is_told_and_the_rest_goes_on(tmp_path: Path, record_property: Property) -> None:
    killer = Killer(PLAN, tmp_path, "tunbench.runner", "runner", whole)
    process = killer.begin(run := tmp_path / "run")
    assert wait_until(lambda: bool(killer.labs(run)), 60)
    os.kill(killer.labs(run)[0], 9)
    assert process.wait(120) == 1
    assert "1 shards were interrupted; go on with: tunbench run --resume" in killer.printed()
    [interrupted] = read.record(run).interrupted
    assert interrupted == "none, baseline, repeat 1"
    assert killer.begin(run).wait(120) == 0
    whole(run)
    record_property("reliability", "1 of 2 shards interrupted and told, exit code 1; --resume completes it")
