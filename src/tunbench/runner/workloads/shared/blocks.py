"""What happens to packets between endpoints while a tunnel goes on: mappings are forgotten, UDP passes no more."""

import time
from contextlib import suppress

from tunbench.runner.declare.access import NONE
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.network.access.gateway import Gateway
from tunbench.runner.node import forget_flows, python
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site

RULES = """\
table inet blocked {{
    chain forward {{
        type filter hook forward priority filter - 1; policy accept;
        iifname "{interface}" meta l4proto udp counter drop
        oifname "{interface}" meta l4proto udp counter drop
    }}
}}
"""

SHUT = """\
table inet shut {
    chain forward {
        type filter hook forward priority filter - 1; policy drop;
    }
}
"""

SHUT_SECONDS = 0.05
"""Seconds for which a NAT passes nothing before it forgets: an answer under way would make a new mapping at once."""


def check_mappings(site: Site, name: str) -> None:
    """Raises Unsupported where no NAT stands before an endpoint, or one whose open ports would outlive its mappings."""
    gateways = site.underlay.gateways.get(name, ())
    if not any(map(_maps, gateways)):
        raise Unsupported(f"no NAT stands before {name}, whose mappings could be forgotten: give it an access with one")
    if opening := [one.node for one in gateways if one.opens != NONE]:
        raise Unsupported(
            f"the ports that {opening[0]} opens to who asks would outlive what it forgets: take portmap away from the "
            f"access of {name}"
        )


def forget_mappings(site: Site, name: str) -> None:
    """Makes the gateways before an endpoint forget what they have mapped, as if restarted. Raises CommandFailed."""
    for one in site.underlay.gateways[name]:
        if _maps(one):
            _forget(site.nodes[one.node])


def _maps(gateway: Gateway) -> bool:
    """Whether it has mappings that can be forgotten: an address of one's own is none."""
    return gateway.translates and gateway.nat != "one-to-one"


def _forget(node: Node) -> None:
    program, rules = node.home / "forget_flows.py", node.home / "shut.nft"
    if not node.exists(program):
        node.write(program, python.source(forget_flows))
        node.write(rules, SHUT)
    node.run("nft", "-f", str(rules))
    try:
        time.sleep(SHUT_SECONDS)
        node.run(*node.python, str(program))
        # Only where a NAT lets in more than the kernel's own does.
        node.try_run("nft", "flush", "map", "ip", "gateway-nat", "mapped")
    finally:
        node.run("nft", "delete", "table", "inet", "shut")


def check_router(site: Site) -> None:
    """Raises Unsupported where packets between endpoints are not routed."""
    if site.underlay.middle != "router":
        raise Unsupported("a bridge stands between the endpoints, whose packets nobody routes and filters")


def block_udp(site: Site, name: str) -> None:
    """Lets no UDP pass on the way to an endpoint, and from it. Raises CommandFailed."""
    middle = _middle(site)
    rules = middle.home / "blocked.nft"
    middle.write(rules, RULES.format(interface=site.underlay.towards[name].name))
    middle.run("nft", "-f", str(rules))


def let_udp_pass(site: Site) -> None:
    """Takes the block away. Raises CommandFailed."""
    _middle(site).run("nft", "delete", "table", "inet", "blocked")


def tidy(site: Site) -> None:
    """Takes the block away, where there is one."""
    with suppress(CommandFailed):
        let_udp_pass(site)


def _middle(site: Site) -> Node:
    return site.nodes[site.underlay.middle]
