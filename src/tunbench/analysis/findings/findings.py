"""What is said of a run before anything else: each finding earned by a test, or a count that a reader must know."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from tunbench.analysis import metrics
from tunbench.analysis.findings.differences import MOST_TESTS, Difference, Told, enough, told_apart
from tunbench.analysis.findings.questions import Asked, Contest, asked, contests
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.verdicts import executed
from tunbench.journal.record import TrialResult
from tunbench.runner.declare.verdicts import Verdict


class Failing(NamedTuple):
    """A stack of which trials failed: how many of how many, bringing it up among them."""

    stack: str
    verdict: str
    trials: int
    of: int


class TooFew(NamedTuple):
    """No test could show anything: the trials that there are of a stack in a question, and how many would do."""

    least: int
    most: int
    tests: int
    needed: int


class Uncompared(NamedTuple):
    """A stack with too few trials to be tested against any other, in so many of the contests that it is in."""

    stack: str
    least: int
    most: int
    contests: int
    of: int


class TooMany(NamedTuple):
    """There would be so many tests that none is made."""

    tests: int


class Ahead(NamedTuple):
    """One stack is ahead of all others, of so many; `other` is the next one, and `difference` that to it."""

    contest: Contest
    best: str
    other: str
    of: int
    difference: Difference


class Leading(NamedTuple):
    """Several stacks cannot be told from the best, and the others can; `other` is the last of these.

    `last` is whether that is the last of all, too: one that scatters may be behind it and not be told from the best.
    """

    contest: Contest
    leading: tuple[str, ...]
    other: str
    of: int
    difference: Difference
    last: bool = True


class Alike(NamedTuple):
    """Questions in which none of the stacks can be told from another, or (`from_best`) none from the best."""

    contests: tuple[Contest, ...]
    stacks: tuple[str, ...]
    from_best: bool


UNSAID = {"black-hole"}
"""Metrics that are a yes or a no: how many times as much of it there is says nothing."""

Finding = Failing | TooFew | TooMany | Uncompared | Ahead | Leading | Alike


@dataclass(frozen=True)
class Answers:
    """What a run answers: its questions, who takes part in each, and which stacks could be told apart.

    Where tests were made, nobody takes part who could not be tested against any other. `uncompared` are those of them
    that have too few trials themselves.
    """

    questions: list[Asked]
    contests: list[Contest]
    told: Told
    uncompared: list[Uncompared]

    @cached_property
    def best(self) -> dict[tuple[str, str, Asked], tuple[str, ...]]:
        """The stack that is ahead of all others, or those that cannot be told from the best and are not all.

        It is by condition, kind of underlay and question; what nobody is ahead in has none.
        """
        found = {}
        for number, contest in enumerate(self.contests):
            leading = _leading(contest, number, self.told)
            if leading and len(leading) < len(contest.trials):
                found[contest.condition, contest.underlay, contest.asked] = leading
        return found

    @cached_property
    def outcomes(self) -> list[Ahead | Leading | Alike]:
        """What came out in each contest that was tested, in their order."""
        able = not self.told.needed and self.told.tests <= MOST_TESTS
        made = (_outcome(one, number, self.told) for number, one in enumerate(self.contests) if able)
        return [one for one in made if one]


def answers(analysis: RunAnalysis, workloads: Sequence[str]) -> Answers:
    """What a run answers; `workloads` are its own, in their order."""
    questions = asked(analysis.cells, workloads)
    found = contests(analysis, questions)
    told = told_apart(found)
    compared = [_compared(contest, number, told) for number, contest in enumerate(found)]
    return Answers(questions, compared, told, _uncompared(found, compared, told.tests))


def findings(analysis: RunAnalysis, found: Answers) -> list[Finding]:
    """What is to be said, the most important first: what failed, whether there were trials enough, and who is ahead.

    Of what somebody asks, such as how fast, the first answer comes before the second to any.
    """
    told = [*_failing(executed(analysis.record)), *_not_tested(found), *found.uncompared]
    decided = [one for one in found.outcomes if isinstance(one, Ahead | Leading)]
    return [*told, *_in_turns(decided), *_merged([one for one in found.outcomes if isinstance(one, Alike)])]


def _failing(trials: Sequence[TrialResult]) -> list[Failing]:
    of = Counter(trial.cell["stack"] for trial in trials)
    bad = Counter((trial.cell["stack"], trial.verdict) for trial in trials if trial.verdict == Verdict.FAILED)
    return [Failing(stack, verdict, number, of[stack]) for (stack, verdict), number in bad.most_common()]


def _not_tested(found: Answers) -> Iterator[Finding]:
    sizes = [len(trials) for contest in found.contests for trials in contest.trials.values()]
    if found.told.needed:
        yield TooFew(min(sizes), max(sizes), found.told.tests, found.told.needed)
    elif found.told.tests > MOST_TESTS:
        yield TooMany(found.told.tests)


def _compared(contest: Contest, number: int, told: Told) -> Contest:
    """A contest without those that were tested against nobody."""
    kept = {
        stack: own
        for stack, own in contest.trials.items()
        if any(told.knows(number, stack, other) for other in contest.trials if other != stack)
    }
    return contest._replace(trials=kept)


def _uncompared(found: Sequence[Contest], compared: Sequence[Contest], tests: int) -> list[Uncompared]:
    """Who was left out for too few trials, not for those of the others."""
    sizes: dict[str, list[int]] = {}
    for whole, left in zip(found, compared, strict=True):
        for stack, own in whole.trials.items():
            if stack not in left.trials and not enough(len(own), tests):
                sizes.setdefault(stack, []).append(len(own))
    there = Counter(stack for contest in found for stack in contest.trials)
    return [
        Uncompared(stack, min(sizes[stack]), max(sizes[stack]), len(sizes[stack]), there[stack])
        for stack in there
        if stack in sizes
    ]


def _median(contest: Contest, stack: str) -> float:
    return statistics.median(contest.trials[stack].values())


def _ranked(contest: Contest) -> list[str]:
    """The stacks of a contest, the best median first."""
    more = metrics.more_is_better(contest.asked.workload, contest.asked.metric)
    return sorted(contest.trials, key=lambda stack: _median(contest, stack), reverse=bool(more))


def _leading(contest: Contest, number: int, told: Told) -> tuple[str, ...]:
    """The best stack, and those that cannot be told from it; nobody where that is not known of all."""
    if len(contest.trials) < 2:
        return ()
    best, *others = _ranked(contest)
    alike = [one for one in others if (number, best, one) not in told.differences]
    return (best, *alike) if all(told.knows(number, best, one) for one in alike) else ()


def _outcome(contest: Contest, number: int, told: Told) -> Ahead | Leading | Alike | None:
    asked = contest.asked
    if metrics.more_is_better(asked.workload, asked.metric) is None or asked.metric in UNSAID:
        return None
    ranked, leading, of = _ranked(contest), _leading(contest, number, told), len(contest.trials)
    if not leading:
        return None
    if len(leading) == of:
        some = any(key[0] == number for key in told.differences)
        known = some or all(told.knows(number, a, b) for a, b in combinations(ranked, 2))
        return Alike((contest,), tuple(contest.trials), some) if known and not _constant(contest) else None
    other = ranked[1] if len(leading) == 1 else [one for one in ranked if one not in leading][-1]
    difference = told.differences[number, ranked[0], other]
    if len(leading) == 1:
        return Ahead(contest, ranked[0], other, of, difference)
    return Leading(contest, leading, other, of, difference, other == ranked[-1])


def _constant(contest: Contest) -> bool:
    """Whether all measured the same all the time, such as no loss: nobody asks who is ahead in it."""
    return len({value for trials in contest.trials.values() for value in trials.values()}) == 1


def _in_turns(decided: Sequence[Ahead | Leading]) -> list[Ahead | Leading]:
    """The first that is about what somebody asks (how fast, how late, …), then the second of each, and so on."""
    seen: Counter[str] = Counter()
    turns = []
    for one in decided:
        about = metrics.about(one.contest.asked.workload, one.contest.asked.metric)
        asks = about.answers if about else one.contest.asked.metric
        turns.append(seen[asks])
        seen[asks] += 1
    return [one for _, _, one in sorted(zip(turns, range(len(decided)), decided, strict=True), key=lambda row: row[:2])]


def _merged(alike: Sequence[Alike]) -> list[Alike]:
    """Questions of one condition in which the same stacks are alike, as one finding."""
    found: dict[tuple[str, str, tuple[str, ...], bool], list[Contest]] = {}
    for one in alike:
        [contest] = one.contests
        found.setdefault((contest.condition, contest.underlay, one.stacks, one.from_best), []).append(contest)
    return [Alike(tuple(those), stacks, from_best) for (*_, stacks, from_best), those in found.items()]
