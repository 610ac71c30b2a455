"""Reads the accesses of a plan: one for all endpoints, or a table that gives each its own; by name or inline."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from tunbench.plan.axes import link, named_table
from tunbench.plan.axes.firewall import read_firewall
from tunbench.plan.axes.link import MAX_DELAY_SECONDS
from tunbench.plan.axes.named_table import TableForm, duration_of, one_of
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner.declare import quantity
from tunbench.runner.declare.access import (
    DERIVED,
    DSCP,
    DUAL,
    FAMILIES,
    FRAGMENTS,
    ICMP,
    KEPT,
    NAT64,
    NATS,
    NONE,
    ONLY_RELAY,
    PASSED,
    PATH,
    PORTMAPS,
    TCP_MAPPING_SECONDS,
    UDP_MAPPING_SECONDS,
    USUAL_NAT64,
    Access,
    Accesses,
)
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.netem_terms import WIDEST_JITTER
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.topology import CONTROL, RELAY

OF_NAT = ("nat", "carrier", "mapping", "portmap")

FORM = TableForm(
    "access",
    '{ name = "home", link = { rate = "50M" }, nat = "port-restricted" }',
    keys=("name", "link", "delay", "jitter", *OF_NAT, "firewall", "icmp", "fragments", "mss", "dscp", "family"),
    fixed=[("name",), ("link", "up"), ("link", "down"), ("firewall", "allow"), ("firewall", "deny")],
)

DEFAULT = "default"
"""The key of a table of accesses for the endpoints that it does not name."""

NODE = re.compile(r"[a-z]{1,2}")
"""The name of an endpoint, of which a topology has 250 at most."""

EXAMPLE = '{ default = "home-fibre", a = "cloud" }'

MIN_MAPPING_SECONDS, MAX_MAPPING_SECONDS = 1.0, 432_000.0
"""The kernel counts whole seconds, and keeps TCP's for five days (nf_conntrack_tcp_timeout_established)."""

MIN_MSS_BYTES, MAX_MSS_BYTES = 88, 65_495
"""What Linux takes at least (TCP_MIN_MSS), and what is left of the largest packet of IPv4."""

BYTES = re.compile(r"[0-9]{1,9}")

TO_ENDPOINT = {
    "segmentation": "what leaves an endpoint is cut there, or passes uncut",
    "gro": "what comes to an endpoint is put together there, or is not",
}
"""Keys that the link behind a gateway has not, each with the reason: a gateway passes on what it is given."""


@cache
def shipped() -> dict[str, Access | None]:
    """The accesses that come with Tunbench, by name; `none` is that there is no gateway."""
    return {NONE: None, **named_table.shipped("accesses.toml", _from_table)}


def read_accesses(value: object) -> Iterator[Accesses]:
    """The values that an entry of a plan stands for: one, or those of its sweeps, named by the swept values.

    Raises ValueError; MistakeAt where it is in one key.
    """
    if not isinstance(value, dict) or any(key in FORM.keys for key in value):
        yield from (Accesses(name, one) for name, one in _read(value))
        return
    if not value:
        raise ValueError(f"the table is empty: write for example {EXAMPLE}")
    found = {key: list(_of_node(key, one)) for key, one in value.items()}
    _check_named_once(found)
    nodes = [key for key in found if key != DEFAULT]
    for default, *own in product(found.get(DEFAULT, [(NONE, None)]), *(found[node] for node in nodes)):
        named = [f"{node}={name}" for node, (name, _) in zip(nodes, own, strict=True)]
        accesses = {node: one for node, (_, one) in zip(nodes, own, strict=True)}
        there = default[1] or any(accesses.values())
        yield Accesses(",".join([default[0], *named]) if there else NONE, default[1], accesses if there else {})


def _check_named_once(found: Mapping[str, Sequence[tuple[str, Access | None]]]) -> None:
    """Raises MistakeAt where nodes have accesses of one name that are not the same."""
    known: dict[str, Access | None] = {}
    for key, accesses in found.items():
        for name, one in accesses:
            if known.setdefault(name, one) != one:
                raise MistakeAt(f'"{name}" is the name of another access of this table: rename one of them', key)


