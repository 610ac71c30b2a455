"""The window of CUBIC as RFC 9438 has it, where packets are lost independently of each other."""

import math
import random

C, BETA = 0.4, 0.7
"""RFC 9438, sections 4.1 and 4.6."""

ALPHA = 3 * (1 - BETA) / (1 + BETA)
"""Segments a round trip by which the window grows that is as friendly as Reno's: section 4.3."""


def window_of_even_losses(loss: float, round_trip: float) -> float:
    """The mean window in segments where every 1 / `loss`-th packet is lost: section 5.1, figure 5."""
    return float((C * (3 + BETA) / (4 * (1 - BETA))) ** 0.25 * (round_trip / loss) ** 0.75)


def window_of_random_losses(loss: float, round_trip: float, losses: int = 20_000, seed: int = 1) -> float:
    """The mean window in segments, from round trip to round trip over so many losses, without slow start.

    Losses that come by chance leave the window larger in the mean than those that come evenly.
    """
    chance = random.Random(seed)
    window = most = start = window_of_even_losses(loss, round_trip)
    friendly = since = sent = rounds = 0.0
    until = _packets_until_a_loss(loss, chance)
    while losses:
        sent, rounds, until = sent + window, rounds + 1, until - window
        if until <= 0:
            # Fast convergence, section 4.7: who has less than before makes room for others.
            most = window * (1 + BETA) / 2 if window < most else window
            window = friendly = start = window * BETA
            losses, since, until = losses - 1, 0.0, _packets_until_a_loss(loss, chance)
        else:
            since, friendly = since + round_trip, friendly + ALPHA
            # No more than half of the window a round trip: section 4.4.
            plateau = math.cbrt((most - start) / C)
            cubic = min(most + C * (since - plateau) ** 3, 1.5 * window)
            window = max(window, cubic, friendly)
    return sent / rounds


def _packets_until_a_loss(loss: float, chance: random.Random) -> float:
    return chance.expovariate(loss)
