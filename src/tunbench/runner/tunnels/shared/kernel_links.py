"""What tunnels of the kernel share that join two addresses."""

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

TTL = Option("count", "64", "time to live (hop limit) of the outer header", low=1, high=255)

CHECKSUM = Option(
    "choice",
    "default",
    "UDP checksum; default: none over IPv4, one over IPv6 (RFC 8200, section 8.1)",
    choices=("default", "on", "off"),
)


def udp_options(port: str) -> dict[str, Option]:
    """The options of what the kernel carries in UDP; `port` is the usual one."""
    return {
        "port": Option("count", port, "UDP destination port", low=1, high=65535),
        "ttl": TTL,
        "checksum": CHECKSUM,
    }


VNI = Option("count", "42", "virtual network identifier", low=0, high=(1 << 24) - 1)

IP_IN_IP = {(4, 4): "ipip", (6, 4): "sit", (4, 6): "ip6tnl", (6, 6): "ip6tnl"}
"""The kernel's kind of interface, by the address families inside and outside."""

MODES = {(4, 6): ("mode", "ipip6"), (6, 6): ("mode", "ip6ip6")}
"""What tells apart what one kind carries."""

PROTOCOLS = {4: 4, 6: 41}
"""The protocol number of IP in IP, by the address family inside: RFC 2003, section 3.1, and RFC 4213, section 3.5."""

WITHOUT_LIMIT = ("encaplimit", "none")
"""By default Linux puts a Tunnel Encapsulation Limit (RFC 2473, section 4.1.1) into each packet over IPv6: 8 bytes of a
destination options header, which counts how deep tunnels are nested. A stack knows how deep it is, and without it a
tunnel adds the same over IPv6 as over IPv4, besides the larger IP header."""


def point_to_point(tunnel: Tunnel, node: Node, kind: str, *words: str) -> None:
    """Makes an interface of that kind from the node's address to that of its one peer, and settles it."""
    [peer] = tunnel.context.peers(node)
    here, there = tunnel.context.below[node.name].local, tunnel.context.below[peer].address
    interface = tunnel.context.above[node.name].interface
    node.run("ip", "link", "add", interface, "type", kind, "local", here, "remote", there, *words)
    tunnel.settle(node)


def encapsulated(tunnel: Tunnel, node: Node, kind: str, *words: str) -> None:
    """The same for kinds that could say in each packet over IPv6 how deep tunnels are nested."""
    point_to_point(tunnel, node, kind, *words, *(WITHOUT_LIMIT if tunnel.context.outer == 6 else ()))


def ip_in_ip(tunnel: Tunnel, node: Node, *words: str) -> None:
    """Makes an interface that carries IP packets of the overlay's family in IP packets, and settles it."""
    families = (tunnel.context.above[node.name].family, tunnel.context.outer)
    ttl = ("ttl", str(tunnel.options["ttl"]))
    encapsulated(tunnel, node, IP_IN_IP[families], *MODES.get(families, ()), *ttl, *words)


def over_udp(tunnel: Tunnel, node: Node, kind: str, *received: str) -> None:
    """Lets the kernel take what arrives at a UDP port out of UDP, and makes an interface that sends IP in IP there."""
    outer, port = tunnel.context.outer, str(tunnel.options["port"])
    load(node, "fou", *(["fou6"] if outer == 6 else []))
    node.run("ip", f"-{outer}", "fou", "add", "port", port, *received)
    checksum = {4: "encap-csum", 6: "encap-udp6-csum"}[outer]
    checksum = checksum if checksummed(tunnel.options, outer) else f"no{checksum}"
    ip_in_ip(tunnel, node, "encap", kind, "encap-sport", "auto", "encap-dport", port, checksum)


def close_port(tunnel: Tunnel, node: Node) -> None:
    """Takes back the port that `over_udp` opened."""
    node.try_run("ip", f"-{tunnel.context.outer}", "fou", "del", "port", str(tunnel.options["port"]))


def udp_checksum(options: Options, outer: int) -> tuple[str, ...]:
    """The words by which VXLAN and GENEVE are told whether to send a UDP checksum and to ask for one."""
    wanted = checksummed(options, outer)
    if outer == 4:
        return ("udpcsum" if wanted else "noudpcsum",)
    return ("noudp6zerocsumtx", "noudp6zerocsumrx") if wanted else ("udp6zerocsumtx", "udp6zerocsumrx")


def checksummed(options: Options, outer: int) -> bool:
    """Whether the option `checksum` asks for a UDP checksum over that address family."""
    return {"default": outer == 6, "on": True, "off": False}[str(options["checksum"])]


def load(node: Node, *modules: str) -> None:
    """Loads modules that the kernel does not load as they are asked for. Raises Unsupported."""
    if node.try_run("modprobe", "--all", *modules).status != 0:
        raise Unsupported(f"this kernel does not have the modules {', '.join(modules)}, or they cannot be loaded")
