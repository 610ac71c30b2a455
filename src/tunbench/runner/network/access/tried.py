"""Counts what is tried at gateways: the packets that begin something, by protocol and port, and which of them pass.

Sets of nftables count it, one before all that a gateway filters and one behind it. Where it keeps connections in mind,
packets that answer are none of them; where it does not, those that go out are counted, all of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from tunbench.runner.network.access import gateway_rules
from tunbench.runner.network.access.gateway import OUTSIDE, Gateway
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.node.node import Node

TABLE = "tried"

SEEN, PASSED = "seen", "passed"
WITH_PORTS, OTHERS = "-ports", "-others"
"""The sets: of what has ports, and of all else."""

SET = {
    WITH_PORTS: "typeof iifname . meta l4proto . th dport; size 65535; flags dynamic",
    OTHERS: "typeof iifname . meta l4proto; size 65535; flags dynamic",
}

UPDATES = {
    WITH_PORTS: "meta l4proto { tcp, udp } update @%s { iifname . meta l4proto . th dport counter }",
    OTHERS: "meta l4proto != { tcp, udp } update @%s { iifname . meta l4proto counter }",
}

OUT, IN = "out", "in"
"""Which way something was tried: from the node behind the gateway, or from outside."""

MAX_NAMED = 5
"""Ports of which a reason tells."""


class Tried(NamedTuple):
    """What was tried at a gateway: which way, by which protocol to which port (0: it has none), and what came of it."""

    gateway: str
    way: str
    protocol: str
    port: int
    packets: int
    dropped: int


@contextmanager
def counting(underlay: Underlay, nodes: Mapping[str, Node]) -> Iterator[Sequence[Gateway]]:
    """Counts at all gateways while it lasts that have nftables for it, which `read` takes."""
    with ExitStack() as tables:
        yield [one for one in underlay.all_gateways if _begin(one, nodes[one.node], tables)]


def _begin(gateway: Gateway, node: Node, tables: ExitStack) -> bool:
    """Begins to count at a gateway, until the stack is left."""
    file = node.home / f"{TABLE}.nft"
    if not node.has("nft"):
        return False
    node.write(file, rules(gateway))
    if node.try_run("nft", "-f", str(file)).status != 0:
        # A kernel without sets that grow by themselves.
        return False
    tables.callback(node.try_run, "nft", "delete", "table", "inet", TABLE)
    return True


def rules(gateway: Gateway) -> str:
    """The sets of a gateway, and what is counted in them."""
    tracks = gateway_rules.tracks(gateway)
    inner, first = f'iifname "{gateway.inner}"', "ct direction original " if tracks else ""
    matches = [f"{inner} {first}", *([f'iifname "{OUTSIDE}" {first}'] if tracks else [])]
    lines = [f"set {name}{kind} {{ {what}; }}" for name in (SEEN, PASSED) for kind, what in SET.items()]
    lines += _chain("before", "forward hook", "filter - 10", matches, SEEN)
    lines += _chain("behind", "forward hook", "filter + 10", matches, PASSED)
    # What comes for an address of the NAT and leads nowhere is for the gateway itself.
    lines += _chain("for-itself", "input hook", "filter - 10", matches[1:], SEEN)
    return "\n".join([f"table inet {TABLE} {{", *(f"    {line}" for line in lines), "}", ""])


def _chain(name: str, hook: str, priority: str, matches: Sequence[str], counted: str) -> list[str]:
    where = hook.split()[0]
    body = [f"    {match}{text % f'{counted}{kind}'}" for match in matches for kind, text in UPDATES.items()]
    head = f"    type filter hook {where} priority {priority}; policy accept;"
    return [f"chain {name} {{", head, *body, "}"] if body else []


def read(gateways: Sequence[Gateway], nodes: Mapping[str, Node]) -> list[Tried]:
    """What was tried at these gateways since counting began, most packets first at each."""
    found = []
    for one in gateways:
        text = nodes[one.node].ask("nft", "-j", "list", "table", "inet", TABLE).stdout
        found += parse(text, one.node)
    return found


def parse(text: str, gateway: str) -> list[Tried]:
    """What stands in the sets of a gateway, as nft prints them. Raises WorkloadFailed where that is no JSON."""
    counted: dict[str, dict[tuple[str, str, int], int]] = {SEEN: {}, PASSED: {}}
    for one in table(text, "nft").get("nftables", []):
        name, _, kind = str(value_at(one, "set", "name")).partition("-")
        if name in counted and f"-{kind}" in SET:
            for element in value_at(one, "set", "elem") or []:
                key, packets = _key(value_at(element, "elem", "val")), value_at(element, "elem", "counter", "packets")
                if key and isinstance(packets, int):
                    counted[name][key] = counted[name].get(key, 0) + packets
    rows = [
        Tried(gateway, *key, packets, max(0, packets - counted[PASSED].get(key, 0)))
        for key, packets in counted[SEEN].items()
    ]
    return sorted(rows, key=lambda row: (-row.packets, row.way, row.protocol, row.port))


def _key(value: Any) -> tuple[str, str, int] | None:
    """The way, the protocol and the port of an element of a set; None where it is something else."""
    parts = value.get("concat") if isinstance(value, dict) else None
    if not isinstance(parts, list) or len(parts) not in (2, 3):
        return None
    interface, protocol, port = parts[0], str(parts[1]), parts[2] if len(parts) == 3 else 0
    return (IN if interface == OUTSIDE else OUT, protocol, port) if isinstance(port, int) else None


def as_json(rows: Sequence[Tried]) -> str:
    """What was tried, for who reads the trial's folder."""
    return json.dumps([row._asdict() for row in rows], indent=1)


def dropped(rows: Sequence[Tried]) -> str:
    """What was tried in vain as words; empty where all passed."""
    vain = [row for row in rows if row.dropped]
    words = [
        f"{row.gateway} dropped {row.dropped} of {row.protocol}{f':{row.port}' * bool(row.port)} {_words(row.way)}"
        for row in vain[:MAX_NAMED]
    ]
    return "; ".join([*words, *([f"and {len(vain) - MAX_NAMED} more"] if len(vain) > MAX_NAMED else [])])


def _words(way: str) -> str:
    return "from outside" if way == IN else "from inside"
