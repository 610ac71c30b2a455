"""The programs that Debian lacks, as JSON can say them: what each is, whether it is there, and what it takes."""

from typing import Any

from tunbench.toolbox import install
from tunbench.toolbox.tools import Tool


def as_json(one: Tool) -> dict[str, Any]:
    """A tool with its version, programs and size, where it comes from, and what installing it takes."""
    return {
        **{"name": one.name, "version": one.version, "programs": one.programs, "installed": one.installed},
        **{"size": install.size(one), "folder": str(one.folder), "from": one.module or f"crates {_crates(one)}"},
        "takes": {
            **{"seconds": one.seconds, "disk": int(one.space), one.language: one.oldest},
            "packages": sorted({package for packages in one.calls.values() for package in packages.split()}),
        },
    }


def _crates(one: Tool) -> str:
    return ", ".join(dict.fromkeys(one.parts.values()))
