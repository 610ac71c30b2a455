"""Tunbench's folder among what users' programs keep to be faster the next time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_ELSEWHERE: ContextVar[Path | None] = ContextVar("cache", default=None)


def cache() -> Path:
    """Tunbench's folder in the XDG cache directory, unless this thread is told to look elsewhere."""
    if (elsewhere := _ELSEWHERE.get()) is not None:
        return elsewhere
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "tunbench"


@contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Within it this thread takes that folder for the cache, and no other thread does."""
    before = _ELSEWHERE.set(folder)
    try:
        yield
    finally:
        _ELSEWHERE.reset(before)
