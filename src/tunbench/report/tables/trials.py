"""Every trial with the way to its commands."""

from typing import NamedTuple

from tunbench.report.tables.table import TableRow, filter_numbers
from tunbench.report.trial_links import commands
from tunbench.report.view import View


class LinkedTrial(NamedTuple):
    """A trial as the report links to it: its repeat, its verdict, the address of its commands, what disturbed it, and
    the ways that packets of its tunnels took.
    """

    repeat: int
    verdict: str
    href: str
    noisy: str = ""
    path: str = ""


class CellTrials(NamedTuple):
    """The trials of one cell, and the row's numbers in the filters."""

    stack: str
    condition: str
    workload: str
    run: str
    trials: list[LinkedTrial]
    row: TableRow


def rows(view: View) -> list[CellTrials]:
    """Every cell with its trials, in the order of conditions and stacks, repeats rising."""
    at = view.places
    there = [key for key in view.trials if key[3] in at.workloads and key[1] in at.stacks]
    order = sorted(there, key=lambda key: (at.conditions[key[2]], at.stacks[key[1]], at.workloads[key[3]]))
    return [
        CellTrials(
            stack,
            condition,
            workload,
            run,
            [
                LinkedTrial(trial.cell["repeat"], trial.verdict, commands(trial, base), trial.noisy, trial.path)
                for trial, base in view.trials[run, stack, condition, workload]
            ],
            TableRow((), *filter_numbers(view, run, stack, condition, workload)),
        )
        for run, stack, condition, workload in order
    ]
