"""A run on the native lab that is killed, suspended or out of room, and how it looks when it is whole."""

from collections import Counter
from pathlib import Path

from tests.helpers.kills import Killer
from tests.helpers.measuring import native_plan
from tunbench.journal.readers.registry import record_of
from tunbench.runner.declare.verdicts import Verdict

PINGS = ("ping:count=10", "ping:count=20")

REPEATS = (1, 2)

FOUR_TRIALS = native_plan(["none"], '["baseline"]', [*PINGS]).replace("repeats = 1", f"repeats = {len(REPEATS)}")
"""The text of a plan."""


def assert_whole(run: Path) -> None:
    """Every trial is there, once, with its folder."""
    record = record_of(run)
    assert record.interrupted == ()
    cells = Counter((trial.cell["workload"], trial.cell["repeat"]) for trial in record.trials)
    assert cells == Counter((workload, repeat) for workload in ("up", *PINGS) for repeat in REPEATS)
    for trial in record.trials:
        assert trial.verdict == Verdict.OK, trial.reason
        assert (run / trial.folder / "commands.sh").stat().st_size
    assert (run / "report.html").read_text().rstrip().endswith("</html>")


def native_killer(folder: Path) -> Killer:
    """What runs the plan below a folder and kills it, or its runner."""
    return Killer(FOUR_TRIALS, folder, "tunbench.runner", "runner", assert_whole)
