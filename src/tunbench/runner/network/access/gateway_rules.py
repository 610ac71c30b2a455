"""Writes what a gateway does to packets as rules of nftables: it translates, filters, clamps and marks.

The kernel's mapping is endpoint-independent as it is: it keeps the source port where that is free, and only one node
stands behind a gateway. What a kind of NAT lets in beyond that is a map of the ports that were used.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_network

from tunbench.runner.declare import access
from tunbench.runner.declare.access import KEPT, LISTS, NONE, PASSED, PATH
from tunbench.runner.network.access import portmap
from tunbench.runner.network.access.gateway import OUTSIDE, Gateway

TABLE = "gateway"

LETS_IN = {
    "full-cone": ("udp dport", "udp sport"),
    "address-restricted": ("ip saddr . udp dport", "ip daddr . udp sport"),
}
"""By kind of NAT, what of a packet from outside is looked up among its mappings, and what of others makes one."""

TOO_BIG = ("icmp type destination-unreachable icmp code 4", "icmpv6 type packet-too-big")
""""Fragmentation needed" (RFC 792) and "packet too big" (RFC 4443)."""

FRAGMENT = ("ip frag-off & 0x3fff != 0", "exthdr frag exists")

NO_PORTS = "no-ports"
"""The counter of what a translator drops because it has neither ports nor numbers (RFC 6146, section 1)."""

ICMP = "meta l4proto { icmp, icmpv6 }"


def rules(gateway: Gateway) -> str:
    """All rules of a gateway; an empty text where it passes everything as it is."""
    return "".join(_table(*one) for one in (_filter(gateway), _fragments(gateway), _ports(gateway), _nat(gateway)))


def tracks(gateway: Gateway) -> bool:
    """Whether it keeps in mind what has passed."""
    return gateway.translates or gateway.firewall != "open"


def silent(reached: list[str]) -> str:
    """The rules of the middle where packets for these addresses and networks are too large for their access.

    Nobody hears of it. They look into the packet that an error is about: its destination stands 24 bytes behind the
    error's beginning, or 32 over IPv6.
    """
    found = []
    for network in map(ip_network, reached):
        kind, offset = (TOO_BIG[0], 192) if network.version == 4 else (TOO_BIG[1], 256)
        prefix = int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
        found.append(f"{kind} @th,{offset},{network.prefixlen} {prefix:#x} {_drop('icmp-filtered')}")
    body = [_counter("icmp-filtered"), *_chain("output", "filter hook output priority filter", found)]
    return _table(f"table inet {TABLE}", body)


def _table(head: str, body: list[str]) -> str:
    return "\n".join([f"{head} {{", *(f"    {line}" for line in body), "}", ""]) if body else ""


def _filter(gateway: Gateway) -> tuple[str, list[str]]:
    too_big = [f"{match} {_drop('icmp-filtered')}" for match in TOO_BIG if gateway.access.icmp != PASSED]
    chains = [
        *([f"chain {portmap.LET_IN} {{ }}"] if gateway.opens != NONE else []),
        # Before the kernel puts fragments together, which it does at -400 (Linux, netfilter_ipv4.h).
        *_chain("arriving", "filter hook prerouting priority -450", _no_fragment(gateway, f'iifname "{OUTSIDE}" ')),
        *_chain("untracked", "filter hook prerouting priority -450", _untracked(gateway)),
        *_chain(
            "forward",
            "filter hook forward priority filter",
            [*too_big, *_changes(gateway), *_translated(gateway), *_firewall(gateway)],
        ),
        *_chain("output", "filter hook output priority filter", too_big),
        *_chain(
            "input", "filter hook input priority filter", [*_unasked_by_itself(gateway), *_asked_otherwise(gateway)]
        ),
    ]
    return f"table inet {TABLE}", _with_counters(chains)


def _changes(gateway: Gateway) -> Iterator[str]:
    """What it changes of a packet that passes."""
    if gateway.own.mss != KEPT:
        size = "rt mtu" if gateway.own.mss == PATH else gateway.own.mss
        yield f"tcp flags & (syn | rst) == syn tcp option maxseg size set {size}"
    if gateway.own.dscp != KEPT:
        yield from ("ip dscp set 0", "ip6 dscp set 0")


def _firewall(gateway: Gateway) -> Iterator[str]:
    """What it lets pass, from the first rule on; each that drops has a counter of its own."""
    if not tracks(gateway):
        return
    # A packet of no connection would leave without being translated.
    yield f"ct state invalid {_drop('invalid')}"
    match gateway.firewall:
        case "no-udp":
            yield f"meta l4proto udp {_drop('no-udp')}"
        case access.LISTS if gateway.own.deny:
            yield from (f'iifname "{gateway.inner}" {traffic(one)} {_drop(LISTS)}' for one in gateway.own.deny)
    yield "ct state established,related accept"
    match gateway.firewall:
        case "tcp-443":
            yield from _nothing_but(gateway, [traffic("tcp:443")], "tcp-443")
        case access.ONLY_RELAY:
            yield from _nothing_but(gateway, map(towards, gateway.roles), access.ONLY_RELAY)
        case access.LISTS if gateway.own.allow:
            yield from _nothing_but(gateway, map(traffic, gateway.own.allow), LISTS)
    if gateway.opens != NONE:
        yield f'iifname "{OUTSIDE}" jump {portmap.LET_IN}'
    if gateway.firewall != "open":
        # What somebody else sends to a mapping would be answered, and a direct path found.
        let_in = gateway.nat in LETS_IN and gateway.firewall != access.ONLY_RELAY
        mapped = "ct status & dnat == 0 " if let_in else ""
        yield f'iifname "{OUTSIDE}" ct state new {mapped}{_drop("unasked")}'


def _nothing_but(gateway: Gateway, allowed: Iterable[str], counter: str) -> Iterator[str]:
    yield from (f'iifname "{gateway.inner}" {one} accept' for one in allowed)
    yield f'iifname "{gateway.inner}" {_drop(counter)}'


def _translated(gateway: Gateway) -> Iterator[str]:
    """What becomes of packets of IPv6 that it translates: they are filtered as those of IPv4 that are made of them."""
    if not gateway.from_ipv6:
        return
    if gateway.nat != "one-to-one":
        yield f"meta nfproto ipv6 meta l4proto != {{ tcp, udp, icmpv6 }} {_drop(NO_PORTS)}"
    yield "meta nfproto ipv6 accept"


def _unasked_by_itself(gateway: Gateway) -> list[str]:
    """What comes unasked must leave no entry in the kernel's table: it would take the port from what leaves later."""
    return [f'iifname "{OUTSIDE}" ct state new {_drop("unasked")}'] if gateway.translates else []


