"""Tunbench's folder among what users' programs keep to be faster the next time."""

import os
from pathlib import Path


def cache() -> Path:
    """Tunbench's folder in the XDG cache directory."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "tunbench"
