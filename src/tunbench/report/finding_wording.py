"""The sentences with which a report begins: a closed grammar, one form for each kind of finding."""

import re
from collections.abc import Sequence

from tunbench.analysis.findings.differences import Difference
from tunbench.analysis.findings.findings import (
    Ahead,
    Alike,
    Answers,
    Failing,
    Finding,
    Leading,
    TooFew,
    TooMany,
    Uncompared,
    findings,
)
from tunbench.analysis.findings.questions import Asked, Contest
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.report import question_words, units
from tunbench.runner.declare import axes

MOST = 6
"""Sentences at the top of a report at most."""

MOST_NAMES = 3
"""Stacks that a sentence names at most, and questions; more are counted."""

RATIOS = {
    "bit/s": "carries {times} times as much as",
    "1/s": "serves {times} times as many as",
    "s": "takes {times} times as long as",
    "s/B": "costs {times} times as much as",
    "idle-rate": "sends {times} times as much as",
    "idle-cpu": "computes {times} times as much as",
    "jitter": "has {times} times the jitter of",
}
"""How a stack is ahead by a ratio, by the metric or else its unit; of any other one it `has` so much."""

RETURNS = {
    "connect": "connects {shift} before",
    "blocked": "comes back {shift} before",
    "recovery": "comes back {shift} before",
}
"""How a stack is ahead in metrics of how long nobody is answered: seconds say more of them than a ratio."""

WHERE = {"access": "behind {}", "profile": "under {}"}
"""What a sentence calls an axis of a condition, these first in this order; any other one it has `with`."""

NOTHING = {("access", "none"): "without an access"}
"""Values of an axis that are called otherwise."""

OF_BOTH_SITES = re.compile("none,a=([^,=]+),b=([^,=]+)")

OVER = {"ip6": "over IPv6", "ethernet": "over Ethernet"}
"""What a sentence calls a kind of underlay other than IP."""


def sentences(analysis: RunAnalysis, found: Answers) -> list[str]:
    """At most MOST sentences on a run, the most important first."""
    return [sentence(one, analysis, found.questions) for one in findings(analysis, found)[:MOST]]


def sentence(finding: Finding, analysis: RunAnalysis, questions: Sequence[Asked]) -> str:
    """A finding in one sentence; `questions` are those of the run."""
    match finding:
        case Failing(stack, verdict, trials, of):
            return f"{trials} of {of} trials of {stack} {verdict}; they are in none of these numbers."
        case TooFew(least, most, tests, needed):
            there = str(most) if least == most else f"{least} to {most}"
            return (
                f"With {_trials(there)} each no stack can be told from another: {_tests(tests)} would need {needed} "
                "trials each."
            )
        case TooMany(tests):
            return f"No stack is told from another: {_tests(tests)} are too many. Run fewer stacks or workloads."
        case Uncompared(stack, least, most, some, of):
            there = _trials(str(most) if least == most else f"{least} to {most}")
            place = "" if some == of else f" in {some} of {of} comparisons"
            return f"{stack} has {there}{place}, too few to be compared."
        case Ahead(contest, best, other, of, difference):
            last = f", the next of {of} stacks" if of > 2 else ""
            told = _ahead(contest, best, f"{other}{last}", difference)
            return _in(contest, analysis, f"{told}: {_name(contest, questions)}")
        case Leading(contest, leading, other, of, difference, last):
            told = _ahead(contest, leading[0], f"{other}, the last" if last else other, difference)
            first = f"{_listed(leading, f'{len(leading)} of {of} stacks')} cannot be told from the best"
            first += f" of {of} stacks" * (len(leading) <= MOST_NAMES)
            return _in(contest, analysis, f"{first}; {told}: {_name(contest, questions)}")
        case Alike(those, stacks, from_best):
            named = [_name(contest, questions) for contest in those]
            return _in(those[0], analysis, f"{_alike(stacks, from_best)} in {_listed(named, '')}")