def _untracked(gateway: Gateway) -> list[str]:
    """What is translated is kept in mind once, as a packet of IPv4."""
    return ["meta nfproto ipv6 notrack"] if gateway.from_ipv6 else []


def _asked_otherwise(gateway: Gateway) -> list[str]:
    """Who asks for an open port by the protocol that the access has not named gets no answer."""
    version = portmap.VERSIONS.get(gateway.opens)
    return [] if version is None else [f"udp dport {portmap.REQUESTS} @th,64,8 != {version} {_drop('portmap')}"]


def traffic(one: str) -> str:
    """The packets that an entry of a firewall's lists names, such as `udp:51820`."""
    protocol, _, port = one.partition(":")
    if port:
        return f"{protocol} dport {port}"
    return ICMP if protocol == "icmp" else f"meta l4proto {protocol}"


def towards(address: str) -> str:
    """The packets for an address."""
    return f"{'ip6' if ':' in address else 'ip'} daddr {address}"


def _fragments(gateway: Gateway) -> tuple[str, list[str]]:
    """Fragments that leave are dropped where they do: further in, the kernel has not cut them yet."""
    chain = _chain("leaving", f'filter hook egress device "{OUTSIDE}" priority filter', _no_fragment(gateway))
    return f"table netdev {TABLE}", _with_counters(list(chain))