def _of_node(key: str, value: object) -> Iterator[tuple[str, Access | None]]:
    """The accesses that one key of a table of accesses stands for."""
    if key not in (DEFAULT, CONTROL, RELAY) and not NODE.fullmatch(key):
        known = nearest(key, [DEFAULT, CONTROL, RELAY, *FORM.keys])
        raise MistakeAt(f'"{key}" is neither a node nor a key of an access: write for example {EXAMPLE}{known}', key)
    if value == []:
        raise MistakeAt(f"the list is empty: name at least one, such as {EXAMPLE}", key)
    try:
        for one in value if isinstance(value, list) else [value]:
            yield from _read(one)
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), key, *mistake.at) from None
    except ValueError as error:
        raise MistakeAt(str(error), key) from None


def _read(value: object) -> Iterator[tuple[str, Access | None]]:
    """The accesses that one name or table stands for, each with its name."""
    if value == NONE:
        yield NONE, None
        return
    there = {name: one for name, one in shipped().items() if one}
    if isinstance(value, dict) and value.get("name") == NONE:
        raise MistakeAt(f'"{NONE}" is the name of a shipped access: take another', "name")
    named_table.check_new(FORM, value, there)
    yield from ((one.name, one) for one in named_table.read_entries(FORM, value, there, _from_table))


def _from_table(table: Mapping[str, object]) -> Access:
    name = named_table.name_of(FORM, table)
    delay, jitter = duration_of(table, "delay", MAX_DELAY_SECONDS), duration_of(table, "jitter", WIDEST_JITTER)
    if jitter > delay:
        raise MistakeAt(
            f"a jitter of {jitter:g} s is more than the delay of {delay:g} s: no packet comes early", "jitter"
        )
    udp, tcp = _mapping(table["mapping"]) if "mapping" in table else (UDP_MAPPING_SECONDS, TCP_MAPPING_SECONDS)
    access = Access(
        name,
        _link(name, table.get("link", "wire")),
        delay,
        jitter,
        one_of(table, "nat", (NONE, *NATS), USUAL_NAT64 if table.get("family") == NAT64 else NONE),
        one_of(table, "carrier", (NONE, *NATS), NONE),
        udp,
        tcp,
        *read_firewall(table.get("firewall")),
        one_of(table, "icmp", ICMP, PASSED),
        one_of(table, "fragments", FRAGMENTS, PASSED),
        _mss(table.get("mss", KEPT)),
        one_of(table, "dscp", DSCP, KEPT),
        one_of(table, "portmap", (NONE, *PORTMAPS), NONE),
        one_of(table, "family", FAMILIES, DUAL),
    )
    _check_together(table, access)
    return access


def _check_together(table: Mapping[str, object], access: Access) -> None:
    if access.family == NAT64 and access.nat == NONE:
        raise MistakeAt(
            f"{NAT64} is a NAT at the far end of the link: take nat away, which is {USUAL_NAT64} then, or name a kind",
            "nat",
        )
    if access.family == NAT64 and access.carrier != NONE:
        raise MistakeAt(f"{NAT64} is the carrier's own, and nat is its kind: take carrier away", "carrier")
    if access.carrier != NONE and access.nat == NONE:
        raise MistakeAt(
            "a carrier's NAT is the second one: write nat as well, or nat in the place of carrier", "carrier"
        )
    if access.family == "v6" and access.nat != NONE:
        raise MistakeAt(f'over IPv6 nothing is translated: take nat away, or write family = "{DUAL}"', "nat")
    if access.portmap != NONE and (reason := _opens_nothing(access)):
        raise MistakeAt(reason, "portmap")
    if "mapping" in table and access.nat == NONE and access.firewall in ("open", DERIVED):
        raise MistakeAt(
            "mapping does nothing without nat or a firewall that keeps what passes: take it away, or "
            'write for example nat = "port-restricted" or firewall = "stateful"',
            "mapping",
        )


