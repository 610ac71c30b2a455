"""What is said of a run before anything else: each finding earned by a test, or a count that a reader must know."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tunbench.analysis import metrics
from tunbench.analysis.findings.differences import MOST_TESTS, Difference, Told, told_apart
from tunbench.analysis.findings.questions import Asked, Contest, asked, contests
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.verdicts import executed
from tunbench.journal.record import TrialResult
from tunbench.runner.declare.verdicts import Verdict


class Failing(NamedTuple):
    """A stack of which trials failed, or were unsupported: how many of how many, bringing it up among them."""

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
    """Several stacks cannot be told from the best, and the others can; `other` is the last of these."""

    contest: Contest
    leading: tuple[str, ...]
    other: str
    of: int
    difference: Difference


class Alike(NamedTuple):
    """Questions in which none of the stacks can be told from another, or (`from_best`) none from the best."""

    contests: tuple[Contest, ...]
    stacks: tuple[str, ...]
    from_best: bool


Finding = Failing | TooFew | TooMany | Ahead | Leading | Alike


@dataclass(frozen=True)
class Answers:
    """What a run answers: its questions, who takes part in each, and which stacks could be told apart."""

    questions: list[Asked]
    contests: list[Contest]
    told: Told

    @cached_property
    def best(self) -> dict[tuple[str, str, Asked], tuple[str, ...]]:
        """The stack that is ahead of all others, or those that cannot be told from the best and are not all.

        It is by condition, kind of underlay and question; what nobody is ahead in has none.
        """
        found = {}
        for number, contest in enumerate(self.contests):
            leading = _leading(contest, number, self.told)
            if len(leading) < len(contest.trials):
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
    return Answers(questions, found, told_apart(found))


def findings(analysis: RunAnalysis, found: Answers) -> list[Finding]:
    """What is to be said, the most important first: what failed, whether there were trials enough, and who is ahead.

    Of what somebody asks, such as how fast, the first answer comes before the second to any.
    """
    told = [*_failing(executed(analysis.record)), *_not_tested(found)]
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


def _median(contest: Contest, stack: str) -> float:
    return statistics.median(contest.trials[stack].values())


def _ranked(contest: Contest) -> list[str]:
    """The stacks of a contest, the best median first."""
    more = metrics.more_is_better(contest.asked.workload, contest.asked.metric)
    return sorted(contest.trials, key=lambda stack: _median(contest, stack), reverse=bool(more))


def _leading(contest: Contest, number: int, told: Told) -> tuple[str, ...]:
    """The best stack, and those that cannot be told from it."""
    best, *others = _ranked(contest)
    return (best, *(one for one in others if (number, best, one) not in told.differences))


def _outcome(contest: Contest, number: int, told: Told) -> Ahead | Leading | Alike | None:
    if metrics.more_is_better(contest.asked.workload, contest.asked.metric) is None:
        return None
    ranked, leading, of = _ranked(contest), _leading(contest, number, told), len(contest.trials)
    if len(leading) == of:
        some = any(key[0] == number for key in told.differences)
        return None if _constant(contest) else Alike((contest,), tuple(contest.trials), some)
    other = ranked[1] if len(leading) == 1 else [one for one in ranked if one not in leading][-1]
    difference = told.differences[number, ranked[0], other]
    if len(leading) == 1:
        return Ahead(contest, ranked[0], other, of, difference)
    return Leading(contest, leading, other, of, difference)


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
