"""A mistake in the file of a tunnel, workload or probe, told in one message with file and line."""

from collections.abc import Iterator
from pathlib import Path

from tunbench.runner import probes, tunnels, workloads

PAGE = "docs/adding-a-tunnel.md"

RUNNER = Path(__file__).parent

SHARED = "shared"
"""The package within each of the three that holds what several of their files use, and nothing to be found."""


def said_of(error: BaseException) -> str:
    """The message, where the error is of such a file; else empty, and the mistake is Tunbench's own."""
    if isinstance(error, SyntaxError) and error.filename and _is_of_theirs(error.filename):
        return f"{error.filename}:{error.lineno}: this is not Python: {error.msg}"
    for file, number in reversed(list(_passed(error))):
        if _is_of_theirs(file):
            return f"{file}:{number}: {type(error).__name__}: {error} ({PAGE})"
    return ""


def said_in_lab(error: BaseException) -> str:
    """The same with the file's path below the runner, which lies elsewhere on the user's machine.

    Empty also where such a file called what then was mistaken: a mistake of Tunbench's own is no failure of a tunnel.
    """
    runners = [file for file, _ in _passed(error) if RUNNER in Path(file).parents or _is_of_theirs(file)]
    if isinstance(error, SyntaxError) or (runners and _is_of_theirs(runners[-1]) and not _is_shared(runners[-1])):
        return said_of(error).replace(f"{RUNNER}/", "")
    return ""


def _passed(error: BaseException) -> Iterator[tuple[str, int]]:
    """The files and lines that an error has passed, the innermost last."""
    step = error.__traceback__
    while step:
        yield step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next


def _is_of_theirs(file: str) -> bool:
    return any(folder in Path(file).parents for folder in _folders())


def _is_shared(file: str) -> bool:
    return any(folder / SHARED in Path(file).parents for folder in _folders())


def _folders() -> Iterator[Path]:
    """Where tunnels, workloads and probes lie, those of plug-ins too."""
    return (Path(folder) for package in (tunnels, workloads, probes) for folder in package.__path__)
