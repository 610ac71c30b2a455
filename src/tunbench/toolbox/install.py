"""Installs and removes tools in the cache."""

import os
from pathlib import Path

from tunbench.labs.removal import remove as remove_folder
from tunbench.labs.replaced_folder import replacing, sweep
from tunbench.toolbox import build_requirements, command, go, rust, unfinished
from tunbench.toolbox.command import Progress, Run
from tunbench.toolbox.pack import pack
from tunbench.toolbox.tools import Tool, tools_folder

BUILDERS = {"go": go.build, "rust": rust.build}


def install(tool: Tool, progress: Progress, run: Run = command.run) -> None:
    """Fetches, builds and packs a tool. Raises ToolError and ImageError.

    Of what is broken off, the programs that are finished wait for the next time.
    """
    cores = max(1, (os.cpu_count() or 1) - 1)
    argv, name = build_requirements.VERSION_COMMANDS[tool.language]
    built = {name: build_requirements.version(argv)}
    with replacing(tool.folder) as scratch:
        kept = unfinished.folder_of(tool, f"{built[name]}")
        source = BUILDERS[tool.language](tool, scratch, kept, cores, run, progress)
        progress("packing")
        programs = [scratch / "bin" / program for program in tool.programs]
        head = {"name": tool.name, "version": tool.version, "programs": tool.programs, "source": source, "built": built}
        pack(programs, scratch / "image", head)
    unfinished.forget(tool)


def remove(tool: Tool) -> bool:
    """Removes a tool, and what was left of building it; whether it was there. Raises ImageError."""
    there = remove_folder(tool.folder)
    clear(tool)
    return there


def remove_all() -> None:
    """Removes every tool, and the images of brought programs. Raises ImageError."""
    remove_folder(tools_folder())


def clear(tool: Tool) -> None:
    """Removes what was left of building a tool: programs that wait for the rest, and scratch of what was killed."""
    unfinished.forget(tool)
    sweep(tool.folder.parent)


def built_in(tool: Tool) -> int:
    """The number of the folder that building has made, another one each time; 0 where the tool is not there."""
    return tool.folder.stat().st_ino if tool.installed else 0


def size(tool: Tool) -> int:
    """Bytes that an installed tool takes on the disk; 0 where it is not there."""
    return sum(_blocks(path) for path in tool.folder.rglob("*") if path.is_file()) if tool.installed else 0


def _blocks(path: Path) -> int:
    return path.stat().st_blocks * 512
