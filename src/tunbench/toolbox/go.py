"""Builds the programs of a Go module: fetched and verified by the go command, built without what is not needed."""

import json
from pathlib import Path
from typing import Any

from tunbench.toolbox import unfinished
from tunbench.toolbox.command import MOMENT, Progress, Run, ToolError, checked
from tunbench.toolbox.tools import Tool

FETCHING = {"GOTOOLCHAIN": "local", "GO111MODULE": "on", "GOWORK": "off"}
"""The proxy and the checksum database are those that the machine is set up with; another Go is not fetched."""

BUILDING = {
    **FETCHING,
    **MOMENT,
    **{"GOOS": "linux", "GOARCH": "amd64", "GOAMD64": "v1", "GOFLAGS": "-mod=readonly", "GOEXPERIMENT": ""},
}


def build(tool: Tool, scratch: Path, kept: Path, cores: int, run: Run, progress: Progress) -> dict[str, Any]:
    """Builds the programs into `bin` of the folder, but those in `kept`. Returns where they come from.

    Raises ToolError.

    The module is built as its own main module, in a copy of its folder: `go install` refuses one with replacements,
    and leaves them out where it is a dependency.
    """
    progress(f"fetching {tool.module}")
    fetched = _fetched(tool, scratch, run, progress)
    module = scratch / "module"
    argv = ["cp", "-r", "--no-preserve=mode,ownership", fetched["Dir"], str(module)]
    checked(argv, run(argv, scratch, {}, progress))
    # What takes the place of a folder has its checksum in the database, and not yet in go.sum.
    lists = {"GOFLAGS": "-mod=mod"} if _replace_folders(tool, module, run, progress) else {}
    for number, (program, folder) in enumerate(tool.parts.items(), 1):
        if unfinished.taken(kept, scratch / "bin" / program):
            continue
        progress(f"program {number} of {len(tool.parts)}: {program}")
        argv = ["go", "build", "-v", "-p", str(cores), "-trimpath", "-buildvcs=false"]
        static = program in tool.cgo
        argv += ["-ldflags", _linking(tool, static), *(["-tags", "netgo,osusergo"] if static else [])]
        argv += ["-o", str(scratch / "bin" / program), f"./{folder}"]
        environment = BUILDING | {"CGO_ENABLED": "1" if static else "0", "GOCACHE": str(scratch / "cache")}
        environment |= {"GOTMPDIR": str(scratch), "GOMAXPROCS": str(cores)} | lists
        checked(argv, run(argv, module, environment, progress))
        unfinished.keep(kept, scratch / "bin" / program)
    return {"module": tool.module, "version": fetched["Version"], "h1": fetched["Sum"]}


def _fetched(tool: Tool, scratch: Path, run: Run, progress: Progress) -> dict[str, str]:
    """The module in the client's own cache, and the checksum that it verified."""
    argv = ["go", "mod", "download", "-json", f"{tool.module}@v{tool.registered or tool.version}"]
    done = run(argv, scratch, FETCHING, progress)
    try:
        fetched: dict[str, str] = json.loads(done.stdout)
    except ValueError:
        fetched = {}
    if done.status != 0 or not {"Dir", "Sum", "Version"} <= fetched.keys():
        raise ToolError(f"{tool.module} cannot be fetched: {fetched.get('Error') or done.words.strip()}")
    return fetched


def _replace_folders(tool: Tool, module: Path, run: Run, progress: Progress) -> bool:
    """Puts published modules in the place of folders that the archive lacks; whether there were any.

    Raises ToolError.
    """
    if not tool.published:
        return False
    argv = ["go", "mod", "edit", "-json"]
    replaced = json.loads(checked(argv, run(argv, module, FETCHING, progress))).get("Replace") or []
    published = {
        one["Old"]["Path"]: version
        for one in replaced
        for folder, version in tool.published.items()
        if one["New"]["Path"].startswith(folder)
    }
    argv = ["go", "mod", "edit", *(f"-replace={name}={name}@v{version}" for name, version in published.items())]
    checked(argv, run(argv, module, FETCHING, progress))
    return True


def _linking(tool: Tool, static: bool) -> str:
    """The linker's flags: no symbols, nothing that depends on where it was built, and the version where it is asked."""
    stamps = [f"-X {one}" if "=" in one else f"-X {one}={tool.version}" for one in tool.stamps]
    return " ".join(
        [
            "-s -w -buildid=",
            *stamps,
            *(["-linkmode external -extldflags '-static -Wl,--build-id=none'"] if static else []),
        ]
    )
