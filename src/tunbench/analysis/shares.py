"""The ratio of one sample to another: of their medians, with the interval of the shift of their logarithms."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tunbench.analysis.compare.two_samples import shift
from tunbench.analysis.statistics import CONFIDENCE, FEWEST_FOR_INTERVAL, RANGE, estimate, interval

LEAST_TAU = 0.5
"""Kendall's tau of two samples from which on their trials of one seed are a pair: they move together."""

ONLY_EXTREMES = 1.0
"""A confidence that no interval has, so that the extremes are its bounds."""

Trials = Mapping[tuple[int, int], float]
"""One value a trial, by its repeat and seed."""


class Ratio(NamedTuple):
    """A ratio and what surrounds it; the fields are those of `statistics.Estimate`, and `paired` whether by seed.

    `n` are the trials of the side that has fewer of them, or the pairs.
    """

    n: int
    median: float
    low: float
    high: float
    coverage: float
    kind: str
    paired: bool


def ratio(of: Trials, to: Trials) -> Ratio | None:
    """How many times as large one sample is as another; None where a value of either is below 0, or of `to` is 0.

    It is the ratio of the medians. Its interval is that of Hodges and Lehmann's shift of the logarithms, turned back
    (see `two_samples.shift`): the ratios of all pairs of trials at its ranks. Where the ratio of the medians lies
    outside of it, the interval reaches to there. Below FEWEST_FOR_INTERVAL trials it is the range of all ratios.

    Equal seeds lose other packets in other stacks, so that trials of one seed are a pair only where they move together:
    where tau is at least LEAST_TAU. Then it is the median of the ratios within a seed, with its interval by order
    statistics.
    """
    above, below = list(of.values()), list(to.values())
    if not above or not below or min(above) < 0 or min(below) <= 0:
        return None
    common = sorted(of.keys() & to.keys())
    if len(common) >= FEWEST_FOR_INTERVAL:
        pairs = [of[key] for key in common], [to[key] for key in common]
        if move_together(*pairs):
            within = [one / other for one, other in zip(*pairs, strict=True)]
            return Ratio(*estimate(within), paired=True)
    return _unpaired(above, below)


def move_together(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether Kendall's τ_b of pairs is at least LEAST_TAU. Where all values of a side are equal, nothing moves."""
    signs = [np.sign(np.subtract.outer(side, side)) for side in (a, b)]
    moved = math.sqrt(float((signs[0] ** 2).sum()) * float((signs[1] ** 2).sum()))
    return bool(moved) and float((signs[0] * signs[1]).sum()) >= LEAST_TAU * moved


def _unpaired(above: Sequence[float], below: Sequence[float]) -> Ratio:
    n = min(len(above), len(below))
    value = statistics.median(above) / statistics.median(below)
    few = n < FEWEST_FOR_INTERVAL
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = shift([_log(one) for one in below], [_log(one) for one in above], ONLY_EXTREMES if few else CONFIDENCE)
    low, high = (math.exp(bound) for bound in (logs.low, logs.high))
    kind = RANGE if few else interval(CONFIDENCE)
    return Ratio(n, value, min(low, value), max(high, value), logs.coverage, kind, paired=False)


def _log(value: float) -> float:
    """The logarithm; that of 0 is below all others."""
    return math.log(value) if value else -math.inf