def where(condition: str, analysis: RunAnalysis) -> str:
    """A condition in words, such as `behind home-dsl under low`; empty where nothing is to be said of it."""
    values = next(values for values, name in analysis.conditions.items() if name == condition)
    usual = {axis.name: axis.default for axis in axes.AXES}
    told = []
    for axis in dict.fromkeys((*WHERE, *axes.CONDITION)):
        place, words = axes.CONDITION.index(axis), WHERE.get(axis, f"with the {axis} {{}}")
        varied = len({one[place] for one in analysis.conditions}) > 1
        if values[place] is not None and (varied or values[place] != usual[axis]):
            told.append(NOTHING.get((axis, values[place]), words.format(_both_sites(values[place]))))
    return " ".join(told)


def _both_sites(value: str) -> str:
    """The accesses of two sites, spelled `none,a=X,b=Y`, as `X and Y`; any other value as it is."""
    found = OF_BOTH_SITES.fullmatch(value)
    return f"{found[1]} and {found[2]}" if found else value


def _in(contest: Contest, analysis: RunAnalysis, told: str) -> str:
    """A sentence that begins with where it holds."""
    place = " ".join(part for part in (where(contest.condition, analysis), OVER.get(contest.underlay, "")) if part)
    begun = f"{place}, {told}." if place else f"{told}."
    return f"{begun[0].upper()}{begun[1:]}" if place or begun.startswith("of ") else begun


def _ahead(contest: Contest, ahead: str, behind: str, difference: Difference) -> str:
    """Who is ahead of whom, by how much, with the interval and how many trials say so."""
    asked, share, moved = contest.asked, difference.ratio, difference.shift
    low, high = sorted((abs(moved.low), abs(moved.high)))
    if asked.metric in RETURNS:
        form = RETURNS[asked.metric].format(shift=_amount(abs(moved.value), asked.unit))
        bounds = _bounds(low, high, asked.unit)
    elif share:
        form = RATIOS.get(asked.metric) or RATIOS.get(asked.unit, "has {times} times as much as")
        form = form.format(times=units.number(share.median))
        bounds = f"{units.number(share.low)} to {units.number(share.high)}"
    else:
        direction = "more" if moved.value > 0 else "less"
        form = f"has {_amount(abs(moved.value), asked.unit)} {direction} than"
        bounds = _bounds(low, high, asked.unit)
    a, b = difference.trials
    trials = f"{a} trials each" if a == b else f"{a} and {b} trials"
    paired = ", paired by seed" if share and share.paired and asked.metric not in RETURNS else ""
    return f"{ahead} {form} {behind} ({bounds}, {trials}{paired})"


def _alike(stacks: Sequence[str], from_best: bool) -> str:
    if len(stacks) == 2:
        return f"{stacks[0]} and {stacks[1]} cannot be told apart"
    return f"of {len(stacks)} stacks none can be told from {'the best' if from_best else 'another'}"


def _name(contest: Contest, questions: Sequence[Asked]) -> str:
    return question_words.name(contest.asked, questions)


def _amount(value: float, unit: str) -> str:
    """A difference with its unit; that of two shares in percentage points."""
    points = f"{units.number(100 * value)}{units.NBSP}percentage points"
    return points if unit == "ratio" else units.quantity(value, unit)


def _bounds(low: float, high: float, unit: str) -> str:
    """Two amounts, with the unit behind the second."""
    least = units.number(100 * low) if unit == "ratio" else units.in_scale(low, unit, units.scale(high, unit))
    return f"{least} to {_amount(high, unit)}"


def _listed(names: Sequence[str], counted: str) -> str:
    """Names with `and` before the last one; of more than MOST_NAMES how many there are, or how many more."""
    if len(names) > MOST_NAMES:
        return counted or f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _trials(count: str) -> str:
    return f"{count} {'trial' if count == '1' else 'trials'}"


def _tests(count: int) -> str:
    return f"{count:,} {'test' if count == 1 else 'tests'}".replace(",", units.NARROW)