def _no_fragment(gateway: Gateway, of: str = "") -> list[str]:
    return [f"{of}{match} {_drop('fragments')}" for match in FRAGMENT if gateway.own.fragments != PASSED]


def _ports(gateway: Gateway) -> tuple[str, list[str]]:
    """The chains for open ports, which come before those of the NAT: what is translated once stays as it is."""
    led = {
        portmap.LED_IN: ("in", "nat hook prerouting priority dstnat - 1", f'iifname "{OUTSIDE}"'),
        portmap.LED_OUT: ("out", "nat hook postrouting priority srcnat - 1", f'oifname "{OUTSIDE}"'),
    }
    chains = [
        *(f"chain {name} {{ }}" for name in led),
        *(line for name, (way, hook, match) in led.items() for line in _chain(way, hook, [f"{match} jump {name}"])),
    ]
    return f"table inet {portmap.TABLE}", chains if gateway.opens != NONE else []


def _nat(gateway: Gateway) -> tuple[str, list[str]]:
    head = f"table ip {TABLE}-nat"
    if not gateway.translates:
        return head, []
    if gateway.nat == "one-to-one":
        return head, _one_to_one(gateway)
    out = [f'oifname "{OUTSIDE}" masquerade']
    if gateway.nat == "symmetric":
        out.insert(0, f'oifname "{OUTSIDE}" meta l4proto udp masquerade random,fully-random')
    if gateway.nat not in LETS_IN:
        return head, list(_chain("out", "nat hook postrouting priority srcnat", out))
    from_outside, from_inside = LETS_IN[gateway.nat]
    lives = f"timeout {gateway.access.udp_mapping:.0f}s"
    learnt = f'oifname "{OUTSIDE}" meta l4proto udp update @mapped {{ {from_inside} {lives} : ip saddr . udp sport }}'
    entered = [f'iifname "{OUTSIDE}" meta l4proto udp dnat ip to {from_outside} map @mapped']
    if gateway.hairpins:
        here = gateway.outside.address
        entered.append(
            f'iifname "{gateway.inner}" ip daddr {here} meta l4proto udp dnat ip to {from_outside} map @mapped'
        )
        out.append(f'iifname "{gateway.inner}" oifname "{gateway.inner}" ct status & dnat != 0 snat to {here}')
    return head, [
        f"map mapped {{ typeof {from_outside} : ip saddr . udp sport; flags dynamic,timeout; size 65536; }}",
        *_chain("learnt", "filter hook forward priority filter + 1", [learnt]),
        *_chain("in", "nat hook prerouting priority dstnat", entered),
        *_chain("out", "nat hook postrouting priority srcnat", out),
    ]


def _one_to_one(gateway: Gateway) -> list[str]:
    public, private = gateway.outside.address, gateway.behind
    return [
        *_chain(
            "in", "nat hook prerouting priority dstnat", [f'iifname "{OUTSIDE}" ip daddr {public} dnat to {private}']
        ),
        *_chain(
            "out", "nat hook postrouting priority srcnat", [f'oifname "{OUTSIDE}" ip saddr {private} snat to {public}']
        ),
    ]


def _chain(name: str, hook: str, body: list[str]) -> Iterator[str]:
    """A chain that accepts what none of its rules drops; nothing where it has none."""
    if body:
        yield from (f"chain {name} {{", f"    type {hook}; policy accept;", *(f"    {line}" for line in body), "}")


def _drop(counter: str) -> str:
    return f"counter name {counter} drop"


def _counter(name: str) -> str:
    return f"counter {name} {{ }}"


def _with_counters(chains: list[str]) -> list[str]:
    """The chains behind the counters that they name."""
    names = [line.split("counter name ")[1].split()[0] for line in chains if "counter name " in line]
    return [*map(_counter, dict.fromkeys(names)), *chains]
