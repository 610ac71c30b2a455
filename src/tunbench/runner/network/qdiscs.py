"""Installs qdiscs on the interfaces of a node, and asks for them and their counters."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.json_output import tables
from tunbench.runner.node.node import Node

MODULES = {"netem": "sch_netem", "tbf": "sch_tbf"}
"""The kernel's module of each kind."""

COUNTERS = ("packets", "bytes", "drops", "qlen")


def install(node: Node, lines: Sequence[str]) -> None:
    """Executes lines of `tc`. Raises Unsupported where the kernel has no such qdisc, and CommandFailed."""
    try:
        if lines:
            node.tc(*lines)
    except CommandFailed as error:
        if "qdisc kind is unknown" in error.result.stderr:
            lacking = [f"{kind} (module {name})" for kind, name in MODULES.items() if any(kind in one for one in lines)]
            raise Unsupported(f"this kernel has no {' or no '.join(lacking)}") from None
        if "No distribution data" in error.result.stderr:
            raise Unsupported("iproute2's tables of distributions are not there") from None
        raise


def on(node: Node, interface: str) -> dict[str, dict[str, Any]]:
    """What `tc` says of the qdiscs on an interface, by kind: options in SI units, and counters. Raises WorkloadFailed.

    There is one of a kind at most.
    """
    return by_kind(node.ask("tc", "-s", "-j", "qdisc", "show", "dev", interface).stdout)


def by_kind(text: str) -> dict[str, dict[str, Any]]:
    """The qdiscs in what `tc -s -j qdisc show` printed, by kind. Raises WorkloadFailed."""
    return {str(qdisc.get("kind")): qdisc for qdisc in tables(text, "tc")}


def counters(qdisc: Mapping[str, Any]) -> dict[str, int]:
    """What a qdisc has carried, dropped and still holds since it was installed. Raises WorkloadFailed.

    Where there is none, it has carried nothing.
    """
    missing = None if qdisc else 0
    found: dict[str, Any] = {name: qdisc.get(name, missing) for name in COUNTERS}
    for name, value in found.items():
        # The kernel's counters have 64 bits.
        if type(value) is not int or not 0 <= value < 1 << 64:
            raise WorkloadFailed(f"tc's JSON has no sound number at {name}: {value!r:.80}")
    return found
