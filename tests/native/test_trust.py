"""Other load on this machine is found before a run, and the trials that it disturbed are marked and kept."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.kills import RUN
from tests.helpers.measuring import native_plan
from tunbench.executors import pool
from tunbench.journal.events import PhaseBegan, TrialEnded
from tunbench.journal.readers.registry import record_of
from tunbench.run import execution
from tunbench.run.order import read_order
from tunbench.runner.declare.verdicts import Verdict

pytestmark = [
    pytest.mark.native,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

PING = "ping:count=200,interval=0.01"


def test_other_load_is_warned_of_and_what_it_disturbs_is_marked(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    (tmp_path / "plan.toml").write_text(native_plan(["none"], '["baseline"]', [PING]))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as load:
        try:
            done = subprocess.run(
                [*RUN, str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run")], capture_output=True, text=True
            )
        finally:
            load.kill()
    assert done.returncode == 0, done.stderr
    record = record_of(tmp_path / "run")
    [trial] = [trial for trial in record.trials if trial.cell["workload"] == PING]
    assert trial.verdict == Verdict.OK and len(trial.samples) > 200, "it is marked, and kept"
    assert "other processes took" in trial.noisy
    assert {"other-load", "noisy"} <= {warning.name for warning in record.warnings}
    assert "other processes took" in done.stderr.replace("\n", " ")
    record_property(
        "reliability", f"a busy core: told before the run and in the report; the trial is kept, “{trial.noisy}”"
    )


def test_the_machine_has_been_looked_at_before_a_trial_begins(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """What the controlling process does as a trial begins would be measured with it."""
    done: dict[str, float] = {}
    margins: list[float] = []

    def watch(told: pool.ShardEvent) -> None:
        if isinstance(told.event, PhaseBegan):
            done[told.event.name] = time.monotonic()
        if isinstance(told.event, TrialEnded):
            margins.append(told.line["began"] - done["up" if told.event.workload == "up" else "trial"])

    pings = [f"ping:count={count},interval=0.01" for count in range(10, 15)]
    order = read_order(native_plan(["none"], '["baseline"]', pings), "test.toml", {})
    execution.create(tmp_path / "run", order)
    execution.go(tmp_path / "run", order, 1, watch)
    assert len(margins) == 1 + len(pings)
    found = statistics.median(margins)
    record_property("reliability", f"{1e3 * found:.0f} ms before, at the median of {len(margins)} trials")
    assert found > 0.01
