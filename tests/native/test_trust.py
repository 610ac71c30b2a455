"""Other load on this machine is found before a run, and the trials that it disturbed are marked and kept."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kills import RUN
from tests.native.test_native_lab import native
from tunbench.journal import read

pytestmark = [
    pytest.mark.native,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

PING = "ping:count=200,interval=0.01"


def test_other_load_is_warned_of_and_what_it_disturbs_is_marked(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    (tmp_path / "plan.toml").write_text(native(["none"], '["baseline"]', [PING]))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as load:
        try:
            done = subprocess.run(
                [*RUN, str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run")], capture_output=True, text=True
            )
        finally:
            load.kill()
    assert done.returncode == 0, done.stderr
    record = read.record(tmp_path / "run")
    [trial] = [trial for trial in record.trials if trial.cell["workload"] == PING]
    assert trial.verdict == "ok" and len(trial.samples) > 200, "it is marked, and kept"
    assert "other processes took" in trial.noisy
    assert {"other-load", "noisy"} <= {warning.name for warning in record.warnings}
    assert "other processes took" in done.stderr.replace("\n", " ")
    record_property(
        "reliability", f"a busy core: told before the run and in the report; the trial is kept, “{trial.noisy}”"
    )
