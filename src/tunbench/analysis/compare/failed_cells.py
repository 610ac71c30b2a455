"""The verdict of a compared cell of which trials failed or are missing: numbers do not decide it."""

import re
from collections.abc import Mapping, Sequence

from tunbench.analysis.compare.compared_cell import FAILED_A, FAILED_B, FAILED_BOTH, ONLY_A, ONLY_B, ComparedCell
from tunbench.journal.record import TrialResult
from tunbench.runner.declare.verdicts import Verdict

COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""A sequence by which a program colours what it prints: ECMA-48, section 5.4."""


def without_numbers(row: ComparedCell, sides: Mapping[str, Sequence[TrialResult]]) -> tuple[str, str]:
    """The verdict that does not need numbers, and why; both empty where the numbers decide.

    `sides` are the cell's trials in A and in B, by what the runs are called. A cell of which a larger share of trials
    failed in B than in A has failed in B, whatever the others measured.
    """
    (a, b), (_, name_b) = sides.values(), sides
    bad = [[trial for trial in side if trial.verdict != Verdict.OK] for side in (a, b)]
    if a and b and len(bad[1]) * len(a) > len(bad[0]) * len(b):
        return FAILED_B, _failures(bad[1], len(b))
    if row.n_a and row.n_b:
        return "", ""
    if row.n_b:
        return (FAILED_A, _failures(bad[0], len(a))) if bad[0] else (ONLY_B, "")
    if row.n_a:
        return ONLY_A, f"no {'value' if b else 'trial'} of it in {name_b}"
    if a and b:
        return FAILED_BOTH, _failures(bad[1], len(b))
    return (FAILED_A, _failures(bad[0], len(a))) if a else (ONLY_B, _failures(bad[1], len(b)))


def some_failed(sides: Mapping[str, Sequence[TrialResult]]) -> str:
    """That not all trials of a side are ok, whose rest is compared; empty where all are."""
    counts = [(name, sum(one.verdict == Verdict.OK for one in side), len(side)) for name, side in sides.items()]
    return "; ".join(f"{name}: {ok} ok of {of} trials" for name, ok, of in counts if ok < of)


def _failures(bad: Sequence[TrialResult], of: int) -> str:
    return f"{len(bad)} of {of} trials {bad[0].verdict}: {_line(bad[0].reason)}" if bad else ""


def _line(text: str) -> str:
    """The text on one line, without what only a terminal reads: programs print colours."""
    plain = COLOUR.sub("", text)
    return " ".join("".join(sign if sign.isprintable() else " " for sign in plain).split())
