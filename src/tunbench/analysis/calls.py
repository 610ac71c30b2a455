"""Calls over a stack: the R and the opinion score of each trial that sent datagrams as a telephone does."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis import e_model
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.statistics import Estimate, estimate

PACKET = 0.020
"""Seconds of speech in a packet, which the first of its samples waits for: RFC 3551, section 4.2."""

BUFFER = 0.040
"""Seconds for which the fastest packet waits until it is played, so that later ones are in time: two packets."""

DELAY, LOSS = "one-way-delay", "loss"


class Call(NamedTuple):
    """What a call over a stack is like in a condition: R and opinion score, over all trials and both directions.

    Of each trial the worse direction counts: two people talk, and one of them is heard worse. `delay` is that from
    mouth to ear in seconds, infinite where nothing is heard, and `unplayed` the share of packets that were lost or came
    too late, in its median trial.
    """

    stack: str
    condition: str
    rating: Estimate
    opinion: Estimate
    delay: float
    unplayed: float


class _Direction(NamedTuple):
    rating: float
    delay: float
    unplayed: float


SILENT = _Direction(0.0, math.inf, 1.0)
"""A direction in which nothing arrives: the least R."""


def calls(analysis: RunAnalysis, workloads: Sequence[str]) -> list[Call]:
    """The calls of these workloads, in the order of conditions and stacks."""
    kept = analysis.samples.filter(pl.col("workload").is_in(list(workloads)) & pl.col("metric").is_in([DELAY, LOSS]))
    trials: dict[tuple[str, str], list[_Direction]] = {}
    for (stack, condition, *_), rows in kept.group_by(
        "stack", "condition", "repeat", "seed", "pair", maintain_order=True
    ):
        ways = [_direction(way) for _, way in rows.group_by("workload", "node")]
        rated = [way for way in ways if way]
        if rated and len(rated) == len(ways):
            trials.setdefault((str(stack), str(condition)), []).append(min(rated, key=_heard_well))
    return [_call(*key, found) for key, found in trials.items()]


def _direction(rows: pl.DataFrame) -> _Direction | None:
    """One direction of a trial, SILENT where all is lost; None where it has no loss, or no delays of what arrived."""
    delays = rows.filter((pl.col("metric") == DELAY) & pl.col("at").is_not_null())["value"].to_list()
    losses = rows.filter((pl.col("metric") == LOSS) & pl.col("at").is_null())["value"].to_list()
    if not delays or not losses:
        return SILENT if losses and losses[0] >= 1 else None
    return heard(delays, losses[0])


def heard(delays: Sequence[float], loss: float) -> _Direction:
    """What is heard of packets with these seconds on their way, beside a share that is lost.

    What takes longer than the fastest and BUFFER comes too late to be played: that is what jitter does.
    """
    played_at = min(delays) + BUFFER
    late = sum(one > played_at for one in delays) / len(delays)
    unplayed, delay = 1 - (1 - loss) * (1 - late), PACKET + played_at
    return _Direction(e_model.rating(delay, unplayed), delay, unplayed)


def _heard_well(one: _Direction) -> tuple[float, float]:
    """What rises with how well a direction is heard: where R is 0, how much of it is there at all."""
    return one.rating, -one.unplayed


def _call(stack: str, condition: str, trials: Sequence[_Direction]) -> Call:
    middle = sorted(trials, key=_heard_well)[len(trials) // 2]
    ratings = [one.rating for one in trials]
    opinions = [e_model.opinion(one) for one in ratings]
    return Call(stack, condition, estimate(ratings), estimate(opinions), middle.delay, middle.unplayed)
