"""Where the time of a run's labs went: the share in which something was measured, and what the rest was for."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.report import palette, units

PARTS = {
    "boot": ("boot", "begin", "nodes", "underlay", "watch"),
    "bring-up": ("prepare", "up", "impair"),
    "proof": ("proof",),
    "measure": ("trial",),
    "teardown": ("down",),
}
"""The phases of a shard that each part of the time consists of."""


class Part(NamedTuple):
    """A part of the time: its seconds of the labs' own time, its share of the whole, and its colour."""

    name: str
    seconds: float
    share: float
    colour: str

    @property
    def text(self) -> str:
        """The part in words, such as `measure 60 s (97 %)`."""
        return f"{self.name} {units.seconds(self.seconds)} ({self.share:.0%})".replace("%", f"{units.NBSP}%")


def parts(durations: Mapping[str, float]) -> list[Part]:
    """The parts of the time that the phases took, in seconds; none where no phase took any."""
    seconds = {name: sum(durations.get(phase, 0.0) for phase in phases) for name, phases in PARTS.items()}
    known = {phase for phases in PARTS.values() for phase in phases}
    seconds["other"] = sum(value for phase, value in durations.items() if phase not in known)
    whole = sum(seconds.values())
    drawn = enumerate((name, value) for name, value in seconds.items() if value > 0)
    return [Part(name, value, value / whole, palette.series(index)) for index, (name, value) in drawn]
