"""Whether the values of a cell fall into two groups."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

FEWEST_FOR_GROUPS = 8
"""Values below which two groups cannot be told from chance."""

SMALLEST_GROUP = 0.25
"""The part of the values that either group has at least, and never fewer than LEAST of them."""

LEAST = 3

APART = 0.05
"""The least distance of the groups' means, relative to the mean of all; clocks and programs round their results."""


def threshold(n: int) -> float:
    """What the separation of two groups of n values must exceed.

    Where a sample is cut in two, its halves are always apart: those of a normal distribution by 2.6, of a uniform one
    by 3.5. With the rule 4 + 80 ÷ n one cell of a thousand is a false alarm at most, among normal, exponential, uniform
    and log-normal values and for every n from FEWEST_FOR_GROUPS on: simulated, and a test repeats it.
    """
    return 4 + 80 / n


class Split(NamedTuple):
    """Ashman's D of the two groups of each row, and the distance of their means relative to the mean of all."""

    separation: Numbers
    apart: Numbers


def split(series: Numbers) -> Split:
    """Each row cut in two where the squares within both groups sum up to the least, FEWEST_FOR_GROUPS values at least.

    D = √2 |m₁ − m₂| ÷ √(s₁² + s₂²), with means m and standard deviations s of the groups; infinite where each group has
    one value only. Either group has SMALLEST_GROUP of the values. Sources: Ashman, Bird, Zepf, Detecting
    Bimodality in Astronomical Datasets, The Astronomical Journal 108 (1994); the cut: Fisher, On Grouping for Maximum
    Homogeneity, Journal of the American Statistical Association 53 (1958).
    """
    rows, n = series.shape
    least = max(LEAST, int(np.ceil(SMALLEST_GROUP * n)))
    centre = series.mean(axis=1, keepdims=True)
    ordered = np.sort(series, axis=1) - centre
    lower = np.arange(least, n - least + 1)
    sums, squares = np.cumsum(ordered, axis=1), np.cumsum(ordered**2, axis=1)
    below, above = sums[:, lower - 1], sums[:, -1:] - sums[:, lower - 1]
    within_below = squares[:, lower - 1] - below**2 / lower
    within_above = squares[:, -1:] - squares[:, lower - 1] - above**2 / (n - lower)
    cut = np.argmin(within_below + within_above, axis=1)
    every, size = np.arange(rows), lower[cut]
    distance = above[every, cut] / (n - size) - below[every, cut] / size
    variances = within_below[every, cut] / (size - 1) + within_above[every, cut] / (n - size - 1)
    # What is left of the squares of equal values is rounding, and may be less than 0.
    spread = np.sqrt(np.maximum(variances, 0.0))
    infinite = np.full(rows, np.inf)
    found = np.divide(np.sqrt(2) * distance, spread, out=infinite, where=spread > 0)
    return Split(found, np.divide(distance, np.abs(centre[:, 0]), out=infinite.copy(), where=centre[:, 0] != 0))


def bimodal(series: Numbers) -> NDArray[np.bool_]:
    """Whether each row falls into two groups; never with fewer than FEWEST_FOR_GROUPS values."""
    n = series.shape[1]
    if n < FEWEST_FOR_GROUPS:
        return np.zeros(len(series), dtype=bool)
    found = split(series)
    different = series.min(axis=1) < series.max(axis=1)
    return np.asarray(different & (found.separation > threshold(n)) & (found.apart >= APART))
