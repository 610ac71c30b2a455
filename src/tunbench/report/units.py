"""SI values as people read them: three significant digits, and the prefix that fits."""

import math
from typing import NamedTuple

NBSP = "\N{NO-BREAK SPACE}"
NARROW = "\N{NARROW NO-BREAK SPACE}"
"""What stands between the thousands of a whole number."""
MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
"""What stands where there is no value."""
INFINITE = "\N{INFINITY}"
"""What stands for a ratio to 0."""

DIGITS = 3
"""Significant digits; medians over seeds hardly ever have more."""


MOST_PLACES = 9
"""Decimal places at most of a share that lacks next to nothing of the whole."""

OF_KIND = {"duration": "s", "ratio": "ratio", "rate": "bit/s", "size": "B", "count": "count"}
"""The SI unit of each kind of option, and of each kind of term of netem."""


class Scale(NamedTuple):
    """How values are shown: divided by `factor`, followed by `symbol`."""

    factor: float
    symbol: str


SCALES: dict[str, tuple[Scale, ...]] = {
    "bit/s": (
        Scale(1, "bit/s"),
        Scale(1e3, "kbit/s"),
        Scale(1e6, "Mbit/s"),
        Scale(1e9, "Gbit/s"),
        Scale(1e12, "Tbit/s"),
    ),
    "s": (Scale(1e-9, "ns"), Scale(1e-6, "µs"), Scale(1e-3, "ms"), Scale(1, "s")),
    "B": (Scale(1, "B"), Scale(1e3, "kB"), Scale(1e6, "MB"), Scale(1e9, "GB")),
    "B/s": (Scale(1, "B/s"), Scale(1e3, "kB/s"), Scale(1e6, "MB/s"), Scale(1e9, "GB/s")),
    "s/B": (Scale(1e-9, "ns/B"), Scale(1e-6, "µs/B"), Scale(1e-3, "ms/B")),
    "Hz": (Scale(1, "Hz"), Scale(1e3, "kHz"), Scale(1e6, "MHz"), Scale(1e9, "GHz")),
    "J": (Scale(1e-3, "mJ"), Scale(1, "J"), Scale(1e3, "kJ")),
    "ratio": (Scale(0.01, "%"),),
    "count": (Scale(1, ""),),
}
"""The scales of each SI unit, rising. A unit that is not here is shown as it is."""


FROM = {"kB": 10}
"""Scales that begin at so many of their units: sizes of packets are told to the byte."""


def scale(value: float, unit: str) -> Scale:
    """The largest scale of the unit in which the value is at least 1 after rounding; the base unit for 0."""
    scales = SCALES.get(unit, (Scale(1, unit),))
    size = abs(value)
    if not size or not math.isfinite(size):
        return next((one for one in scales if one.factor == 1), scales[0])
    rounded = float(f"{size:.{DIGITS - 1}e}")
    fitting = (one for one in reversed(scales) if rounded >= one.factor * FROM.get(one.symbol, 1) * (1 - 1e-9))
    return next(fitting, scales[0])


def number(value: float, digits: int = DIGITS) -> str:
    """The value with so many significant digits and no exponent; whole digits are never rounded away."""
    if not math.isfinite(value):
        return str(value).replace("inf", INFINITE).replace("-", MINUS)
    if not value:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded if places else value:.{places}f}".replace("-", MINUS)


def quantity(value: float | None, unit: str) -> str:
    """The value with its unit, such as `1.21 Gbit/s`; NOTHING for None."""
    if value is None:
        return NOTHING
    chosen = scale(value, unit)
    return _joined(_text(value, unit, chosen), chosen.symbol)


def plain(value: float, unit: str) -> str:
    """What somebody set, with its unit and no zeros that say nothing, such as `4 ms`."""
    chosen = scale(value, unit)
    return _joined(f"{value / chosen.factor:.6g}".replace("-", MINUS), chosen.symbol)


def interval(low: float, median: float, high: float, unit: str) -> str:
    """The bounds in the median's scale, without a unit, such as `[1.18, 1.24]`."""
    chosen = scale(median, unit)
    return f"[{_text(low, unit, chosen)}, {_text(high, unit, chosen)}]"


def in_scale(value: float, unit: str, chosen: Scale) -> str:
    """The value in a scale that was chosen for another one, without a unit."""
    return _text(value, unit, chosen)


def ratio(value: float | None) -> str:
    """A ratio of two values, such as `0.831`; NOTHING for None."""
    return NOTHING if value is None else number(value)


def seconds(value: float) -> str:
    """A duration for people, such as `6 min 12 s`."""
    whole = round(value)
    if whole < 60:
        return quantity(value, "s")
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{NBSP}h {minutes}{NBSP}min" if hours else f"{minutes}{NBSP}min {rest}{NBSP}s"


def _text(value: float, unit: str, chosen: Scale) -> str:
    if unit == "count" and value == int(value):
        return f"{int(value):,}".replace(",", NARROW).replace("-", MINUS)
    shown = number(value / chosen.factor)
    if unit == "ratio" and value < 1 and shown == number(1 / chosen.factor):
        return _short_of_all(value / chosen.factor, 1 / chosen.factor)
    return shown


def _short_of_all(value: float, whole: float) -> str:
    """A share that lacks a little of the whole, with as many places as show that it does: cut off, and not rounded."""
    places = min(MOST_PLACES, math.ceil(-math.log10(whole - value)))
    return f"{math.floor(value * 10**places) / 10**places:.{places}f}"


def _joined(text: str, symbol: str) -> str:
    return f"{text}{NBSP}{symbol}" if symbol else text
