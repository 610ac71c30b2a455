"""Events: what the runner tells the controlling process, one JSON object a line, numbered from 0."""

import json
from threading import Lock
from typing import Any, Protocol, TextIO


class Events(Protocol):
    """Where events go."""

    def tell(self, event: str, **fields: Any) -> None:
        """Tells one event with its fields."""


class EventStream:
    """Writes events to a stream. Each carries its number `n`, so that a lost line is noticed."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.number = 0
        # Trials of several pairs of nodes may be under way at once.
        self.lock = Lock()

    def tell(self, event: str, **fields: Any) -> None:
        """Writes one event and flushes it."""
        with self.lock:
            line = {"n": self.number, "event": event, **fields}
            self.stream.write(json.dumps(line, separators=(",", ":"), ensure_ascii=True) + "\n")
            self.stream.flush()
            self.number += 1
