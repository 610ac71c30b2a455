"""One thing that a machine was looked at for: whether it is there, and the mend."""

from typing import NamedTuple

TOOLBOX, ADDON, NATIVE = "toolbox: ", "vm lab: add-on ", "native lab: "
"""What stands before a tool or brought program, before an add-on image, and before what the native lab runs."""

CONFIGURATION = "configuration"

REPLACING = f"{CONFIGURATION}: "
"""What stands before a program of Debian or the toolbox in whose place the configuration names a file."""

ABOVE_FIRST = "first mend what is above"


class HostCheck(NamedTuple):
    """One thing that was looked for; `needed` by the vm lab on the virtual clock."""

    what: str
    ok: bool
    found: str
    mend: str = ""
    needed: bool = False
