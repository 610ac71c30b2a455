"""Builds the programs of crates: fetched and verified by cargo, built from their own lock file."""

import hashlib
import os
from pathlib import Path
from typing import Any

from tunbench.toolbox import unfinished
from tunbench.toolbox.command import MOMENT, Progress, Run, ToolError, checked
from tunbench.toolbox.tools import Tool


def cargo_home() -> Path:
    """Where cargo keeps what it fetched."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def build(tool: Tool, scratch: Path, kept: Path, cores: int, run: Run, progress: Progress) -> dict[str, Any]:
    """Builds the programs into `bin` of the folder, but those in `kept`. Returns where they come from.

    Raises ToolError.
    """
    crates = list(dict.fromkeys(tool.parts.values()))
    for crate in crates:
        programs = [program for program, of in tool.parts.items() if of == crate]
        if all([unfinished.taken(kept, scratch / "bin" / program) for program in programs]):
            continue
        argv = ["cargo", "install", "--locked", "--no-track", "-j", str(cores), "--version", tool.version]
        argv += ["--root", str(scratch), *(word for program in programs for word in _target(tool, program)), crate]
        checked(argv, run(argv, scratch, _environment(scratch), progress))
        for program in tool.examples.keys() & set(programs):
            (scratch / "bin" / tool.examples[program]).rename(scratch / "bin" / program)
        for program in programs:
            unfinished.keep(kept, scratch / "bin" / program)
    return {"version": tool.version, "sha256": {crate: _sha256(crate, tool.version) for crate in crates}}


def _target(tool: Tool, program: str) -> tuple[str, str]:
    """What cargo is asked for: a program of the crate, or one of its examples."""
    return ("--example", tool.examples[program]) if program in tool.examples else ("--bin", program)


def _environment(scratch: Path) -> dict[str, str]:
    """What makes the result independent of this machine's folders and settings, and of the time of day."""
    folders = {cargo_home(): "/cargo", scratch: "/build"}
    return {
        **MOMENT,
        "CARGO_TARGET_DIR": str(scratch / "target"),
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        # What is written in C has paths in its assertions.
        "CFLAGS": " ".join(f"-ffile-prefix-map={path}={name}" for path, name in folders.items()),
        "RUSTFLAGS": " ".join(
            [
                *(f"--remap-path-prefix={path}={name}" for path, name in folders.items()),
                "-Clink-arg=-Wl,--build-id=none",
            ]
        ),
    }


def _sha256(crate: str, version: str) -> str:
    """The digest of a crate's archive, which cargo compared with its index. Raises ToolError."""
    name = f"{crate}-{version}.crate"
    found = sorted((cargo_home() / "registry" / "cache").glob(f"*/{name}"))
    if not found:
        raise ToolError(f"cargo did not keep {name} in {cargo_home()}/registry/cache")
    return hashlib.sha256(found[-1].read_bytes()).hexdigest()
