"""A folder for what a run needs while it goes on; nothing of it is left, however the run ends."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = ".scratch-"

SWEEP = 'read -r _; rm -rf -- "$0"'
"""Waits for the end of its input, which is that of the process that started it, and takes the folder away."""


@contextmanager
def scratch(run: Path) -> Iterator[Path]:
    """A folder in that of the run. Nobody can clean up after `kill -9` but another process, and so one stands by.

    Raises OSError where the folder cannot be made.
    """
    for old in run.glob(f"{PREFIX}*"):
        shutil.rmtree(old, ignore_errors=True)
    # Of another process each time: one that goes on with the run may begin before this one has been swept.
    folder = (run / f"{PREFIX}{os.getpid()}").absolute()
    sweeper = subprocess.Popen(
        ["sh", "-c", SWEEP, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C is not for it.
        start_new_session=True,
    )
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        sweeper.communicate()
