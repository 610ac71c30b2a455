"""What holds for all tests."""

import pytest

from tunbench.plan import pace


@pytest.fixture(autouse=True)
def usual_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimates are those of the machine that they were read off, whatever this one is doing meanwhile."""
    monkeypatch.setattr(pace, "now", lambda workers: 1.0)
