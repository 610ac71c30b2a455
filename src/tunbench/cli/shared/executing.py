"""What commands that execute a run share: how it is gone through, what may stop it, and what is told at its end."""

from pathlib import Path

import typer
from rich.console import Console

from tunbench.cli.shell.console import say, screen, show
from tunbench.executors.pool import Seats, seats_of
from tunbench.journal.folders import resume_command
from tunbench.journal.journal import JournalError
from tunbench.labs.image import ImageError
from tunbench.labs.lab import LabError
from tunbench.plan.estimate.duration import seconds_by_shard
from tunbench.plan.estimate.host_pace import estimate
from tunbench.plan.load import Loaded
from tunbench.report.terminal.progress import Display
from tunbench.run import execution
from tunbench.run.interrupt import INTERRUPTED
from tunbench.run.order import Order, RunError
from tunbench.runner.declare.verdicts import Verdict
from tunbench.toolbox.command import ToolError

SOME_FAILED = 1
"""Exit code of a run that is over, where not all is as it should be."""

MISTAKES = (RunError, JournalError, ImageError, LabError, ToolError)
"""What stops a run with a message for whoever started it."""


def execute(
    folder: Path,
    order: Order,
    workers: int | Seats,
    console: Console,
    interrupted: str = "",
    limit: float | None = None,
) -> list[str]:
    """Executes what is left of a run, and shows how far it is. Returns the trials that came out otherwise than before.

    After `limit` seconds what is under way comes to its end, and nothing else begins.
    Ends the command on Ctrl-C, and says how to go on, or what else is to be said then.
    """
    schedule = execution.schedule_of(folder, order)
    waiting, possible = schedule.waiting(), schedule.possible()
    seats = seats_of(workers)
    at_first = seats()
    seconds = estimate([*waiting, *possible], at_first, order.lab.clock)
    expected = seconds_by_shard([*waiting, *possible], order.lab.clock)
    most = order.plan.until.max if order.plan.until else 0
    host = order.lab.examine(order.shards)
    for line in host.lines if host else ():
        say(console, line)
    try:
        total = schedule.asked
        over = execution.never if limit is None else execution.after(limit)
        with Display(console, total, at_first, seconds, expected, most, total - len(waiting), limit) as display:
            return execution.go(folder, order, seats, display.watch, host, over)
    except KeyboardInterrupt:
        kept = f"every finished trial is kept. Go on with:\n  {resume_command(folder)}"
        say(console, f"\nInterrupted; {interrupted or kept}")
        raise typer.Exit(INTERRUPTED) from None


def conclude(folder: Path, loaded: Loaded, changed: list[str], console: Console) -> int:
    """Writes what follows from the journal, and tells of it; returns the exit code."""
    from tunbench.report.conclusion import finish
    from tunbench.report.terminal import run_report

    # The published numbers of a study stand beside the copy that a run has of its plan.
    reported = finish(folder, loaded._replace(path=folder / "plan.toml"))
    show(screen(), run_report.results(reported))
    show(console, run_report.remarks(reported, folder, changed))
    record = reported.analysis.record
    failed = any(trial.verdict == Verdict.FAILED for trial in record.trials)
    return SOME_FAILED if failed or changed or record.interrupted else 0
