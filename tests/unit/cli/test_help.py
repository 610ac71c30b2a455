"""Every command's help has an example, and each of them is one that the command takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tests.helpers.runs import PLAN, invoke, runs_here
from tunbench import cli

ROOT = get_command(cli.app)

EXAMPLE = re.compile(r"^ *tunbench (.*?)(?:  .*)?$", re.MULTILINE)
"""A command of an example, before the words that some have behind it."""

READING = ("list", "plan", "study list", "study show")
"""Commands that need nothing but a plan, and are executed."""


def leaves(group: Any, *above: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its whole name."""
    if not hasattr(group, "commands"):
        yield " ".join(above), group
        return
    for name, command in group.commands.items():
        yield from leaves(command, *above, name)


def examples(text: str) -> list[list[str]]:
    """The words of each example of a help text, without what a shell makes of them."""
    below = re.split(r"^ *Examples?:$", text, flags=re.MULTILINE)[1:]
    lines = [line for part in below for line in EXAMPLE.findall(part.partition("\n\n")[0])]
    return [shlex.split(re.split(r" +[>|]", line)[0]) for line in lines]


COMMANDS = dict(leaves(ROOT))
EVERY = [words for command in (ROOT, *COMMANDS.values()) for words in examples(command.help or "")]


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that an example calls, and what is left for it."""
    found: Any = ROOT
    while hasattr(found, "commands"):
        found, words = found.commands[words[0]], words[1:]
    return found, words


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_of_it(name: str) -> None:
    own = [" ".join(words[: len(name.split())]) for words in examples(COMMANDS[name].help)]
    assert name in own


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_a_command_takes_its_examples(words: list[str]) -> None:
    """Options that it has, with values that they take, and every argument that must be there."""
    command, rest = command_of(words)
    command.make_context(command.name, list(rest)).close()


@pytest.mark.parametrize("words", [words for words in EVERY if " ".join(words).startswith(READING)], ids=" ".join)
def test_examples_that_read_work(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_here(monkeypatch, tmp_path)
    Path("my-plan.toml").write_text(PLAN)
    assert invoke(*words).exit_code == 0
