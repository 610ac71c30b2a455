"""Which stacks can be told apart: every pair in every question that is shown, tested once and corrected together."""

import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from tunbench.analysis import metrics
from tunbench.analysis.compare.two_samples import Shift, mann_whitney, shift, smallest_p
from tunbench.analysis.findings.questions import Contest
from tunbench.analysis.multiple_tests import holm
from tunbench.analysis.shares import Ratio, Trials, ratio
from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL

LEVEL = 0.05
"""The probability, at most, with which any two stacks of a run that do not differ are told apart."""

ALIKE = 0.03
"""A share below which a difference is none: an interval that reaches into 0.97 to 1.03 tells nobody apart."""

MOST_TESTS = 50_000
"""Tests of a run at most; each takes about 0.1 ms."""

MOST_REPEATS = 1000
"""Trials of a stack up to which it is computed how many would do."""


class Difference(NamedTuple):
    """A stack that is ahead of another one beyond doubt, `ratio` times and by `shift`; positive where it has more."""

    ratio: Ratio | None
    shift: Shift
    trials: tuple[int, int]


class Told(NamedTuple):
    """What the tests of a run told.

    `differences` are by the number of the contest and the two stacks, that which is ahead first. `tests` is how many
    were made or would have been, `needed` how many trials each would have needed for any of them to show something;
    it is 0 where they had enough. More than MOST_TESTS are not made. `untested` are the pairs of contests that were
    tested which have too few trials for any outcome below LEVEL: of them nothing is known.
    """

    differences: dict[tuple[int, str, str], Difference]
    tests: int
    needed: int
    untested: frozenset[tuple[int, str, str]] = frozenset()

    def knows(self, number: int, a: str, b: str) -> bool:
        """Whether two stacks of a contest were tested against each other."""
        return not {(number, a, b), (number, b, a)} & self.untested


def told_apart(contests: Sequence[Contest]) -> Told:
    """Tests every pair of stacks of every contest that has a better and a worse.

    A pair is told apart where Mann and Whitney's p, after Holm's correction for all tests of the run, is below LEVEL,
    and the interval of the ratio lies beyond ALIKE on one side of 1. Where there is no ratio, as with losses of 0, the
    interval of the shift must lie beyond that share of the larger median.
    """
    every = [
        (number, a, b)
        for number, contest in enumerate(contests)
        if metrics.more_is_better(contest.asked.workload, contest.asked.metric) is not None
        for a, b in combinations(contest.trials, 2)
    ]
    pairs = [one for one in every if _fewest(contests[one[0]], *one[1:]) >= FEWEST_FOR_INTERVAL]
    able = any(_within_reach(contests[number], a, b, len(pairs)) for number, a, b in pairs)
    if not able:
        return Told({}, len(every), needed_for(len(every)) if every else 0)
    if len(pairs) > MOST_TESTS:
        return Told({}, len(pairs), 0)
    corrected = holm([_p(contests[number], a, b) for number, a, b in pairs])
    found: dict[tuple[int, str, str], Difference] = {}
    for (number, a, b), p in zip(pairs, corrected, strict=True):
        if p is not None and p < LEVEL:
            ahead, behind = _ahead_first(contests[number], a, b)
            difference = _difference(*(contests[number].trials[stack] for stack in (ahead, behind)))
            if difference:
                found[number, ahead, behind] = difference
    known = {(number, a, b) for number, a, b in pairs if _within_reach(contests[number], a, b, len(pairs))}
    return Told(found, len(pairs), 0, frozenset(every) - known)


def needed_for(tests: int) -> int:
    """The least number of trials of each stack with which one of so many tests can come out below LEVEL."""
    return next((n for n in range(FEWEST_FOR_INTERVAL, MOST_REPEATS) if enough(n, tests)), MOST_REPEATS)


def enough(trials: int, tests: int) -> bool:
    """Whether one of so many tests can come out below LEVEL between two stacks with so many trials each."""
    return trials >= FEWEST_FOR_INTERVAL and smallest_p(trials, trials) * tests < LEVEL


def _fewest(contest: Contest, a: str, b: str) -> int:
    return min(len(contest.trials[a]), len(contest.trials[b]))


def _p(contest: Contest, a: str, b: str) -> float | None:
    values = [list(contest.trials[stack].values()) for stack in (a, b)]
    return mann_whitney(values[0], values[1], fewest=FEWEST_FOR_INTERVAL).p


def _within_reach(contest: Contest, a: str, b: str, tests: int) -> bool:
    return smallest_p(len(contest.trials[a]), len(contest.trials[b])) * tests < LEVEL


def _ahead_first(contest: Contest, a: str, b: str) -> tuple[str, str]:
    more = metrics.more_is_better(contest.asked.workload, contest.asked.metric)
    medians = [statistics.median(contest.trials[stack].values()) for stack in (a, b)]
    return (a, b) if (medians[0] > medians[1]) == more else (b, a)


def _difference(ahead: Trials, behind: Trials) -> Difference | None:
    """What one is ahead of another, where the interval says so."""
    share, moved = ratio(ahead, behind), shift(list(behind.values()), list(ahead.values()))
    if share and share.low > 0:
        beyond = share.low > 1 + ALIKE or share.high < 1 - ALIKE
    else:
        share = None
        least = ALIKE * max(abs(statistics.median(side.values())) for side in (ahead, behind))
        beyond = moved.low > least or moved.high < -least
    return Difference(share, moved, (len(ahead), len(behind))) if beyond else None
