"""The pages of the documentation, read for tests that compare them with the code."""

import re
from collections.abc import Callable
from pathlib import Path

from tunbench.runner import registry
from tunbench.runner.catalogue import variants
from tunbench.runner.declare.tunnel import About

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()


def page(name: str) -> str:
    """The text of a page, each paragraph and item in one line."""
    return re.sub(r"(?<=\S)\n[ ]*(?=[^\s|`#-])", " ", (DOCS / name).read_text())


def named(text: str) -> list[str]:
    """The texts that stand between backticks."""
    return re.findall(r"`([^`]+)`", text)


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of all tables whose first row begins with this heading."""
    tables = re.findall(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for table in tables for line in table.splitlines()]


def json_keys(command: str) -> tuple[set[str], set[str]]:
    """The keys that a command prints as JSON, always and at times, as its page tells."""
    [cells] = [cells for cells in rows(page("commands.md"), "JSON of") if command in named(cells[0])]
    return {"schema", *named(cells[1])}, set(named(cells[2]))


def having(what: Callable[[About], object]) -> set[str]:
    """The tunnels that declare something: by name where they always do, else the variants that do."""
    every = {name: variants(name) for name in registry.tunnel_names()}
    always = {name for name, those in every.items() if what(those[name])}
    others = {text: about for name, those in every.items() if name not in always for text, about in those.items()}
    return always | {text for text, about in others.items() if what(about)}
