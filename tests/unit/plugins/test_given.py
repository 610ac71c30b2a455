"""A run that was measured with a plug-in: it is given again, or nothing of the run is executed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.plugins import TUNNEL, made
from tests.helpers.runs import ScriptedLab, finished, invoke, runs_here
from tunbench.journal.read import begun
from tunbench.plugins import taken
from tunbench.report.conclusion import finish
from tunbench.run import given_plugins
from tunbench.run.order import RunError, read_order

PLAN = 'name = "any"\nstacks = ["none", "mine"]\nworkloads = ["ping:count=5"]\n'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run of a plug-in's tunnel; none is taken any more."""
    runs_here(monkeypatch, tmp_path)
    taken.take([made(tmp_path / "mine")])
    lab = ScriptedLab()
    order = read_order(PLAN, "any.toml", {})._replace(lab=lab.with_plugins(taken.plugins()))
    finished(tmp_path / "run", order)
    finish(tmp_path / "run")
    taken.release()
    return tmp_path / "run"


@pytest.fixture
def run_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run of somebody who has no plug-in."""
    runs_here(monkeypatch, tmp_path)
    finished(tmp_path / "run")
    finish(tmp_path / "run")
    return tmp_path / "run"


def said(*arguments: str) -> str:
    done = invoke(*arguments)
    assert done.exit_code == 2
    return done.stderr


def test_a_run_is_resumed_with_the_same_plugin_alone(run: Path) -> None:
    mine, other = run.parent / "mine", made(run.parent / "b" / "mine", {"tunnels/mine.py": f"{TUNNEL}\n"})
    assert "measured with the plug-in mine (SHA-256 " in said("run", "--resume", str(run))
    assert f"another plug-in mine than {other}: " in said("run", "--resume", str(run), "--plugin", str(other))
    elsewhere = made(run.parent / "c" / "mine")
    for same in (mine, elsewhere):
        assert invoke("run", "--resume", str(run), "--plugin", str(same)).exit_code == 0


def test_a_run_is_verified_with_the_same_plugin_alone(run: Path) -> None:
    assert f"give it with: tunbench verify {run} --plugin DIR" in said("verify", str(run))
    made(run.parent / "d" / "mine", {"tunnels/mine.py": f"{TUNNEL}\n"})
    assert "another plug-in mine" in said("verify", str(run), "--plugin", str(run.parent / "d" / "mine"))
    elsewhere = made(run.parent / "e" / "mine")
    for same in (run.parent / "mine", elsewhere):
        done = invoke("verify", str(run), "--shards", "all", "--plugin", str(same))
        assert done.exit_code == 0, done.output


def test_a_plugin_that_a_run_did_not_have_goes_into_none_of_its_shards(run_without: Path) -> None:
    mine = made(run_without.parent / "mine")
    again = ("verify", str(run_without), "--shards", "all", "--out", "again", "--plugin", str(mine))
    assert invoke(*again).exit_code == 0
    assert "plugins" not in begun(Path("again")).manifest
    assert invoke("run", "--resume", str(run_without), "--plugin", str(mine)).exit_code == 0


def test_what_a_run_names_is_never_taken_from_its_folder(run: Path) -> None:
    made(run / "mine", {"tunnels/mine.py": "raise SystemExit('executed')\n"})
    assert "No code is taken from a run" in said("verify", str(run))
    assert "No code is taken from a run" in said("run", "--resume", str(run))


@pytest.mark.parametrize("told", [None, [], "x", {"mine": None}, {"mine": {"digest": "\x1b[2J"}}, {"a\nb": {}}])
def test_what_a_stranger_writes_there_is_told_on_one_line_or_ignored(told: Any) -> None:
    try:
        given_plugins.check({"plugins": told}, "run", "tunbench verify run")
    except RunError as error:
        assert "\n" not in str(error) and "\x1b" not in str(error)
        assert told
    else:
        assert not isinstance(told, dict)


def test_reports_need_no_plugin(run: Path) -> None:
    assert invoke("report", str(run)).exit_code == 0
    assert "mine" in (run / "report.html").read_text()
    assert json.loads((run / "manifest.json").read_text())["plugins"]["mine"]["tunnels"] == ["mine"]
