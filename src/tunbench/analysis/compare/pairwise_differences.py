"""All differences between two samples by their ranks, also where there are too many to make them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_PAIRS = 1_000_000
"""Pairs of values whose differences are all made: 8 MB."""

Floats = NDArray[np.float64]


def differences(a: Sequence[float], b: Sequence[float], ranks: Sequence[int]) -> list[float]:
    """The differences bⱼ − aᵢ of these ranks, from 1 on, in rising order; of many values without making them all."""
    early, late = np.array(a, dtype=float), np.sort(np.array(b, dtype=float))
    if early.size * late.size <= MOST_PAIRS:
        rising = np.sort(np.subtract.outer(late, early), axis=None)
        return [float(rising[rank - 1]) for rank in ranks]
    least, most = float(late[0] - early.max()), float(late[-1] - early.min())
    return [_of_rank(early, late, rank, least, most) for rank in ranks]


def _of_rank(early: Floats, late: Floats, rank: int, least: float, most: float) -> float:
    """The difference of a rank: the least float that so many differences do not exceed.

    Floats are halved by their places among all of them, so that one is left after 64 steps at most.
    """
    low, high = _place(least), _place(most)
    while low < high:
        half = (low + high) // 2
        if _within(early, late, _float(half)) >= rank:
            high = half
        else:
            low = half + 1
    return _float(low)


def _within(early: Floats, late: Floats, most: float) -> int:
    """How many differences do not exceed a number. For each early value the late ones are halved, until one is left.

    Differences are rounded, and so they are compared and not their parts; rounding keeps the order.
    """
    below, above = np.zeros(early.size, dtype=int), np.full(early.size, late.size)
    while (open_ := below < above).any():
        half = (below + above) // 2
        fits = open_ & (late[np.minimum(half, late.size - 1)] - early <= most)
        below, above = np.where(fits, half + 1, below), np.where(open_ & ~fits, half, above)
    return int(below.sum())


def _place(value: float) -> int:
    """The place of a float among all of them: IEEE 754 has the same order as its bits, but for the sign."""
    bits = int(np.float64(value + 0.0).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def _float(place: int) -> float:
    return math.copysign(float(np.int64(abs(place)).view(np.float64)), place)
