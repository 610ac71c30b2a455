"""`tunbench choose`: what it says it will do, what it executes, when it ends, and what it leaves.

`tests/golden/choose/CASE.txt` is what it says: TUNBENCH_UPDATE_GOLDEN=1 writes them anew.
"""

import os
import time
from itertools import count
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeExecution
from tests.helpers.metric_labs import measuring
from tests.helpers.runs import ScriptedLab, batches, events, invoke, real_lab, runs_here
from tunbench.journal.readers.registry import record_of
from tunbench.labs import registry as labs
from tunbench.plan import load
from tunbench.plan.shard import Shard
from tunbench.report.terminal import choice_wording

GOLDEN = Path(__file__).parents[2] / "golden" / "choose"

LINE = ("--line", "300M/40M", "--delay", "35ms", "--loss", "0.2%", "--out", "begun")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = runs_here(monkeypatch, tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(choice_wording, "estimate", lambda shards, *_: 8.0 * len(shards))
    measuring(monkeypatch, lambda shard: 1e6 * (1 + shard.repeat / 1e4))
    return folder


CASES = {
    "two-sites": ("none", "wireguard", "openvpn", *LINE),
    "two-lines": ("wireguard", "openvpn", *LINE, "--line-b", "1G/1G", "--for", "backup", "--minutes", "2"),
    "voip": ("none", "wireguard", *LINE, "--for", "voip"),
    "web": ("none", "wireguard", *LINE, "--for", "web"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_says_what_it_will_do_and_for_how_long(case: str) -> None:
    done = invoke("choose", *CASES[case])
    assert done.exit_code == 0
    said = "".join(line + "\n" for line in done.stderr.splitlines() if not line.startswith(("[", "report", "finger")))
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        (GOLDEN / f"{case}.txt").write_text(said)
    assert said == (GOLDEN / f"{case}.txt").read_text()


def test_prose_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = invoke("choose", "none", "wireguard", *LINE, "--for", "voip")
    prose = [line for line in (done.stdout + done.stderr).splitlines() if "fingerprint" not in line]
    assert prose and max(map(len, prose)) <= 80


def test_it_leaves_a_run_as_any_other() -> None:
    assert invoke("choose", "none", "wireguard", *LINE).exit_code == 0
    found = record_of(Path("begun"))
    assert {trial.cell["repeat"] for trial in found.trials} == set(range(1, 11))
    assert found.planned == len(found.trials)
    assert Path("begun/report.html").exists()
    assert load.load("begun/plan.toml").plan.axes["stack"] == ["none", "wireguard"]
    assert invoke("run", "--resume", "begun").exit_code == 0


def test_what_is_not_narrow_has_more_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    measuring(monkeypatch, lambda shard: 1e6 * (1 + shard.seed % 10))
    assert invoke("choose", "none", "wireguard", *LINE).exit_code == 0
    assert max(trial.cell["repeat"] for trial in record_of(Path("begun")).trials) == 30


def test_nothing_begins_once_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = count(0, 2)
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    done = invoke("choose", "none", "wireguard", *LINE, "--minutes", "1", "--workers", "1")
    found = record_of(Path("begun"))
    assert done.exit_code == 0 and not found.interrupted
    assert 0 < len(found.trials) < found.planned
    left = f"the time is over, and {found.planned - len(found.trials)} of {found.planned} trials that were asked for"
    assert f"{left} are left; go on with: tunbench run --resume begun" in done.stderr
    # Whoever has more time has the rest.
    assert invoke("run", "--resume", "begun").exit_code == 0
    found = record_of(Path("begun"))
    assert len(found.trials) == found.planned


def test_what_was_interrupted_is_not_called_a_lack_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(shard: Shard) -> FakeExecution:
        return FakeExecution(batches(events(shard)[: 3 if (shard.stack.name, shard.repeat) == ("none", 1) else None]))

    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab(cut))
    done = invoke("choose", "none", "wireguard", *LINE, "--for", "backup")
    assert done.exit_code == 1 and "the time is over" not in done.stderr
    assert "1 shard was interrupted; go on with: tunbench run --resume begun" in done.stderr
    assert " that were asked for are left; go on with: tunbench run --resume begun" in done.stderr


def test_a_call_has_its_rating_at_the_end() -> None:
    lines = invoke("choose", "none", "wireguard", *LINE, "--for", "voip").stdout.splitlines()
    told = [line for line in lines if ": R " in line]
    assert len(told) == 2 and all("MOS 4." in line and "from mouth to ear" in line for line in told)
    assert "ITU-T G.107" in lines[-1]
    assert ": R " not in invoke("choose", "none", "wireguard", *LINE[:-1], "other").stdout


def test_the_plan_is_kept_and_no_file_is_lost() -> None:
    assert invoke("choose", "none", "wireguard", *LINE, "--write", "mine.toml").exit_code == 0
    assert Path("mine.toml").read_text() == Path("begun/plan.toml").read_text()
    assert (
        "# Which of these is the better one? Made by: tunbench choose none wireguard" in Path("mine.toml").read_text()
    )
    again = invoke("choose", "none", "openvpn", *LINE[:-1], "other", "--write", "mine.toml")
    assert (again.exit_code, again.stderr.splitlines()[-1]) == (
        2,
        "--write: mine.toml is there already: name another file",
    )
    assert not Path("other").exists()


def test_no_plan_is_kept_of_a_run_that_could_not_be_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("begun").touch()
    again = ("choose", "none", "wireguard", *LINE, "--write", "mine.toml")
    assert invoke(*again).exit_code == 2
    assert not Path("mine.toml").exists()
    Path("begun").unlink()
    with monkeypatch.context() as patch:
        real_lab(patch)
        assert invoke(*again).exit_code == 2
    assert not Path("mine.toml").exists()
    assert invoke(*again).exit_code == 0
    assert Path("mine.toml").exists()


def test_a_file_that_has_the_plan_already_is_as_good_as_written() -> None:
    for folder in ("one", "two"):
        again = ("choose", "none", "wireguard", *LINE[:-1], folder, "--write", "mine.toml")
        assert invoke(*again).exit_code == 0


def test_where_no_plan_can_be_kept_nothing_begins() -> None:
    done = invoke("choose", "none", "wireguard", *LINE, "--write", "gone/mine.toml")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        2,
        "--write: gone is no folder that you can write to; name another file",
    )
    assert not Path("begun").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("none", "wireguard", "--line", "300M"), '--line: "300M" is not two rates'),
        (("none", "--line", "300M/40M"), "name two stacks at least"),
        (("none", "wireguard", "--line", "300M/40M", "--for", "games"), '--for: there is no "games"'),
        (("none", "macvlan", "--line", "300M/40M", "--line-b", "1M/1M"), "needs Ethernet"),
    ],
)
def test_bad_input_ends_it_before_anything_begins(given: tuple[str, ...], message: str) -> None:
    done = invoke("choose", *given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert not Path("runs").exists()
