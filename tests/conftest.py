"""What holds for all tests."""

import gc
import signal
from collections.abc import Iterator

import hypothesis
import pytest

from tunbench.plan.estimate import host_pace
from tunbench.runner import registry

# A job in the background ignores Ctrl-C, and so would all that the tests start and end by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes tells of a busy machine, and of what the first one imports.
hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: looking for garbage among it takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def usual_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimates are those of the machine that they were read off, whatever this one is doing meanwhile."""
    monkeypatch.setattr(host_pace, "now", lambda workers: 1.0)


@pytest.fixture(autouse=True)
def parsed_anew() -> None:
    """What another test made of a tunnel or workload is not remembered."""
    registry.forget()