def _opens_nothing(access: Access) -> str:
    """Why no port that the gateway could open would be of use, with the mend; empty where one is."""
    if access.nat == NONE:
        return 'portmap opens ports of a NAT, and there is none: write for example nat = "port-restricted"'
    if access.family == NAT64:
        return f"nobody asks the carrier of {NAT64} for a port: take portmap away, or write another family"
    if access.nat == "one-to-one":
        return (
            "one-to-one gives the endpoint all ports of an address, and none is left to open: write another nat, or "
            'firewall = "open" in the place of portmap'
        )
    if access.carrier != NONE:
        return "behind the NAT of a carrier nobody reaches a port that the gateway opens: take carrier or portmap away"
    if access.firewall == ONLY_RELAY:
        return f"{ONLY_RELAY} leaves no direct path, and an open port would be one: take firewall or portmap away"
    if access.firewall == "tcp-443" or access.allow:
        what = "tcp-443" if access.firewall == "tcp-443" else "a firewall with the list allow"
        return f"{what} lets out what it names alone, and an open port would let in more: take firewall or portmap away"
    if access.firewall == "no-udp" or any(one.lstrip("0") in ("udp", "17") for one in access.deny):
        return "the firewall drops UDP, for which tunnels ask for open ports: take firewall or portmap away"
    return ""


def _link(name: str, value: object) -> Link:
    """The link of a shipped name, or of a table, which is known by the name of its access."""
    if isinstance(value, str):
        if value not in link.shipped():
            raise MistakeAt(f'unknown link "{value}"{nearest(value, link.shipped())}', "link")
        found = link.shipped()[value]
        for key, has in (("segmentation", not found.cuts), ("gro", found.gro > 0)):
            if has:
                raise MistakeAt(f'{_belongs(key)}; write another one than "{value}"', "link")
        return found
    if not isinstance(value, dict):
        raise MistakeAt(f'{quoted(value)} is not a link: write a name, or a table such as {{ rate = "50M" }}', "link")
    for key in TO_ENDPOINT:
        if key in value:
            raise MistakeAt(_belongs(key), "link", key)
    try:
        named_table.check_keys(value, [key for key in link.FORM.keys if key not in ("name", *TO_ENDPOINT)])
        return link.from_table({**value, "name": name})
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), "link", *mistake.at) from None


def _belongs(key: str) -> str:
    return f"{key} belongs to the key link of the plan: {TO_ENDPOINT[key]}"


def _mapping(value: object) -> tuple[float, float]:
    """For how long a mapping of UDP lives, and one of TCP: each its own, or both the same."""
    if not isinstance(value, dict):
        both = _lifetime(value)
        return both, both
    if not value:
        raise MistakeAt('the table is empty: write for example mapping = { udp = "30s" }', "mapping")
    named_table.check_keys(value, ("udp", "tcp"), "mapping")
    udp = _lifetime(value["udp"], "udp") if "udp" in value else UDP_MAPPING_SECONDS
    return udp, _lifetime(value["tcp"], "tcp") if "tcp" in value else TCP_MAPPING_SECONDS


def _lifetime(value: object, *at: str) -> float:
    example = 'write for example mapping = "30s" or mapping = { udp = "30s" }'
    try:
        found = quantity.duration(str(value), bare="")
    except ValueError as error:
        raise MistakeAt(f"{error}; {example}", "mapping", *at) from None
    if found == 0:
        raise MistakeAt(f"a mapping of 0 s is gone before any answer: {example}", "mapping", *at)
    if not MIN_MAPPING_SECONDS <= found <= MAX_MAPPING_SECONDS or found != int(found):
        most = f"{MAX_MAPPING_SECONDS:.0f}"
        raise MistakeAt(f'"{value}" is out of range: a mapping lives whole seconds, 1 to {most}', "mapping", *at)
    return found


def _mss(value: object) -> str | int:
    if value in (KEPT, PATH):
        return str(value)
    text = str(value)
    if isinstance(value, bool | float) or not BYTES.fullmatch(text):
        raise MistakeAt(
            f'{quoted(value)} is no MSS: write "{PATH}" to clamp it to the path, or bytes such as 1360', "mss"
        )
    if not MIN_MSS_BYTES <= int(text) <= MAX_MSS_BYTES:
        raise MistakeAt(f"{text} is out of range: an MSS is {MIN_MSS_BYTES} to {MAX_MSS_BYTES} bytes", "mss")
    return int(text)


READER = AxisReader(f'access = ["none", {EXAMPLE}]', alone(read_accesses))
