"""Makes routers gateways: gives them their rules and how long they remember, and tells what each rule has dropped."""

from collections.abc import Mapping

from tunbench.runner.declare.access import PASSED
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.network import gateway_rules
from tunbench.runner.network.gateway import Gateway
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.events import Events
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.node.node import Node

UDP_TIMEOUTS = ("nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream")
TCP_TIMEOUTS = ("nf_conntrack_tcp_timeout_established",)
"""How long the kernel remembers a flow in seconds, before it was answered and after: one value for both."""


def build(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    """Gives each gateway its rules, once the links are there. Raises Unsupported, CommandFailed."""
    for one in all_of(underlay):
        _install(nodes[one.node], gateway_rules.rules(one))
        if gateway_rules.tracks(one):
            nodes[one.node].run("sysctl", "-qw", *_timeouts(one))
    # Both ends of a link refuse what is too large for it: the far one is the middle, or a carrier's gateway.
    reached = [
        underlay.leaves[name].address
        for name, some in underlay.gateways.items()
        if len(some) == 1 and some[0].access.icmp != PASSED
    ]
    if reached:
        _install(nodes[underlay.middle], gateway_rules.silent(reached))


def all_of(underlay: Underlay) -> list[Gateway]:
    """All gateways of an underlay."""
    return [one for some in underlay.gateways.values() for one in some]


def _install(node: Node, rules: str) -> None:
    if not rules:
        return
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
    """The gateways of a shard, and what their rules had dropped when they were looked at last."""

    def __init__(self, underlay: Underlay, nodes: Mapping[str, Node]) -> None:
        names = [one.node for one in all_of(underlay) if gateway_rules.rules(one)]
        self.nodes = [nodes[name] for name in names]
        self.before = {node.name: dropped(node) for node in self.nodes}

    def tell(self, workload: str, events: Events) -> None:
        """Tells what each gateway has dropped during a workload, by rule."""
        for node in self.nodes:
            now = dropped(node)
            before, self.before[node.name] = self.before[node.name], now
            since = {name: count - before.get(name, 0) for name, count in now.items()}
            events.tell("gateway", node=node.name, workload=workload, dropped=since)


def dropped(node: Node) -> Counters:
    """The packets that the rules of a gateway have dropped, by their counters."""
    found: Counters = {}
    listed = table(node.ask("nft", "-j", "list", "counters").stdout, "nft").get("nftables", [])
    for name, packets in ((value_at(one, "counter", "name"), value_at(one, "counter", "packets")) for one in listed):
        if isinstance(name, str) and isinstance(packets, int):
            found[name] = found.get(name, 0) + packets
    return found
