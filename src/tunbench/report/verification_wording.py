"""A verification in words: what was equal, or which trial came out otherwise, in which value, and from where on."""

from collections.abc import Iterator, Sequence

from tunbench.analysis.compare.runs import RunComparison
from tunbench.report import change_wording
from tunbench.run.verify.facts import FactDifference
from tunbench.run.verify.their_run import MAX_NAMED
from tunbench.run.verify.unequal import UnequalTrial
from tunbench.run.verify.verification import Verification

MAX_TRIALS = 20
"""Trials that are told at most."""


def sentences(found: Verification) -> Iterator[str]:
    """What came out, in one line; a line for each other trial that differs, and one for what nobody can verify."""
    if found.equal:
        yield f"verified: {len(found.shards)} of {_shards(found.total)}, equal to the byte"
    else:
        yield from _differing(found)
    if found.unfinished:
        yield unfinished(found)


def unfinished(found: Verification) -> str:
    """The shards of the run that did not come to their end."""
    named = "; ".join(found.unfinished[:MAX_NAMED])
    more = f" and {len(found.unfinished) - MAX_NAMED} more" if len(found.unfinished) > MAX_NAMED else ""
    return (
        f"{len(found.unfinished)} of {_shards(found.total)} of the run did not come to an end, and cannot be verified: "
        f"{named}{more}; its author goes on with it by tunbench run --resume"
    )


def _differing(found: Verification) -> Iterator[str]:
    lines = [*map(unequal, found.unequal), *(f"{name}: it did not come to its end here" for name in found.interrupted)]
    # Whoever changed the fingerprint, and no sample.
    lines = lines or [f"all trials are equal to the byte, but {found.changed}"]
    yield f"differs: {found.differing} of {_shards(len(found.shards))} executed again, of {found.total}: {lines[0]}"
    yield from (f"  {line}" for line in lines[1:MAX_TRIALS])
    if len(lines) > MAX_TRIALS:
        yield f"  and {len(lines) - MAX_TRIALS} more; --json has them"


def unequal(trial: UnequalTrial) -> str:
    """A trial that came out otherwise: in which value, and from which event of its shard on."""
    text = f"{trial.trial}: {trial.what} is {trial.theirs} there and {trial.here} here"
    if trial.unequal > 1:
        text += f", as are {trial.unequal - 1} more of {trial.samples} samples"
    if trial.event is None:
        return text
    line = f"from line {trial.event.line} of its journal on"
    if trial.event.measured:
        return f"{text}, {line}: {trial.event.theirs}, while all that led to it is equal"
    return f"{text}, {line}: {trial.event.theirs} there, {trial.event.here} here"


def of_medians(found: Verification, compared: RunComparison, agrees: bool | None) -> str:
    """What the medians show, in one line, and what nobody can verify in another."""
    lacking = f"; {len(found.interrupted)} did not come to their end here" if found.interrupted else ""
    verdict = {True: "medians show no difference", False: "medians differ", None: "medians decide nothing"}[agrees]
    executed = f"{len(found.shards)} of {_shards(found.total)}"
    rest = f"\n{unfinished(found)}" if found.unfinished else ""
    return f"{verdict}: {executed}, {change_wording.headline(compared)}{lacking}{rest}"


def fact(one: FactDifference) -> str:
    """Something that decides the numbers, and is another one here."""
    return f"another {one.name}: {one.theirs} there, {one.here} here"


def facts(found: Sequence[FactDifference]) -> str:
    """All of them, one line each."""
    return "\n".join(map(fact, found))


def _shards(number: int) -> str:
    return f"{number} {'shard' if number == 1 else 'shards'}"
