"""A folder that is gone when what needs it is over, however that ends."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWEEP = 'read -r _; rm -rf -- "$0"'
"""Waits for the end of its input, which is that of the process that started it, and takes the folder away."""


@contextmanager
def swept(folder: Path) -> Iterator[Path]:
    """Makes a folder. Nobody can clean up after `kill -9` but another process, and so one stands by.

    Raises OSError where the folder cannot be made.
    """
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
