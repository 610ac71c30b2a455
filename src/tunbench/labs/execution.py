"""One shard under way in a lab: what a pool must know of it, wherever it executes."""

from collections.abc import Sequence
from typing import Protocol

from tunbench.runner.declare.warnings import WarningKind


class Execution(Protocol):
    """A shard that was started, and tells events until it ends or is stopped."""

    @property
    def warnings(self) -> Sequence[tuple[WarningKind, str]]:
        """What there was to warn of when it was started, each with its text."""

    @property
    def lost(self) -> str:
        """That the machine which had it has gone, so that it is to begin anew elsewhere; empty where it is there."""

    @property
    def wakes(self) -> Sequence[int]:
        """Descriptors of which one can be read from once it has told something or has ended.

        There are none where it must be looked at again and again.
        """

    def lines(self) -> list[bytes]:
        """The whole lines of events that it told since the last call."""

    def running(self) -> bool:
        """Whether it is still there."""

    def age(self) -> float:
        """Seconds of wall clock since it was started."""

    def stop(self) -> None:
        """Ends it at once: nothing of it is kept. It may have ended by itself."""

    def last_words(self) -> str:
        """The tail of what it printed outside its events, for whoever asks why it ended."""
