"""The same seed gives the same bytes: again, with other workers, after an interruption; another seed does not."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.helpers.measuring import SLOW_LINK, execute, plan, values
from tests.helpers.traces import that_name
from tunbench.analysis.statistics import estimate
from tunbench.journal import journal, read
from tunbench.journal.readers.registry import record_of
from tunbench.journal.warnings import first_trials
from tunbench.labs.vm import explore

pytestmark = pytest.mark.vm

LOSSY = '["baseline", "medium"]'
WORKLOADS = ["ping:count=50", "iperf3-tcp:duration=1"]
COMMAND = [sys.executable, "-m", "tunbench", "run"]


@pytest.fixture(scope="module")
def text() -> str:
    return plan(["none", "wireguard"], LOSSY, WORKLOADS, link=SLOW_LINK)


@pytest.fixture(scope="module")
def undisturbed(text: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fingerprint of an undisturbed run with two workers."""
    return str(execute(tmp_path_factory.mktemp("undisturbed") / "run", text, workers=2).manifest["fingerprint"])


def test_one_worker_gives_the_same_fingerprint(text: str, undisturbed: str, tmp_path: Path) -> None:
    assert execute(tmp_path / "run", text, workers=1).manifest["fingerprint"] == undisturbed


def test_another_seed_gives_another_fingerprint(text: str, undisturbed: str, tmp_path: Path) -> None:
    assert execute(tmp_path / "run", text, seed=2).manifest["fingerprint"] != undisturbed


@pytest.mark.long
@pytest.mark.parametrize("moment", [2, 12])
def test_a_killed_run_resumes_to_the_same_fingerprint(
    text: str, undisturbed: str, tmp_path: Path, moment: float
) -> None:
    process = _begin(text, tmp_path)
    while process.poll() is None and not (tmp_path / "run" / journal.NAME).exists():
        time.sleep(0.1)
    time.sleep(moment)
    process.kill()
    process.wait()
    time.sleep(1)
    assert that_name(tmp_path) == [], "the kernel ends the VMs together with the controlling process"
    torn = tmp_path / "run" / journal.NAME
    with torn.open("ab") as file:
        file.write(b'{"event":"trial","sha')
    finished = {key for key in first_trials(read.events(tmp_path / "run"))}
    done = subprocess.run([*COMMAND, "--resume", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert finished <= set(first_trials(read.events(tmp_path / "run")))
    assert record_of(tmp_path / "run").manifest["fingerprint"] == undisturbed
    assert list((tmp_path / "run").glob(".*")) == []


def test_ctrl_c_stops_within_5_s_and_says_how_to_go_on(text: str, tmp_path: Path) -> None:
    process = _begin(text, tmp_path)
    time.sleep(6)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert process.returncode == 130
    assert f"tunbench run --resume {tmp_path / 'run'}" in printed.replace("\n", "")
    assert that_name(tmp_path) == []
    assert list((tmp_path / "run").glob(".*")) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_commands_typed_by_hand_measure_the_same(tmp_path: Path) -> None:
    repeats, workload = 10, "iperf3-tcp:duration=1"
    record = execute(tmp_path / "run", plan(["none", "wireguard"], '["baseline"]', [workload], repeats))
    for stack in ("none", "wireguard"):
        measured = estimate(values(record, "throughput", stack))
        scripts = {
            trial.cell["seed"]: tmp_path / "run" / trial.folder / "commands.sh"
            for trial in record.trials
            if (trial.cell["stack"], trial.cell["workload"]) == (stack, workload)
        }
        with ThreadPoolExecutor(2) as pool:
            printed = list(pool.map(lambda seed, of=scripts: explore.script(of[seed], seed, "virtual")[0], scripts))
        assert len(printed) == repeats
        typed = estimate([_throughput(text) for text in printed])
        assert measured.low <= typed.high and typed.low <= measured.high, (stack, measured, typed)


def _throughput(printed: str) -> float:
    from tunbench.runner.workloads.shared.iperf import iperf3_report

    return iperf3_report.number(
        iperf3_report.load(printed[printed.index("{") :]), "end", "sum_received", "bits_per_second"
    )


def _begin(text: str, folder: Path) -> "subprocess.Popen[str]":
    file = folder / "plan.toml"
    file.write_text(text)
    argv = [*COMMAND, str(file), "--out", str(folder / "run"), "--workers", "2"]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ)
