"""What disturbs a trial: processes that are none of the run, a hypervisor, heat; and the mark that a trial gets."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import FakeExecution
from tests.helpers.pages import view_of, write_page
from tests.helpers.runs import PLAN, ScriptedLab, batches, events, finished, ordered
from tunbench.analysis import run_analysis
from tunbench.analysis.verdicts import summary
from tunbench.executors import pool
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.labs.real_time import noise
from tunbench.labs.real_time.core_distance import Cores
from tunbench.labs.real_time.noise import Noise, NoiseWatch, Reading, between, why_noisy
from tunbench.plan.shard import Shard
from tunbench.report.terminal import run_report
from tunbench.runner.node.shell import wait_until

STAT = "{number} (a (b) c) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {times} 20 0 1 0 55 12288000 1750"


class Processes:
    """A /proc in which processes are what a test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stat").parent.mkdir(parents=True, exist_ok=True)
        self.machine()

    def machine(self, steal: int = 0) -> None:
        (self.folder / "stat").write_text(f"cpu  10 0 20 900 0 0 0 {steal} 0 0\ncpu0 10 0 20 900 0 0 0 {steal} 0 0\n")

    def has(self, number: int, parent: int, times: str, flags: int = 0x400000) -> None:
        (self.folder / str(number)).mkdir(exist_ok=True)
        (self.folder / str(number) / "stat").write_text(
            STAT.format(number=number, parent=parent, flags=flags, times=times)
        )

    def ends(self, number: int) -> None:
        (self.folder / str(number) / "stat").unlink()


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.setattr(noise, "PROC", tmp_path / "proc")
    monkeypatch.setattr(noise, "SYS", tmp_path / "sys")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return Processes(tmp_path / "proc")


def test_the_time_of_others_is_that_of_what_does_not_descend_from_this_process(processes: Processes) -> None:
    own = os.getpid()
    processes.has(1, 0, "100 0 0 0")
    processes.has(own, 1, "5000 0 0 0")
    processes.has(own + 1, own, "6000 0 0 0")
    # The runner's children come first in /proc where their numbers began anew.
    processes.has(7, own + 1, "7000 0 0 0")
    processes.has(8, 1, "30 20 0 0")
    processes.has(9, 2, "9000 0 0 0", flags=noise.KERNEL_THREAD_FLAG | 0x40)
    assert noise.read().others == pytest.approx(1.5)


def test_a_process_that_ends_leaves_its_time_with_its_parent(processes: Processes) -> None:
    processes.has(1, 0, "100 0 0 0")
    processes.has(8, 1, "300 100 0 0")
    before = noise.read()
    processes.ends(8)
    processes.has(1, 0, "100 0 310 110")
    assert noise.read().others - before.others == pytest.approx(0.2)


def test_what_a_hypervisor_took_and_heat_are_counted(processes: Processes, tmp_path: Path) -> None:
    processes.machine(steal=250)
    for core in (0, 1):
        folder = tmp_path / "sys" / "devices/system/cpu" / f"cpu{core}" / "thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text("3\n")
        (folder / "package_throttle_count").write_text("10\n")
    assert noise.read()[2:] == (2.5, 26, 0.0)


def passed(seconds: float, others: float, stolen: float = 0.0, throttled: int = 0) -> Noise:
    return between(Reading(10.0, 50.0, 5.0, 7), Reading(10.0 + seconds, 50.0 + others, 5.0 + stolen, 7 + throttled))


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(
    ("noise_", "text"),
    [
        ((10, 0.40), ""),
        ((10, 0.42), "other processes took 2.1 % of the processors' time"),
        ((10, 0.30, 0.11), "other processes took 1.5 % of the processors' time, the hypervisor took 0.6 % of the "
         "processors' time"),
        ((10, 0, 0.5), "the hypervisor took 2.5 % of the processors' time"),
        ((10, 0, 0, 2), "cores were throttled 2 times because of their heat"),
        # Two ticks of a ping of 0.1 s may be rounding.
        ((0.1, 0.02), ""),
        ((0.1, 0.03), "other processes took 15.0 % of the processors' time"),
        ((10, -5, -1, -3), ""),
        ((10, 1000), "other processes took 100.0 % of the processors' time"),
        ((0, 1), "other processes took 100.0 % of the processors' time"),
    ],
)  # fmt: skip
def test_a_trial_is_noisy_by_a_stated_rule(noise_: tuple[Any, ...], text: str) -> None:
    assert why_noisy(passed(*noise_)) == text


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(
    ("begin", "end", "nearest", "text"),
    [
        (2e-7, 3.3e-7, 2e-7, ""),
        (2e-7, 3.5e-7, 2e-7, "0.35 µs from one core to another and back instead of 0.20 µs"),
        (6e-7, 2e-7, 2e-7, "0.60 µs from one core to another and back instead of 0.20 µs"),
        # Nobody looked, or only once in the whole run.
        (0, 0, float("inf"), ""),
        (6e-7, 0, 6e-7, ""),
    ],
)
def test_a_trial_is_noisy_where_the_cores_were_apart(begin: float, end: float, nearest: float, text: str) -> None:
    found = why_noisy(between(Reading(1, 0, 0, 0, begin), Reading(2, 0, 0, 0, end)), nearest)
    assert found == (text and f"a byte took {text}, as where a hypervisor has moved them apart")


