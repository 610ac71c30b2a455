"""The pages of the documentation, read for tests that compare them with the code."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tunbench.runner import registry, stack
from tunbench.runner.declare import spelling
from tunbench.runner.tunnel import About

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


def variants(name: str) -> dict[str, About]:
    """What a tunnel declares as it is, and with each value of each choice alone, by its spelling."""
    options = registry.tunnel(name).takes()
    values = {option: about.choices or ("on", "off") * (about.kind == "switch") for option, about in options.items()}
    spelled = [name, *(f"{name}:{option}={value}" for option, those in values.items() for value in those)]
    found = {}
    for text in spelled:
        # Some choices go together with others alone.
        with suppress(ValueError):
            [part] = spelling.stack(text)
            found[text] = stack.declared(part)
    return found


def having(what: Callable[[About], object]) -> set[str]:
    """The tunnels that declare something: by name where they always do, else the variants that do."""
    every = {name: variants(name) for name in registry.tunnel_names()}
    always = {name for name, those in every.items() if what(those[name])}
    others = {text: about for name, those in every.items() if name not in always for text, about in those.items()}
    return always | {text for text, about in others.items() if what(about)}
