"""Examines the toolbox, the user's configuration, and the programs that the user brings."""

import os
from collections.abc import Iterable

from tunbench.doctor import images
from tunbench.doctor.host_check import ABOVE_FIRST, CONFIGURATION, REPLACING, TOOLBOX, HostCheck
from tunbench.toolbox import brought_programs
from tunbench.toolbox.command import ToolError


def rows() -> list[HostCheck]:
    """The configuration, each tool, each program that some tunnel wants brought, and each that is replaced."""
    declared = sorted(brought_programs.declared_programs())
    try:
        replacing = sorted(brought_programs.configured().keys() - declared)
    except ToolError as error:
        mend = f"mend {brought_programs.config_file()}, or {brought_programs.ANOTHER_FOLDER}"
        wrong = HostCheck(CONFIGURATION, False, str(error), mend, needed=True)
        return [wrong, *images.tools(), *_not_looked_for(declared)]
    return [
        _configuration(),
        *images.tools(),
        *(_program(TOOLBOX, name) for name in declared),
        *(_program(REPLACING, name) for name in replacing),
    ]


def _configuration() -> HostCheck:
    file = brought_programs.config_file()
    found = str(file) if os.access(file, os.F_OK) else "none, and none is needed"
    return HostCheck(CONFIGURATION, True, found, needed=True)


def _not_looked_for(names: Iterable[str]) -> list[HostCheck]:
    return [HostCheck(f"{TOOLBOX}{name}", False, "not looked for", ABOVE_FIRST) for name in names]


def _program(kind: str, name: str) -> HostCheck:
    """The file of a program that is at hand, and whether it can be used."""
    bring = brought_programs.bring(name)
    file = brought_programs.files_at_hand([name], {}).get(name)
    if not file:
        return HostCheck(f"{kind}{name}", False, "not on PATH", bring)
    try:
        brought_programs.check_usable(name, file)
    except ToolError as error:
        return HostCheck(f"{kind}{name}", False, str(error), bring)
    return HostCheck(f"{kind}{name}", True, file)