def test_the_cores_are_looked_at_where_there_is_a_hypervisor(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cores, "round_trip", lambda self: 2e-7)
    with noise.looking() as look:
        assert look().apart == 0
        (processes.folder / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n")
        assert look().apart == 2e-7


SPIN = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"


def test_a_real_process_of_another_parent_is_seen() -> None:
    before = noise.read().others
    # Its parent ends at once, and it goes to whoever takes orphans: it descends from this process no more.
    start = ["sh", "-c", 'setsid "$0" -c "$1" >/dev/null 2>&1 & echo $!', sys.executable, SPIN]
    stranger = int(subprocess.run(start, capture_output=True, text=True).stdout)
    try:
        assert wait_until(lambda: noise.read().others - before > 0.1, 15)
    finally:
        os.kill(stranger, signal.SIGKILL)


def test_a_real_process_of_this_one_is_its_own() -> None:
    child = subprocess.Popen([sys.executable, "-c", SPIN])

    def apart() -> float:
        """What this process and its children had: everybody's time, less that of others."""
        return noise._others(-1) - noise._others(os.getpid())

    before = apart()
    try:
        assert wait_until(lambda: apart() - before > 0.1, 15)
    finally:
        child.kill()
        child.wait()


def heard(folder: Path, monkeypatch: pytest.MonkeyPatch, clock: str, *readings: Reading) -> list[dict[str, Any]]:
    """The trials of a run of one shard in whose journal readings are taken from these."""
    monkeypatch.setattr(pool, "POLL", 0.001)
    left = list(readings)
    monkeypatch.setattr(noise, "read", lambda apart: left.pop(0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def script(one: Shard) -> FakeExecution:
        whole = events(one)
        return FakeExecution(batches([whole[0], {"event": "phase", "name": "up", "at": 2.5}, *whole[1:]]))

    text = PLAN.replace("repeats = 2", "repeats = 1").replace('"none", "wireguard"', '"none"')
    lab = ScriptedLab(script)
    lab.clock = clock
    finished(folder, ordered(lab, text + f'[lab]\nclock = "{clock}"\n'))
    assert left == []
    return [event for event in journal.events(folder) if event["event"] == "trial"]


QUIET = [Reading(0, 0, 0, 0), Reading(0, 0, 0, 0), Reading(1, 0, 0, 0), Reading(2, 0, 0, 0)]


def test_each_trial_has_what_disturbed_it_and_the_run_warns_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up, ping = heard(tmp_path, monkeypatch, "real", *QUIET, Reading(4, 2, 0, 0))
    assert up["noise"] == {"seconds": 1, "others": 0, "stolen": 0, "throttled": 0, "apart": 0}
    assert "noisy" not in up
    assert ping["noise"] == {"seconds": 2, "others": 0.5, "stolen": 0, "throttled": 0, "apart": 0}
    record = record_of(tmp_path)
    text = "other processes took 50.0 % of the processors' time"
    assert [(one.cell["workload"], one.noisy) for one in record.trials] == [("ping:count=5", text), ("up", "")]
    [warned] = [one for one in record.warnings if one.name == "noisy"]
    assert (warned.where, warned.text) == ("none, baseline, ping:count=5, repeat 1", text)
    assert summary(record.trials) == "ok, 1 noisy"
    assert len(run_analysis.analyse(record).values), "it counts all the same"


def test_in_virtual_time_nobody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("noise" in one for one in heard(tmp_path, monkeypatch, "virtual"))


def test_tables_say_how_many_trials_are_noisy_and_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    heard(tmp_path, monkeypatch, "real", *QUIET, Reading(4, 2, 0, 0))
    record = record_of(tmp_path)
    Console(width=200).print(run_report.rendered(view_of(record)))
    assert "ok, 1 noisy" in capsys.readouterr().out
    write_page(record, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert '<span class="noisy" title="other processes took 50.0 % of the processors&#39; time">noisy</span>' in page
    assert "1, 1 noisy" in page


def test_the_nearest_that_a_run_has_seen_is_what_others_are_held_against() -> None:
    looks = [6e-7, 6e-7, 6e-7, 6e-7, 2e-7, 2e-7, 2e-7]
    beside, marked = NoiseWatch(lambda: Reading(0, 0, 0, 0, looks.pop(0))), []
    for _ in range(3):
        beside.begin("x")
        marked.append("noisy" in beside.end("x"))
    assert marked == [False, True, False]


def test_a_shard_that_ended_early_is_not_taken_for_a_trial() -> None:
    beside = NoiseWatch(lambda: Reading(0, 0, 0, 0))
    assert beside.end("x") == {}
    beside.begin("x")
    assert beside.end("y") == {}
    assert "noise" in beside.end("x")
