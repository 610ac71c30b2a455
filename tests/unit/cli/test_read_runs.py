"""What commands that read a run tell on stderr: what is missing of it, what was changed, and what of its study."""

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers import studies
from tests.helpers.packed_runs import change_sample
from tests.helpers.runs import invoke, runs_here
from tunbench.journal import journal
from tunbench.journal.read import MANIFEST
from tunbench.plan import load as loading

RUN = Path("run")

PLAN = RUN / "plan.toml"

READING = ("digest run", "samples run", "report run", "compare run run", "gate run run", "study agree run")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the tiny study."""
    here = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        runs_here(patch, here)
        studies.written(here)
        assert invoke("run", "tiny.toml", "--scale", "quick", "--out", "run").exit_code == 0
    return here


@pytest.fixture(autouse=True)
def here(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder with a copy of the run."""
    shutil.copytree(made / RUN, tmp_path / RUN)
    return runs_here(monkeypatch, tmp_path)


def told(command: str, code: int = 0) -> str:
    """What a command says on stderr."""
    done = invoke(*command.split())
    assert done.exit_code == code or (command, done.exit_code) == ("gate run run", 1), done.output
    return done.stderr


def take_away_a_shard() -> None:
    lines = (RUN / journal.NAME).read_text().splitlines(keepends=True)
    last = json.loads(lines[-1])["shard"]
    (RUN / journal.NAME).write_text("".join(line for line in lines if json.loads(line).get("shard") != last))


@pytest.mark.parametrize("command", [*READING, "pack run x.tar.bz2"])
def test_trials_that_are_missing_are_told(command: str) -> None:
    assert "missing" not in told(command)
    take_away_a_shard()
    assert "run: 3 of 36 trials are missing; go on with: tunbench run --resume run\n" in told(command)


def test_trials_that_are_missing_are_counted_in_json() -> None:
    take_away_a_shard()
    assert json.loads(invoke("study", "agree", "run", "--json").stdout)["missing_trials"] == 3


@pytest.mark.parametrize("command", READING)
def test_a_journal_that_was_changed_after_its_end_is_told(command: str) -> None:
    assert told(command) == ""
    change_sample(RUN)
    assert "run was changed after it had come to its end: the fingerprint of its journal, " in told(command)


def test_a_run_that_goes_on_is_not_told_to_be_changed() -> None:
    take_away_a_shard()
    assert "changed" not in told("digest run")


def test_a_damaged_manifest_is_told_and_the_journal_is_read() -> None:
    (RUN / MANIFEST).write_text("{")
    assert "run/manifest.json is damaged: no manifest; take the folder once more" in told("digest run")


def test_a_plan_that_is_not_that_of_the_journal_is_refused() -> None:
    PLAN.write_text(PLAN.read_text().replace("repeats = 3", "repeats = 4"))
    why = "run/plan.toml does not ask for the shards that the head of journal.jsonl names; one of them was changed"
    assert told("study agree run", 2).startswith(why)
    assert told("pack run x.tar.bz2", 2).startswith(why)
    assert f"run: its study cannot be read: {why}" in told("report run")


def test_claims_of_a_plan_may_be_changed_afterwards() -> None:
    PLAN.write_text(PLAN.read_text().replace('expect = "> 1"', 'expect = "> 2"'))
    assert told("study agree run") == told("pack run x.tar.bz2") == ""


@pytest.mark.parametrize(
    ("size", "why"),
    [(None, "cannot read run/plan.toml: No such file or directory; take the folder"), (8, "this is not TOML")],
)
def test_a_report_tells_that_a_plan_cannot_be_read(size: int | None, why: str) -> None:
    text = PLAN.read_text()
    PLAN.unlink()
    if size:
        PLAN.write_text(text[:size])
    said = told("report run")
    assert said.startswith("run: its study cannot be read: ") and why in said
    assert "The study of this run cannot be read" in (RUN / "report.html").read_text()


def test_a_report_tells_that_published_numbers_cannot_be_read() -> None:
    (RUN / "tiny.csv").write_text(studies.REFERENCE[:300])
    assert told("report run").startswith("run: its study cannot be read: run/tiny.csv:6: ")


@pytest.mark.parametrize("command", ["study agree run", "report run"])
def test_published_numbers_that_are_not_those_of_the_run_are_told(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "package" / "reference").mkdir(parents=True)
    (RUN / "tiny.csv").rename(here / "package" / "reference" / "tiny.csv")
    monkeypatch.setattr(loading, "files", lambda _: here / "package")
    why = "run has no tiny.csv, as a run of its study has: the published numbers are those that come with this Tunbench"
    assert told(command) == f"{why}\n"


def test_published_numbers_that_are_no_file_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "package" / "reference").mkdir(parents=True)
    (RUN / "tiny.csv").rename(here / "package" / "reference" / "tiny.csv")
    (RUN / "tiny.csv").mkdir()
    monkeypatch.setattr(loading, "files", lambda _: here / "package")
    why = "run/plan.toml:16: study.reference: run/tiny.csv is no file: put the published numbers in its place"
    assert told("study agree run", 2) == f"{why}\n"
