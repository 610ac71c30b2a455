"""Tells on which links fragments went, and below which layers, while a workload lasted.

Every fragment was cut by the kernel of a node, which counts that for the whole node. Where it went, rules of nftables
count as packets arrive at an interface. They cost what they see, so that they are there only where the plan leaves room
for fragments: where a link is narrower than endpoints know, and where a layer's packets do not fit below it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network.access.gateway_rules import FRAGMENT
from tunbench.runner.network.underlay import EDGE, Interface, Underlay, lans
from tunbench.runner.node.events import Events
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.node.node import Node
from tunbench.runner.stack import Stack
from tunbench.runner.tunnel import Tunnel

TABLE = "fragments"

CHAIN = "at-"
"""How the name of a chain begins, before that of its interface."""

MAX_NAMED = 6
"""Places that a warning names at most, those with most fragments."""


class Place(NamedTuple):
    """Where fragments are counted as they arrive: by which link, below which layer; empty where it is none."""

    at: Interface
    link: str = ""
    layer: str = ""

    @property
    def said(self) -> str:
        """What stands in a warning."""
        below = f"below {self.layer}" if self.layer else ""
        return f"{self.link}, {below}" if self.link and below else self.link or f"{below} on {self.at.node}"


class Watch:
    """The places where fragments are counted. Counting begins anew each time that they are looked at."""

    def __init__(self, places: Sequence[Place], nodes: Mapping[str, Node]) -> None:
        self.places = places
        self.nodes = {name: nodes[name] for name in dict.fromkeys(one.at.node for one in places)}
        for name in self.nodes:
            self._begin(name)

    def tell(self, workload: str, events: Events) -> None:
        """Tells what passed each place during a workload, if anything did, and warns of it."""
        counted = {name: read(node) for name, node in self.nodes.items()}
        passed = [(one, count) for one in self.places if (count := counted[one.at.node].get(one.at.name, 0))]
        if passed:
            rows = [
                {
                    **{"node": one.at.node, "interface": one.at.name},
                    **{"link": one.link, "layer": one.layer, "fragments": count},
                }
                for one, count in passed
            ]
            events.tell("fragments", workload=workload, passed=rows)
            events.tell("warning", name=WarningKind.FRAGMENTED, text=f"{workload}: {said(passed)}")
        for name in self.nodes:
            self._begin(name)

    def end(self) -> None:
        """Takes the rules away."""
        for node in self.nodes.values():
            node.try_run("nft", "delete", "table", "inet", TABLE)

    def _begin(self, name: str) -> None:
        """Begins to count on a node, on its links alone where the interface of a layer is away."""
        node, here = self.nodes[name], [one for one in self.places if one.at.node == name]
        file = node.home / f"{TABLE}.nft"
        for places in (here, [one for one in here if one.link]):
            node.write(file, rules([one.at.name for one in places]))
            if node.try_run("nft", "-f", str(file)).status == 0:
                return


@contextmanager
def watched(underlay: Underlay, nodes: Mapping[str, Node], stack: Stack) -> Iterator[Watch]:
    """Counts while it lasts, at all places that there are, where there may be fragments and nftables for it."""
    wanted = places(underlay, stack) if may_be(underlay, stack) else []
    able = {name for name in {one.at.node for one in wanted} if name in nodes and nodes[name].has("nft")}
    watch = Watch([one for one in wanted if one.at.node in able], nodes)
    try:
        yield watch
    finally:
        watch.end()


def may_be(underlay: Underlay, stack: Stack) -> bool:
    """Whether anything on the way may be narrower than who sends knows."""
    return _narrows(underlay) or any(map(_is_cut, stack.layers))


def _narrows(underlay: Underlay) -> bool:
    """Whether a link is narrower than an endpoint knows, as one is behind a translator, where packets grow."""
    known = max(underlay.wired(name).mtu for name in underlay.endpoints)
    narrower = any(wire.mtu < known for wire in underlay.wires if wire.near.node != EDGE)
    return narrower or any(one.from_ipv6 for one in underlay.all_gateways)


def _is_cut(layer: Tunnel) -> bool:
    """Whether the kernel may have to cut packets of a layer, so that they fit below it."""

    def built(over: Overlay, mtu: int) -> int:
        return layer.format(layer.options, over.family).size(mtu, mtu)

    above, below = layer.context.above, layer.context.below
    return layer.declared.fragmented and any(built(over, above[name].mtu) > over.mtu for name, over in below.items())


def places(underlay: Underlay, stack: Stack) -> list[Place]:
    """Both ends of each link but the edge's, and what stands below each layer that has an interface below it."""
    lowest = stack.layers[0].about.name.replace(BARE, "")
    found = {}
    for wire in underlay.wires:
        for here, there in ((wire.near, wire.far), (wire.far, wire.near)) if wire.near.node != EDGE else ():
            own = lowest if here.node in underlay.endpoints else ""
            found[there] = Place(there, f"from {here.node} to {there.node}", own)
    for name, lan in lans(underlay.topology, stack.overlay).items():
        ends = Interface(lan.host, lan.there.interface), Interface(name, lan.here.interface)
        for here, there in (ends, ends[::-1]):
            found[there] = Place(there, f"from {here.node} to {there.node}")
    for layer in stack.layers[1:]:
        for name, below in layer.context.below.items():
            here = Interface(name, below.interface)
            # A layer without an interface of its own shows what passes below it on that of another one.
            found.setdefault(here, Place(here, layer=layer.about.name))
    return list(found.values())


def rules(interfaces: Collection[str]) -> str:
    """What counts the fragments that arrive at these interfaces, from 0.

    It does so before a gateway drops them, and before the kernel joins them, which is at -400. A hook where packets
    leave does not see those that have passed an ifb.
    """
    lines = [f"table inet {TABLE} {{ }}", f"delete table inet {TABLE}", f"table inet {TABLE} {{"]
    for name in interfaces:
        lines += [
            f"    chain {CHAIN}{name} {{",
            "        type filter hook prerouting priority -460; policy accept;",
            *(f'        iifname "{name}" {match} counter' for match in FRAGMENT),
            "    }",
        ]
    return "\n".join([*lines, "}", ""])


def read(node: Node) -> dict[str, int]:
    """The fragments that arrived at a node, by interface."""
    return parse(node.ask("nft", "-j", "list", "table", "inet", TABLE).stdout)


def parse(text: str) -> dict[str, int]:
    """What stands in the counters of the chains, as nft prints them; nothing where there is no table."""
    found: dict[str, int] = {}
    for one in table(text or "{}", "nft").get("nftables", []):
        name = str(value_at(one, "rule", "chain")).removeprefix(CHAIN)
        for expression in value_at(one, "rule", "expr") or []:
            packets = value_at(expression, "counter", "packets")
            if isinstance(packets, int):
                found[name] = found.get(name, 0) + packets
    return found


def said(passed: Sequence[tuple[Place, int]]) -> str:
    """How many fragments passed where, as words."""
    most = sorted(passed, key=lambda one: -one[1])
    words = [f"{count} fragments {one.said}" for one, count in most[:MAX_NAMED]]
    more = len(most) - MAX_NAMED
    return "; ".join([*words, *([f"and at {more} more places"] if more > 0 else [])])
