"""A verification as JSON can say it."""

from collections.abc import Sequence
from typing import Any

from tunbench.analysis.compare.runs import RunComparison
from tunbench.report.export import comparison
from tunbench.run.verify.facts import FactDifference
from tunbench.run.verify.unequal import UnequalTrial
from tunbench.run.verify.verification import Verification


def as_json(found: Verification) -> dict[str, Any]:
    """What was executed again, whether it is equal to the byte, and every trial that is not."""
    return {
        "verified": found.equal,
        **{"run": found.run, "seed": found.seed, "shards": found.shards, "of": found.total},
        "differences": [_unequal(one) for one in found.unequal],
        **{"interrupted": found.interrupted, "unfinished": found.unfinished, "changed": found.changed or None},
    }


def _unequal(one: UnequalTrial) -> dict[str, Any]:
    return {**one._asdict(), "event": one.event._asdict() if one.event else None}


def medians_as_json(
    found: Verification, facts: Sequence[FactDifference], compared: RunComparison, agrees: bool | None
) -> dict[str, Any]:
    """The medians of what was executed again beside those of the run; nothing is said of bytes.

    `agrees` is null where nothing could be decided.
    """
    executed = {"run": found.run, "seed": found.seed, "shards": found.shards, "of": found.total}
    return {
        "verified": None,
        "agrees": agrees,
        **executed,
        "facts": [one._asdict() for one in facts],
        "interrupted": found.interrupted,
        "unfinished": found.unfinished,
        "medians": comparison.cells_as_json(compared),
    }
