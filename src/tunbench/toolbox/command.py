"""Runs the programs that build a tool: one place, so that a test can put another in its place."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tunbench.labs.vm.image_definition import BASE

Progress = Callable[[str], None]
"""Is told what is being done."""

LAST_LINES = 20
"""Of a program that failed they are told."""


MOMENT = {"SOURCE_DATE_EPOCH": str(BASE.source_date_epoch)}
"""The variable by which programs that build say when that was: always at the same moment."""


class ToolError(Exception):
    """A tool cannot be installed or used; the message says why, and the mend."""


class Done(NamedTuple):
    """How a program ended, what it printed, and its last words on stderr."""

    status: int
    stdout: str
    words: str


Run = Callable[[Sequence[str], Path, Mapping[str, str], Progress], Done]
"""Runs a program in a folder, with changes of the environment; each line of its stderr is told."""


def run(argv: Sequence[str], folder: Path, environment: Mapping[str, str], progress: Progress) -> Done:
    """Runs a program to its end. Where the caller is interrupted, it is ended with all that it started."""
    with (
        tempfile.TemporaryFile() as stdout,
        subprocess.Popen(
            argv,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        words: list[str] = []
        try:
            assert process.stderr is not None
            for line in process.stderr:
                words = [*words[1 - LAST_LINES :], line]
                progress(line.strip())
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        stdout.seek(0)
        return Done(process.returncode, stdout.read().decode(errors="replace"), "".join(words))


def checked(argv: Sequence[str], done: Done) -> str:
    """What a program printed. Raises ToolError where it failed."""
    if done.status != 0:
        raise ToolError(f"{' '.join(argv[:3])} ended with status {done.status}:\n{done.words.strip()}")
    return done.stdout
