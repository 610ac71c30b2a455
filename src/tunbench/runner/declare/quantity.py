"""Quantities as people write them, such as `20ms`, `0.1%` or `50M`, and what they are in SI units."""

import math
import re

NUMBER = re.compile(r"(?P<number>[+-]?[0-9]+(\.[0-9]+)?) *(?P<unit>[A-Za-zµ%]*)")

DURATIONS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
RATES = {"": 1.0, "bit": 1.0, "K": 1e3, "k": 1e3, "kbit": 1e3, "M": 1e6, "Mbit": 1e6, "G": 1e9, "Gbit": 1e9}
SIZES = {
    "": 1,
    "B": 1,
    "kB": 1000,
    "KiB": 1 << 10,
    "MB": 1_000_000,
    "MiB": 1 << 20,
    "GB": 1_000_000_000,
    "GiB": 1 << 30,
}


def duration(text: str, bare: str = "s") -> float:
    """Seconds of a text such as `20ms`; a number without a unit counts in `bare`. Raises ValueError."""
    return _scaled(text, {**DURATIONS, "": DURATIONS[bare]} if bare else DURATIONS, "a duration", "20ms")


def seconds(text: str) -> int:
    """Whole seconds of a text such as `2` or `5min`. Raises ValueError."""
    return whole(duration(text), text)


def rate(text: str) -> float:
    """Bits a second of a text such as `50M` or `1Gbit`; prefixes are decimal, as iperf3 has them. Raises ValueError."""
    return _scaled(text, RATES, "a rate", "50M")


def size(text: str) -> int:
    """Bytes of a text such as `1300` or `4KiB`. Raises ValueError."""
    return whole(_scaled(text, SIZES, "a size", "1300"), text)


def ratio(text: str) -> float:
    """The ratio of a text such as `0.1%`, between 0 and 1. Raises ValueError."""
    value = _scaled(text, {"%": 0.01}, "a percentage", "0.1%")
    if not 0 <= value <= 1:
        raise ValueError(f'"{text}" is out of range: a percentage is between 0% and 100%')
    return value


def count(text: str) -> int:
    """A whole number. Raises ValueError."""
    return whole(_scaled(text, {"": 1}, "a whole number", "10"), text)


def whole(value: float, text: str) -> int:
    """The value as an integer. Raises ValueError where `text` wrote a fraction."""
    if value != int(value):
        raise ValueError(f'"{text}" is not a whole number')
    return int(value)


def _scaled(text: str, units: dict[str, float] | dict[str, int], what: str, example: str) -> float:
    found = NUMBER.fullmatch(str(text).strip())
    if not found:
        raise ValueError(f'"{text}" is not {what}: write a number and its unit, such as {example}')
    unit = found["unit"]
    if unit not in units:
        known = ", ".join(name for name in units if name) or "none"
        problem = f'has the unknown unit "{unit}"' if unit else "has no unit"
        raise ValueError(f'"{text}" is not {what}: it {problem} (known: {known}), write for example {example}')
    # Division where it is exact: 0.1 % is 0.1 / 100 and not 0.1 × 0.01.
    scale = units[unit]
    number = float(found["number"])
    value = number / round(1 / scale) if scale < 1 else number * scale
    if not math.isfinite(value):
        raise ValueError(f'"{text}" is out of range')
    return value
