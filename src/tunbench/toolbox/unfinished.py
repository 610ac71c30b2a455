"""Programs of a tool whose building was broken off: those that are finished wait beside the tools for the rest."""

import hashlib
import shutil
from pathlib import Path

from tunbench.toolbox.tools import Tool

UNFINISHED = ".unfinished-"


def folder_of(tool: Tool, builder: str) -> Path:
    """Where they wait: another version of the tool, or of what builds it, makes other programs."""
    digest = hashlib.sha256(f"{tool.version} {builder}".encode()).hexdigest()
    return tool.folder.parent / f"{UNFINISHED}{tool.name}-{digest[:12]}"


def keep(folder: Path, program: Path) -> None:
    """Keeps a program that is finished. Raises OSError."""
    folder.mkdir(exist_ok=True)
    new = folder / f".{program.name}"
    shutil.copy2(program, new)
    new.replace(folder / program.name)


def taken(folder: Path, program: Path) -> bool:
    """Puts a program where it would have been built, if it waits; whether it did. Raises OSError."""
    if not (folder / program.name).is_file():
        return False
    program.parent.mkdir(exist_ok=True)
    shutil.copy2(folder / program.name, program)
    return True


def forget(tool: Tool) -> None:
    """Removes what waits for a tool, of whichever version."""
    for path in tool.folder.parent.glob(f"{UNFINISHED}{tool.name}-*"):
        shutil.rmtree(path, ignore_errors=True)
