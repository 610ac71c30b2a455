"""Axes of charts: what they span, and where a value lies on them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

LOGARITHMIC_FROM = 10.0
"""A span whose ends differ by more than this factor gets a logarithmic scale."""

MARGIN = 0.06
"""What is left free at each end, as a share of the span."""

STEPS = (1, 2, 5)
"""Where the ticks of a logarithmic axis are within a decade."""

MAX_TICKS = 9
"""Ticks that a logarithmic axis has room for."""


MIN_TICKS = 2
"""Ticks that a logarithmic axis needs; with fewer it gets those of a linear one."""


class Span(NamedTuple):
    """The ends of an axis in its unit, and whether it is logarithmic."""

    low: float
    high: float
    log: bool

    def share(self, value: float) -> float:
        """How far along the axis a value lies: 0 at its low end, 1 at its high end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, share: float) -> float:
        """The value that lies so far along the axis."""
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share


def from_zero_or_wide(values: Sequence[float], log: bool | None = None) -> Span:
    """A linear span from 0 to a little beyond the values, or a logarithmic one where they are far apart.

    `log` decides where it is known already, as where charts stand side by side.
    """
    wide = around(values, log)
    if wide.log:
        return wide
    # What compresses takes bytes away: there are values below 0.
    low, high = min(0.0, *values) * (1 + MARGIN), max(0.0, *values) * (1 + MARGIN)
    return Span(low, high if high > low else 1.0, False)


def around(values: Sequence[float], log: bool | None = None) -> Span:
    """A span a little wider than the values: logarithmic where they are far apart and positive, or as `log` says."""
    low, high = min(values), max(values)
    if log is None:
        log = low > 0 and high / low > LOGARITHMIC_FROM
    if low == high:
        low, high = low - abs(low) * 0.1, high + abs(high) * 0.1 or 1
    tight = Span(low, high, log)
    # Linear values that are none below 0 do not get an axis that is.
    start = tight.value(-MARGIN) if log else max(tight.value(-MARGIN), min(low, 0))
    return Span(start, tight.value(1 + MARGIN), log)


def ticks(span: Span) -> list[float] | None:
    """Ticks of a logarithmic axis at 1, 2 and 5 a decade, or at 1 where that is too many; None for a linear one."""
    if not span.log:
        return None
    decades = range(math.floor(math.log10(span.low)), math.ceil(math.log10(span.high)) + 1)
    found = [step * 10.0**decade for decade in decades for step in STEPS]
    inside = [tick for tick in found if span.low <= tick <= span.high]
    return inside if len(inside) <= MAX_TICKS else [tick for tick in inside if tick in found[:: len(STEPS)]]


def marks(span: Span) -> list[float]:
    """Where an axis has its numbers and lines: four to eight round values."""
    found = ticks(span)
    if found is not None and len(found) >= MIN_TICKS:
        return found
    # Round steps of a linear axis; those of a logarithmic one that spans little are the same.
    rough = (span.high - span.low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if rough <= step * power * (1 + 1e-9))
    first, last = math.ceil(span.low / step - 1e-9), math.floor(span.high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def label(value: float) -> str:
    """A number of an axis."""
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}") if abs(value) < 1e6 else f"{value:.3g}"
