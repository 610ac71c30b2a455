"""Fakes of Dask's: a task that is given its status, and a client that hands nothing out."""

from collections.abc import Callable
from typing import Any


class FakeTask:
    """A task of Dask's, which is given its status."""

    status = "pending"

    def __init__(self) -> None:
        self.released = 0
        self.error: Exception = OSError(28, "No space left on device")
        self.callbacks: list[Callable[[object], None]] = []

    def done(self) -> bool:
        return self.status != "pending"

    def release(self) -> None:
        self.released += 1

    def exception(self) -> Exception:
        return self.error

    def add_done_callback(self, called: Callable[[object], None]) -> None:
        self.callbacks.append(called)


class FakeClient:
    """A client whose scheduler tells `at_once` something of each task, as it is handed out."""

    status = "running"

    def __init__(self, at_once: Callable[[str], list[dict[str, Any]]] = lambda key: []) -> None:
        self.at_once = at_once
        self.tasks: dict[str, FakeTask] = {}
        self.handlers: dict[str, Callable[[Any], None]] = {}
        self.logged = 0

    def subscribe_topic(self, topic: str, handler: Callable[[Any], None]) -> None:
        self.handlers[topic] = handler

    def unsubscribe_topic(self, topic: str) -> None:
        del self.handlers[topic]

    def log_event(self, topics: list[str], message: object) -> None:
        self.logged += len(topics)

    def submit(self, *_: object, key: str, **options: object) -> FakeTask:
        for message in self.at_once(key):
            self.tell(message)
        return self.tasks.setdefault(key, FakeTask())

    def tell(self, message: object) -> None:
        for handler in self.handlers.values():
            handler((0.0, message))
