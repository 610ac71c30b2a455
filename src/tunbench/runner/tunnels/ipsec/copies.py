"""Copies of packets on an interface made for them, where IPsec without an interface of its own lets none be seen.

The packets that a policy takes have a transformation in their route until they have been encapsulated; those that were
decapsulated have a security path. The kernel shows the latter once more on the interface that ESP came in by.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

CARRIED = "exists"
"""Asks for the packets that IPsec carries, in the clear."""

BENEATH = "missing"
"""Asks for the packets that pass without IPsec, among them ESP."""

NAMES = {CARRIED: "carried", BENEATH: "beneath"}
"""Both kinds of copies may be looked at together."""

RULES = """\
table {table} {name} {{
    chain out {{
        type filter hook output priority filter
        oifname {below} rt ipsec {ipsec} dup to {nowhere} device {name}
    }}
    chain in {{
        type filter hook prerouting priority filter
        iifname {below} meta ipsec {ipsec} dup to {nowhere} device {name}
    }}
}}
"""

NOWHERE = {
    CARRIED: {"ip": "192.0.2.1", "ip6": "2001:db8::1"},
    BENEATH: {"ip": "192.0.2.2", "ip6": "2001:db8::2"},
}
"""Addresses for documentation, which nobody has (RFC 5737 and RFC 3849), by what is asked for."""


@contextmanager
def copied(tunnel: Tunnel, node: Node, ipsec: str) -> Iterator[str]:
    """The interface of copies, for a time."""
    below = tunnel.context.below[node.name].interface
    name = f"{NAMES[ipsec]}-{tunnel.context.position}"
    rules = tunnel.file(node.name, f"{NAMES[ipsec]}.nft")
    text = "".join(
        RULES.format(table=table, name=name, below=below, ipsec=ipsec, nowhere=nowhere)
        for table, nowhere in NOWHERE[ipsec].items()
    )
    node.write(rules, text)
    node.run("ip", "link", "add", name, "arp", "off", "mtu", "65535", "type", "dummy")
    try:
        node.run("ip", "link", "set", name, "up")
        for nowhere in NOWHERE[ipsec].values():
            node.run("ip", "route", "add", nowhere, "dev", name)
        node.run("nft", "-f", str(rules))
        yield name
    finally:
        for table in NOWHERE[ipsec]:
            node.try_run("nft", "delete", "table", table, name)
        node.try_run("ip", "link", "del", name)
