"""The one speed that fits the whole set, and how well it does."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from tunbench.calibrate.items import Item, PathItem
from tunbench.plan.axes.machine import FULL_SPEED, MAX_SPEED, MIN_SPEED, Machine

NAME = "this-host"
"""What the machine is called in the plan."""

DIGITS = 3
"""Significant digits of the speed: no host has more, from one minute to the next."""


class Compared(NamedTuple):
    """What an item came to on this host and in the VM at FULL_SPEED, in its unit."""

    item: Item
    native: float
    virtual: float

    @property
    def speed(self) -> float:
        """The speed at which the VM would be equal: what the processor limits grows with it in proportion."""
        return FULL_SPEED * self.native / self.virtual


class Fit(NamedTuple):
    """The machine of one speed for all that was compared, and the speed itself, where no bound or rounding moved it.

    `checked` is what the VM came to when its machine was this one, of the items that were run on it.
    """

    machine: Machine
    speed: float
    compared: tuple[Compared, ...]
    checked: Mapping[Item, float] = MappingProxyType({})

    def off(self, one: Compared) -> float:
        """How many times faster this host is at an item than the machine."""
        return one.speed / self.machine.speed

    @property
    def worst(self) -> Compared:
        """The item that the machine fits worst."""
        return max(self.compared, key=lambda one: abs(math.log(self.off(one))))

    @property
    def factor(self) -> float:
        """Within which factor, 1 at least, the machine fits all items."""
        return math.exp(abs(math.log(self.off(self.worst))))

    @property
    def usual_factor(self) -> float:
        """Within which factor it fits half of them."""
        return math.exp(median(abs(math.log(self.off(one))) for one in self.compared))

    @property
    def bounded(self) -> bool:
        """Whether a machine of a plan cannot be as slow or as fast as that."""
        return not MIN_SPEED <= self.speed <= MAX_SPEED


def check(fitted: Fit, virtual: Mapping[Item, Sequence[float]]) -> Fit:
    """The same with what the VM came to on the fitted machine, each item by its median."""
    return fitted._replace(checked={item: median(values) for item, values in virtual.items() if values})


def compare(
    items: Iterable[Item], native: Mapping[Item, Sequence[float]], virtual: Mapping[Item, Sequence[float]]
) -> list[Compared]:
    """The items that were measured on both sides, each by its median."""
    return [
        Compared(item, median(native[item]), median(virtual[item]))
        for item in items
        if native.get(item) and virtual.get(item)
    ]


def fit(compared: Sequence[Compared], without: tuple[str, ...]) -> Fit:
    """The machine whose speed is the median of those of the paths, of a pair in the middle their geometric mean.

    Ciphers count where there are no paths: one core of a host was seen to do 2 to 9 times as much of them, beside 3
    paths within 27 %.

    Speeds are ratios, so that the half and the double are as far away. Of outliers, such as ciphers for which a host
    has instructions that the VM lacks, the median takes no notice. There must be something to compare.
    """
    counted = [one for one in compared if isinstance(one.item, PathItem)] or compared
    speed = math.exp(median(math.log(one.speed) for one in counted))
    rounded = round(float(f"{speed:.{DIGITS - 1}e}"))
    return Fit(Machine(NAME, without, min(MAX_SPEED, max(MIN_SPEED, rounded))), speed, tuple(compared))
