"""What building a tool needs of the machine: every missing piece is named before anything starts."""

import re
import shutil
import subprocess
from collections.abc import Iterable

from tunbench.labs import image
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.toolbox.tools import Tool

VERSION_COMMANDS = {"go": (["go", "version"], "go"), "rust": (["cargo", "--version"], "cargo")}
"""How the version of a language's tools is asked, and their name."""


def missing(tools: Iterable[Tool]) -> list[str]:
    """One line for each piece that building the tools lacks, with the mend."""
    tools = list(tools)
    by_language = {language: [tool for tool in tools if tool.language == language] for language in VERSION_COMMANDS}
    lines = [line for language, some in by_language.items() for line in _language(language, some)]
    calls = {"tar2sqfs": image_build.PROGRAMS["tar2sqfs"]}
    for tool in tools:
        calls |= tool.calls
    for program, packages in calls.items() if tools else ():
        if not shutil.which(program):
            lines.append(f"{program} is not installed; install it with: apt-get install {packages}")
    return lines + (_base() if any(tool.language == "rust" for tool in tools) else [])


def _base() -> list[str]:
    """Programs of Rust are linked with libraries, and those of the base image tell which of them must go along."""
    try:
        image.check(BASE)
    except image.ImageError as why:
        return [str(why)]
    return []


def _language(language: str, tools: list[Tool]) -> list[str]:
    if not tools:
        return []
    argv, name = VERSION_COMMANDS[language]
    found = version(argv)
    lacking = [tool for tool in tools if found is None or number(found) < number(tool.oldest)]
    if not lacking:
        return []
    oldest = max((tool.oldest for tool in lacking), key=number)
    built = ", ".join(tool.name for tool in lacking)
    what = f"found {found}" if found else "it is not installed"
    return [f"{name} {oldest} or newer is needed to build {built}; {what} (docs/toolbox.md#what-it-takes)"]


def version(argv: list[str]) -> str | None:
    """The version that a program says it has; None where it is not installed or says none."""
    try:
        printed = subprocess.run(argv, capture_output=True, text=True).stdout
    except OSError:
        return None
    found = re.search(r"[0-9]{1,9}\.[0-9]{1,9}(?:\.[0-9]{1,9})?", printed)
    return found[0] if found else None


def number(version: str) -> tuple[int, ...]:
    """A version, to be compared."""
    return tuple(int(part) for part in version.split("."))
