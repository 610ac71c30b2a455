"""Which Tunbench wrote a run, as its manifest tells: that may come from anybody."""

import re
from typing import Any

from tunbench.runner.node.json_output import value_at

VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}")

COMMIT = re.compile(r"[0-9A-Za-z][\w.-]{0,99}", re.ASCII)
"""What git calls a commit; nothing that a shell would take for more."""


def of_commit(commit: Any) -> str:
    """Which commit it is, where that is one."""
    return f" (commit {commit})" if isinstance(commit, str) and COMMIT.fullmatch(commit) else ""


def written_by(manifest: Any) -> str:
    """The Tunbench that a run is from; empty where its manifest does not tell."""
    version, commit = value_at(manifest, "tunbench", "version"), value_at(manifest, "tunbench", "commit")
    known = isinstance(version, str) and VERSION.fullmatch(version)
    return f"Tunbench {version}{of_commit(commit)}" if known else ""
