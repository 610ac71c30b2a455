"""Makes routers gateways: gives them their rules and how long they remember, and tells what each rule has dropped."""

from collections.abc import Mapping

from tunbench.runner.declare.access import NONE, PASSED
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.network.access import gateway_rules, portmap
from tunbench.runner.network.access.gateway import Gateway
from tunbench.runner.network.underlay import Underlay, lans
from tunbench.runner.node.events import Events
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.node.node import Node

UDP_TIMEOUTS = ("nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream")
TCP_TIMEOUTS = ("nf_conntrack_tcp_timeout_established",)
"""How long the kernel remembers a flow in seconds, before it was answered and after: one value for both."""


def build(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    """Gives gateways and the middle their rules, once the links are there, and has them open ports to who asks.

    Raises Unsupported, StackFailed, CommandFailed.
    """
    for name, rules in _rules(underlay).items():
        _install(nodes[name], rules)
    for one in underlay.all_gateways:
        if gateway_rules.tracks(one):
            nodes[one.node].run("sysctl", "-qw", *_timeouts(one))
        if one.opens != NONE:
            portmap.serve(one, nodes[one.node], gateway_rules.TABLE)


def _rules(underlay: Underlay) -> dict[str, str]:
    """The rules of each node that has any."""
    found = {one.node: gateway_rules.rules(one) for one in underlay.all_gateways}
    silenced = _silenced(underlay)
    found[underlay.middle] = gateway_rules.silent(silenced) if silenced else ""
    return {name: rules for name, rules in found.items() if rules}


def _silenced(underlay: Underlay) -> list[str]:
    """The addresses and networks of which the middle tells nobody what is too large for their access.

    Both ends of a link refuse what is: the far one is the middle, or a carrier's gateway, which has a rule of its own.
    """
    behind = lans(underlay.topology, underlay.endpoints)
    found = []
    for name, some in underlay.gateways.items():
        if len(some) == 1 and some[0].access.icmp != PASSED:
            found += [underlay.leaves[name].address, *([behind[name].network] if name in behind else [])]
    return found


def _install(node: Node, rules: str) -> None:
    if not node.has("nft"):
        raise Unsupported("the program nft is not installed, which gateways need: apt-get install nftables")
    file = node.home / "gateway.nft"
    node.write(file, rules)
    node.run("nft", "-f", str(file))


def _timeouts(gateway: Gateway) -> list[str]:
    lives = {
        **dict.fromkeys(UDP_TIMEOUTS, gateway.access.udp_mapping),
        **dict.fromkeys(TCP_TIMEOUTS, gateway.access.tcp_mapping),
    }
    return [f"net.netfilter.{name}={seconds:.0f}" for name, seconds in lives.items()]


Counters = dict[str, int]
"""Packets that were dropped, by the name of the rule."""


class Watch:
    """The nodes of a shard that filter, and what their rules had dropped when they were looked at last."""

    def __init__(self, underlay: Underlay, nodes: Mapping[str, Node]) -> None:
        self.nodes = [nodes[name] for name in _rules(underlay)]
        self.opening = {one.node for one in underlay.all_gateways if one.opens != NONE}
        self.before = {node.name: dropped(node) for node in self.nodes}

    def tell(self, workload: str, events: Events) -> None:
        """Tells what each node has dropped during a workload, by rule, and which ports it holds open to who asked."""
        for node in self.nodes:
            now = dropped(node)
            before, self.before[node.name] = self.before[node.name], now
            since = {name: count - before.get(name, 0) for name, count in now.items()}
            ports = [one._asdict() for one in portmap.opened(node)] if node.name in self.opening else []
            more = {"opened": ports} if node.name in self.opening else {}
            events.tell("gateway", node=node.name, workload=workload, dropped=since, **more)


def tried(underlay: Underlay, nodes: Mapping[str, Node]) -> str:
    """What gateways have dropped until now, by rule, as words; empty where they have dropped nothing."""
    found = {node: dropped(nodes[node]) for node in _rules(underlay)}
    said = {
        node: ", ".join(f"{count} by {rule}" for rule, count in counters.items() if count)
        for node, counters in found.items()
    }
    return "; ".join(f"{node} dropped {words}" for node, words in said.items() if words)


def dropped(node: Node) -> Counters:
    """The packets that the rules of a gateway have dropped, by their counters."""
    found: Counters = {}
    listed = table(node.ask("nft", "-j", "list", "counters").stdout, "nft").get("nftables", [])
    for name, packets in ((value_at(one, "counter", "name"), value_at(one, "counter", "packets")) for one in listed):
        if isinstance(name, str) and isinstance(packets, int):
            found[name] = found.get(name, 0) + packets
    return found
