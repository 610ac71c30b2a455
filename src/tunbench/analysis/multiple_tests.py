"""Many tests in one table: their p corrected, so that hardly any of them is false by chance."""

from collections.abc import Sequence


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """The p of each test, corrected for all that stand in one table; None stays None and does not count.

    In rising order, pᵢ is multiplied by the number of tests that are left, k − i + 1, and none is smaller than the one
    before it, nor larger than 1. The probability of any false rejection in the table stays below the level,
    whatever the tests' dependence. Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian
    Journal of Statistics 6 (1979).
    """
    rising = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    last = 0.0
    for step, (p, place) in enumerate(rising):
        last = max(last, min(1.0, p * (len(rising) - step)))
        corrected[place] = last
    return corrected
