"""A command as a person would type it, and how it failed."""

import shlex
from collections.abc import Sequence

from tunbench.runner.node import limits
from tunbench.runner.node.shell import Result

TAIL_LENGTH = 4000
"""Characters of what was printed that stand in a verdict."""


class CommandFailed(Exception):
    """A command ended with another status than 0, or not in time; the message has its last words."""

    def __init__(self, shown: str, result: Result) -> None:
        self.result = result
        how = "did not end in time" if result.status is None else limits.ending(result.status)
        words = (result.stderr.strip() or result.stdout.strip())[-TAIL_LENGTH:]
        super().__init__(f"{shown}: {how}" + (f": {words}" if words else ""))


class ShellWord(str):
    """A word of a command that differs each time, such as a key: it is journaled as the shell text that yields it."""

    shell: str

    def __new__(cls, value: str, shell: str) -> "ShellWord":
        """Keeps the value together with its shell text."""
        word = super().__new__(cls, value)
        word.shell = shell
        return word


def typed(argv: Sequence[str]) -> str:
    """The command as a person would type it into a shell."""
    return " ".join(word.shell if isinstance(word, ShellWord) else shlex.quote(word) for word in argv)
