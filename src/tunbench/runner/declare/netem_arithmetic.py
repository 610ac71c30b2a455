"""netem's arithmetic: what its terms come to on average. Source: Linux 6.1, net/sched/sch_netem.c."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

from tunbench.runner.declare.netem_terms import Terms, complete, number

ENTRIES = 4096
"""Entries of each of iproute2's tables."""

WIDEST = 32767 / 8192
"""The largest entry of a table, in jitters: 16 bits with a sign, of which NETEM_DIST_SCALE (8192) is one jitter."""

Matrix = Sequence[Sequence[float]]


class Chain(NamedTuple):
    """A Markov chain that loses packets: its transitions, and each state's share of time and ratio of lost packets."""

    moves: Matrix
    shares: Sequence[float]
    losses: Sequence[float]


def longest_delay(terms: Terms) -> float:
    """Seconds that a packet may wait at most: its delay, and for its slot."""
    wait = max(number(terms, "slot_min_delay"), number(terms, "slot_max_delay"))
    wait += number(terms, "slot_delay") + WIDEST * number(terms, "slot_jitter")
    width = 1 if terms.get("distribution", "uniform") == "uniform" else WIDEST
    return number(terms, "delay") + width * number(terms, "jitter") + wait


def mean_delay(delay: float, jitter: float, distribution: str = "uniform") -> float:
    """Mean delay in seconds of netem's `delay` with a distribution, whose negative values are sent at once.

    Uniform, with d the delay and j the jitter: d where j ≤ d, and (d + j)² / 4j where j > d, the integral of x over
    0 … d + j, divided by the width 2j. Else: the mean of d + j·t over the entries t of the table, with 0 for what is
    negative; each entry is drawn equally often. Source: `tabledist` and `netem_enqueue`.
    """
    if distribution != "uniform":
        return math.fsum(max(0.0, delay + jitter * entry) for entry in table(distribution)) / ENTRIES
    if jitter <= delay:
        return delay
    return (delay + jitter) * ((delay + jitter) / (4 * jitter))


@cache
def table(distribution: str) -> tuple[float, ...]:
    """The entries of iproute2's table of a distribution, in jitters: the quantiles of 0 … 4095 in 4096.

    The normal distribution has the mean 0 and the deviation 1. The Pareto distribution has the exponent 3; its mean of
    1.5 is subtracted, and the rest scaled by 4/3. `paretonormal` is a quarter of the one and three quarters of the
    other. All are cut off at ±4. Source: iproute2 6.1, netem/{normal,pareto,paretonormal}.c.
    """
    quantile = NormalDist().inv_cdf
    normal = [-4.0] + [quantile(step / ENTRIES) for step in range(1, ENTRIES)]
    pareto = [min(WIDEST, ((1 - step / ENTRIES) ** (-1 / 3) - 1.5) * 4 / 3) for step in range(ENTRIES)]
    mixed = [(one + 3 * other) / 4 for one, other in zip(normal, pareto, strict=True)]
    return tuple({"normal": normal, "pareto": pareto, "paretonormal": mixed}[distribution])


def reordered(terms: Terms) -> float | None:
    """Ratio of packets that are sent at once: one of `gap` − 1 + 1 / `reorder`. None where they are correlated.

    Behind a packet that was sent at once, netem delays `gap` − 1 packets, and then each but for the probability.
    """
    if not number(terms, "reorder"):
        return 0.0
    if number(terms, "reorder_correlation"):
        return None
    return 1 / (max(1, number(terms, "gap")) - 1 + 1 / number(terms, "reorder"))


def mean_loss(terms: Terms) -> float | None:
    """Ratio of packets that the loss model of these terms drops. None for random loss with a correlation.

    A correlation keeps the draws near their middle, so that small probabilities are met less often than asked for.
    """
    if model := chain(terms):
        return math.fsum(share * loss for share, loss in zip(model.shares, model.losses, strict=True))
    if number(terms, "loss") and number(terms, "loss_correlation"):
        return None
    return number(terms, "loss")


def loss_deviation(terms: Terms, packets: int) -> float:
    """Standard deviation of the number of packets that the loss model drops of so many.

    Without memory it is √(n·p·(1 − p)). A chain's losses come in bursts: the covariance of each pair of packets is
    added, with the sum over all distances taken by doubling. A correlation of ρ widens it to √((1 + ρ) ÷ (1 − ρ)) times
    at most, as in any autoregression of the first order.
    """
    model = chain(terms)
    if not model:
        loss, kept = number(terms, "loss"), number(terms, "loss_correlation")
        return math.sqrt(packets * loss * (1 - loss) * (1 + kept) / max(1 - kept, 1e-9))
    mean = mean_loss(terms) or 0.0
    power, later = model.moves, _times(model.moves, [[loss - mean] for loss in model.losses])
    for _ in range(packets.bit_length()):
        reach = _times(power, later)
        later = [[now[0] + then[0]] for now, then in zip(later, reach, strict=True)]
        power = _times(power, power)
    pairs = math.fsum(share * loss * row[0] for share, loss, row in zip(model.shares, model.losses, later, strict=True))
    return math.sqrt(max(0.0, packets * (mean * (1 - mean) + 2 * pairs)))


def chain(terms: Terms) -> Chain | None:
    """The Markov chain of `loss gemodel` or `loss state`; None for random loss.

    Source: `loss_gilb_ell` and `loss_4state`; Salsano, Ludovici, Ordine: Definition of a general and intuitive loss
    model for packet networks and its implementation in the Netem module in the Linux kernel (2012).
    """
    full = complete(terms)
    if number(full, "gemodel_p"):
        return _gemodel(*(number(full, f"gemodel_{name}") for name in ("p", "r", "1-h", "1-k")))
    if "state_p31" in full and "state_p23" in full:
        return _state(*(number(full, f"state_{name}") for name in ("p13", "p31", "p32", "p23", "p14")))
    return None


def echo_loss(forward: float, reverse: float) -> float:
    """Ratio of echoes that are lost where each direction loses packets independently."""
    return 1 - (1 - forward) * (1 - reverse)


def _gemodel(p: float, r: float, bad: float, good: float) -> Chain:
    """The states good and bad. The state in which a packet comes decides on it."""
    return Chain([[1 - p, p], [r, 1 - r]], [r / (p + r), p / (p + r)], [good, bad])


def _state(p13: float, p31: float, p32: float, p23: float, p14: float) -> Chain:
    """The states 1 to 4: received in a gap, received in a burst, lost in a burst, lost alone. Losses are states."""
    moves: Matrix = [[1 - p13 - p14, 0, p13, p14], [0, 1 - p23, p23, 0], [p31, p32, 1 - p31 - p32, 0], [1, 0, 0, 0]]
    weights = [p31 * p23, p13 * p32, p13 * p23, p14 * p31 * p23] if p13 else [1, 0, 0, p14]
    if not any(weights):
        # No way out of the state 3 at all.
        weights = [0, 0, 1, 0]
    return Chain(moves, [weight / sum(weights) for weight in weights], [0, 0, 1, 1])


def _times(left: Matrix, right: Matrix) -> list[list[float]]:
    columns = list(zip(*right, strict=True))
    return [[math.fsum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]
