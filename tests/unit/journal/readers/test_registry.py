"""The door of records: a reader of somebody else's results, and all that follows from what it reads."""

from pathlib import Path

import pytest

from tunbench.analysis.run_analysis import analyse
from tunbench.journal.journal import JournalError
from tunbench.journal.readers import registry
from tunbench.journal.readers.registry import Reader, record_of
from tunbench.journal.record import Record, TrialResult
from tunbench.runner.declare.axes import USUAL
from tunbench.runner.declare.verdicts import Verdict

WORKLOAD = "iperf3-tcp:duration=30"

MEASURED = "none 940\nnone 950\nwireguard 610\nwireguard 590\nmine 300\n"
"""A file of somebody: a stack, and the Mbit/s that one transfer of TCP had over it."""

MAX_BYTES = 1 << 20


def is_theirs(folder: Path) -> bool:
    """Whether it holds the file of somebody."""
    return (folder / "speeds.txt").exists()


def their_record(folder: Path) -> Record:
    """The record of that file, a trial a line. Nobody told its repeats and seeds."""
    trials: list[TrialResult] = []
    for number, line in enumerate((folder / "speeds.txt").read_bytes()[:MAX_BYTES].decode().splitlines(), start=1):
        try:
            stack, speed = line.split()
            value = float(speed) * 1e6
        except ValueError:
            raise JournalError(f"speeds.txt, line {number}: write a stack and a number") from None
        repeat = 1 + sum(trial.cell["stack"] == stack for trial in trials)
        cell = {"stack": stack, "profile": "lan", **USUAL, "workload": WORKLOAD, "repeat": repeat, "seed": 0}
        samples = (("throughput", "bit/s", value, None, "a-b", "b"),)
        trials.append(TrialResult(cell, Verdict.OK, "", "", "theirs", "real", samples))
    return Record({}, tuple(trials), (), {}, (), len(trials))


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results of somebody, whose reader has joined."""
    monkeypatch.setattr(registry, "READERS", (*registry.READERS, Reader(is_theirs, their_record)))
    (tmp_path / "speeds.txt").write_text(MEASURED)
    return tmp_path


def test_what_somebody_else_measured_is_analysed_like_a_run(theirs: Path) -> None:
    analysis = analyse(record_of(theirs))
    assert analysis.stacks == ["mine", "none", "wireguard"]
    assert list(analysis.conditions.values()) == ["lan"]
    found = {row["stack"]: (row["median"], row["n"], row["ratio_median"]) for row in analysis.cells.to_dicts()}
    assert found["none"][:2] == (945e6, 2)
    assert found["wireguard"] == (600e6, 2, pytest.approx(600 / 945, rel=0.02))
    assert found["mine"][:2] == (300e6, 1)
    assert (analysis.failing, analysis.until) == ([], None)


def test_what_a_reader_refuses_is_told(theirs: Path) -> None:
    (theirs / "speeds.txt").write_text("none fast\n")
    with pytest.raises(JournalError, match="line 1: write a stack and a number"):
        record_of(theirs)


def test_a_folder_that_nobody_recognises_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="is no run"):
        record_of(tmp_path)
