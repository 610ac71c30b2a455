"""The E-model: how good a telephone call is, from the delay of its speech and the share that is lost.

Source: ITU-T G.107 (06/2015), sections 7.1 to 7.7; the numbers are those of equations there. Every parameter that no
network changes has its default (table 2), with which R is 93.2. Decibels, milliseconds and per cent, as there.
"""

import math

LOUDNESS_SEND, LOUDNESS_RECEIVE, SIDETONE, LISTENER_SIDETONE = 8.0, 2.0, 15.0, 18.0
"""SLR, RLR, STMR and LSTR, dB."""

ROOM_NOISE, CIRCUIT_NOISE, NOISE_FLOOR, D_FACTOR = 35.0, -70.0, -64.0, 3.0
"""Ps and Pr, dB(A); Nc, dBm0p; Nfor, dBmp; Ds."""

TALKER_ECHO_LOSS, LISTENER_ECHO_LOSS = 65.0, 110.0
"""TELR and WEPL, dB: both ends cancel echoes."""

FREE_DELAY = 100.0
"""mT: the delay in ms that nobody minds, in a conversation of the usual sensitivity."""

ROBUSTNESS = 25.1
"""Bpl of G.711 that conceals lost packets, whose Ie is 0: ITU-T G.113 (2007), appendix I, table I.4. Loss is random."""


def rating(delay: float, loss: float) -> float:
    """R of a call over G.711, given the seconds from mouth to ear and the share of packets that are not played.

    7-1, without an advantage factor, and at least 0, where its scale ends (annex B). Echoes take as long as the speech:
    T = Ta, Tr = 2 Ta.
    """
    noise = _noise()
    signal = 15 - 1.5 * (LOUDNESS_SEND + noise)  # Ro, 7-3
    milliseconds = 1e3 * delay
    impaired = _simultaneous(signal, noise, milliseconds) + _delayed(signal, noise, milliseconds)
    return max(0.0, signal - impaired - _lost(100 * loss))


def opinion(rating: float) -> float:
    """The mean opinion score, 1 to 4.5, that an R is expected to have: annex B, B-4."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)


def _noise() -> float:
    """No: all sources of noise at the 0 dBr point, dBm0p; 7-4 to 7-7."""
    overall = LOUDNESS_SEND + LOUDNESS_RECEIVE
    sent = ROOM_NOISE - LOUDNESS_SEND - D_FACTOR - 100 + 0.004 * (ROOM_NOISE - overall - D_FACTOR - 14) ** 2
    received = ROOM_NOISE + 10 * math.log10(1 + 10 ** ((10 - LISTENER_SIDETONE) / 10))
    received = LOUDNESS_RECEIVE - 121 + received + 0.008 * (received - 35) ** 2
    return _sum_of(CIRCUIT_NOISE, sent, received, NOISE_FLOOR + LOUDNESS_RECEIVE)


def _simultaneous(signal: float, noise: float, delay: float) -> float:
    """Is: what is heard along with the speech; 7-8 to 7-17."""
    overall = LOUDNESS_SEND + LOUDNESS_RECEIVE
    louder = (overall + 0.2 * (64 + noise - LOUDNESS_RECEIVE)) / 8
    too_loud = 20 * (_bent(louder, 8) - louder)
    tone = -_sum_of(-SIDETONE, -TALKER_ECHO_LOSS - 10 * delay / 4 / math.log(10))
    sidetone = 12 * _bent((tone - 13) / 6, 8) - 28 * _bent((tone + 1) / 19.4, 35) - 13 * _bent((tone - 3) / 33, 13) + 29
    quantized = 1.07 + 0.258 * 37 + 0.0602 * 37**2
    exponents = (signal - 100) / 15 + 46 / 8.4 - quantized / 9, 46 / 30 - quantized / 40
    return too_loud + sidetone + 15 * math.log10(1 + sum(10**one for one in exponents))


def _delayed(signal: float, noise: float, delay: float) -> float:
    """Id: echoes of the talker and of the listener, and a conversation that comes late; 7-18 to 7-28."""
    level = TALKER_ECHO_LOSS - 40 * math.log10((1 + delay / 10) / (1 + delay / 150)) + 6 * math.exp(-0.3 * delay**2)
    apart = -1.5 * (noise - LOUDNESS_RECEIVE) - (80 + 2.5 * (level - 14))
    talker = (apart / 2 + math.sqrt(apart**2 / 4 + 100) - 1) * (1 - math.exp(-delay)) if delay >= 1 else 0.0
    apart = signal - 10.5 * (LISTENER_ECHO_LOSS + 7) * math.pow(2 * delay + 1, -0.25)
    listener = apart / 2 + math.sqrt(apart**2 / 4 + 169)
    if delay <= FREE_DELAY:
        return talker + listener
    late = math.log2(delay / FREE_DELAY)
    return talker + listener + 25 * (_bent(late, 6) - 3 * _bent(late / 3, 6) + 2)


def _lost(percent: float) -> float:
    """Ie,eff: what the codec makes of lost packets; 7-29 with Ie = 0 and BurstR = 1."""
    return 95 * percent / (percent + ROBUSTNESS)


def _sum_of(*levels: float) -> float:
    """Levels in dB, added by their powers."""
    return 10 * math.log10(sum(10 ** (one / 10) for one in levels))


def _bent(value: float, order: int) -> float:
    """(1 + xⁿ)^(1/n): 1 for small values, the value itself for large ones."""
    return float((1 + value**order) ** (1 / order))
