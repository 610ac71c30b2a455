"""Has gateways open ports to who asks by NAT-PMP, PCP or UPnP: Debian's miniupnpd, and the chains into which it writes.

It serves both NAT-PMP and PCP, which share a port and tell each other's requests by their first byte (RFC 6886, section
3.5; RFC 6887, section 7.1): a rule drops those that an access has not named. What it opens it writes into chains of the
gateway's own, and into a file.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare.failures import StackFailed, Unsupported
from tunbench.runner.network.access.gateway import INSIDE, OUTSIDE, Gateway
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.node import Node

DAEMON = "miniupnpd"

TABLE = "gateway-ports"
"""The table of what is translated for open ports."""

LET_IN, LED_IN, LED_OUT = "let-in", "led-in", "led-out"
"""The chains that the daemon fills."""

VERSIONS = {"nat-pmp": 0, "pcp": 2}
"""The first byte of a request: RFC 6886, section 3.1; RFC 6887, section 7.1."""

REQUESTS = 5351
"""The port of both: RFC 6886, section 3.1; RFC 6887, section 19.1."""

DESCRIPTIONS = 5000
"""The port on which the daemon describes itself by HTTP, as OpenWrt has it."""

CONFIGURATION = f"""\
ext_ifname={OUTSIDE}
listening_ip={INSIDE}
http_port={DESCRIPTIONS}
enable_natpmp={{natpmp}}
enable_upnp={{upnp}}
ipv6_disable=yes
secure_mode=yes
system_uptime=no
notify_interval=900
uuid=00000000-0000-4000-8000-000000000001
lease_file={{leases}}
upnp_table_name={{table}}
upnp_nat_table_name={TABLE}
upnp_forward_chain={LET_IN}
upnp_nat_chain={LED_IN}
upnp_nat_postrouting_chain={LED_OUT}
"""
"""An endpoint gets ports for itself alone, as RFC 6886 has it, and hears of the router once in a quarter of an hour."""

START_TIMEOUT = 10.0
"""Seconds in which the daemon must listen."""


class Opened(NamedTuple):
    """A port that a gateway has opened: of udp or tcp, from outside, and to which address and port it leads."""

    protocol: str
    port: int
    to: str


def serve(gateway: Gateway, node: Node, table: str) -> None:
    """Starts the daemon of a gateway that opens ports; it lets in by a chain of that table.

    Raises StackFailed, and Unsupported where it is not installed.
    """
    if not node.has(DAEMON):
        raise Unsupported(
            f"the program {DAEMON} is not installed, by which gateways open ports: apt-get install miniupnpd-nftables"
        )
    upnp = gateway.opens == "upnp"
    words = {"natpmp": "no" if upnp else "yes", "upnp": "yes" if upnp else "no"}
    configuration = node.home / f"{DAEMON}.conf"
    node.write(configuration, CONFIGURATION.format(**words, leases=node.home / LEASES, table=table))
    node.touch(node.home / LEASES)
    node.start(DAEMON, "-d", "-f", str(configuration), "-P", str(node.home / f"{DAEMON}.pid"), log=DAEMON)
    listens = f"ss -tlnH sport = :{DESCRIPTIONS}" if upnp else f"ss -ulnH sport = :{REQUESTS}"
    if not node.until_prints(*listens.split(), timeout=START_TIMEOUT):
        raise StackFailed(f"{gateway.node}: {DAEMON} did not listen within {START_TIMEOUT:g} s")


LEASES = "open-ports"
"""The file in which the daemon keeps what it has opened: a line each, UDP:41641:10.2.1.2:41641:…"""


def opened(node: Node) -> list[Opened]:
    """The ports that a gateway holds open now."""
    found = []
    for line in node.read_if_there(node.home / LEASES).splitlines():
        protocol, port, address, inner, *_ = line.split(":")
        found.append(Opened(protocol.lower(), int(port), f"{address}:{inner}"))
    return sorted(found)


def opened_before(underlay: Underlay, nodes: Mapping[str, Node]) -> dict[str, list[Opened]]:
    """The ports that the gateway of each endpoint holds open, by endpoint, where it opens any to who asks."""
    return {name: opened(nodes[underlay.gateways[name][0].node]) for name in sorted(underlay.asking)}
