"""Installs qdiscs on the interfaces of a node, and asks for them and their counters."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.json_output import tables
from tunbench.runner.node.node import Node

QDISCS = {"netem": "sch_netem", "tbf": "sch_tbf", "fq_codel": "sch_fq_codel", "cake": "sch_cake"}
FILTERS = {"matchall": "cls_matchall", "police": "act_police"}
"""The kernel's module of each kind."""

UNKNOWN = {
    "qdisc kind is unknown": QDISCS,
    "TC classifier not found": FILTERS,
    "Failed to load TC action module": FILTERS,
}
"""What tc prints where the kernel has no such thing, and what it may be."""

COUNTERS = ("packets", "bytes", "drops", "qlen")
OF_POLICER = ("packets", "drops", "qlen")


def install(node: Node, lines: Sequence[str]) -> None:
    """Executes lines of `tc`. Raises Unsupported where the kernel has no such qdisc, and CommandFailed."""
    try:
        if lines:
            node.tc(*lines)
    except CommandFailed as error:
        for words, modules in UNKNOWN.items():
            if words in error.result.stderr:
                named = {kind: name for kind, name in modules.items() if any(kind in one for one in lines)}
                lacking = [f"{kind} (module {name})" for kind, name in named.items()]
                raise Unsupported(f"this kernel has no {' or no '.join(lacking)}") from None
        if "No distribution data" in error.result.stderr:
            raise Unsupported("iproute2's tables of distributions are not there") from None
        raise


def on(node: Node, interface: str) -> dict[str, dict[str, Any]]:
    """What `tc` says of the qdiscs on an interface, by kind: options in SI units, and counters. Raises WorkloadFailed.

    There is one of a kind at most.
    """
    return by_kind(node.ask("tc", "-s", "-j", "qdisc", "show", "dev", interface).stdout)


def policer(node: Node, interface: str) -> dict[str, Any]:
    """What `tc` says of the policer that packets pass as they arrive at an interface. Raises WorkloadFailed.

    The kernel counts what it drops among packets and bytes. Here packets are those that passed; nobody knows their
    bytes.
    """
    filters = tables(node.ask("tc", "-s", "-j", "filter", "show", "dev", interface, "ingress").stdout, "tc")
    actions = [action for one in filters for action in one.get("options", {}).get("actions", [])]
    found = next((action for action in actions if action.get("kind") == "police"), None)
    if not found:
        return {}
    stats = found.get("stats", {})
    passed = stats.get("packets", 0) - stats.get("drops", 0)
    return {**found, **{name: stats[name] for name in stats if name != "bytes"}, "packets": passed}


def by_kind(text: str) -> dict[str, dict[str, Any]]:
    """The qdiscs in what `tc -s -j qdisc show` printed, by kind. Raises WorkloadFailed."""
    return {str(qdisc.get("kind")): qdisc for qdisc in tables(text, "tc")}


def marks(qdisc: Mapping[str, Any]) -> int:
    """The packets that a qdisc has marked instead of dropping them (ECN), in all of its tins if it has such."""
    return sum(int(one.get("ecn_mark", 0)) for one in qdisc.get("tins", [qdisc]))


def counters(qdisc: Mapping[str, Any], names: Sequence[str] = COUNTERS) -> dict[str, int]:
    """What a qdisc or policer has carried, dropped and still holds since it was installed. Raises WorkloadFailed.

    Where there is none, it has carried nothing.
    """
    missing = None if qdisc else 0
    found: dict[str, Any] = {name: qdisc.get(name, missing) for name in names}
    for name, value in found.items():
        # The kernel's counters have 64 bits.
        if type(value) is not int or not 0 <= value < 1 << 64:
            raise WorkloadFailed(f"tc's JSON has no sound number at {name}: {value!r:.80}")
    return found
