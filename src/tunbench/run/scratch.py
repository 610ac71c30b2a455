"""A folder for what a run needs while it goes on; nothing of it is left, however the run ends."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.labs.swept_folder import swept

PREFIX = ".scratch-"


@contextmanager
def scratch(run: Path) -> Iterator[Path]:
    """A folder in that of the run. Raises OSError where the folder cannot be made."""
    for old in run.glob(f"{PREFIX}*"):
        shutil.rmtree(old, ignore_errors=True)
    # Of another process each time: one that goes on with the run may begin before this one has been swept.
    with swept((run / f"{PREFIX}{os.getpid()}").absolute()) as folder:
        yield folder
