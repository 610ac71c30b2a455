"""What a machine can run, what it cannot, and what to do first: three lines above all that was looked at."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.doctor import runnable
from tunbench.doctor.host_check import ADDON, CONFIGURATION, NATIVE, REPLACING, TOOLBOX, HostCheck
from tunbench.runner import registry

MAX_NAMED = 2
"""Tunnels that a line names; of more, it says how many."""

INSTALL_ALL = "tunbench toolbox install --all"


class Summary(NamedTuple):
    """The three lines, each without what it is of."""

    can_run: str
    cannot_run: str
    do_first: str


def summary(checks: Sequence[HostCheck]) -> Summary:
    """The three lines, of all that was looked at."""
    tunnels, in_vm, natively = registry.tunnel_names(), _in_vm(checks), _natively(checks)
    labs = {"vm lab": in_vm, "native lab": natively}
    can = [f"{lab}: {len(names)} of {len(tunnels)} tunnels" for lab, names in labs.items() if names]
    cannot = [
        f"{lab}: {_counted([name for name in tunnels if name not in names])}" if names else f"the {lab}"
        for lab, names in labs.items()
        if len(names) < len(tunnels)
    ]
    return Summary("; ".join(can) or "nothing yet", "; ".join(cannot) or "nothing is lacking", _first(checks))


def _in_vm(checks: Sequence[HostCheck]) -> list[str]:
    """The tunnels that the vm lab has all images and programs of."""
    if not all(check.ok for check in checks if check.needed):
        return []
    lacking = {*_named(checks, TOOLBOX, False), *_named(checks, ADDON, False)}
    return runnable.tunnels(lacking.__contains__, _named(checks, REPLACING, False))


def _natively(checks: Sequence[HostCheck]) -> list[str]:
    if any(check.what == CONFIGURATION and not check.ok for check in checks):
        return []
    there = _named(checks, NATIVE, True)
    return [name for name in registry.tunnel_names() if name in there]


def _named(checks: Sequence[HostCheck], kind: str, ok: bool) -> set[str]:
    """The names of one kind that are there, or that are not."""
    return {check.what.removeprefix(kind) for check in checks if check.what.startswith(kind) and check.ok is ok}


def _counted(names: Sequence[str]) -> str:
    """How many tunnels; of few, their names."""
    return " and ".join(names) if len(names) <= MAX_NAMED else f"{len(names)} tunnels"


def _first(checks: Sequence[HostCheck]) -> str:
    for check in checks:
        if check.needed and not check.ok:
            return check.mend
    tools = any(check.mend.startswith(INSTALL_ALL.removesuffix("--all")) for check in checks if not check.ok)
    return "tunbench run quick" + (f"; for more: {INSTALL_ALL}" if tools else "")
