"""Reads the firewall of an access: one of those that have a name, or a table that lists what may go out."""

import re
from collections.abc import Sequence

from tunbench.plan.axes import named_table
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.runner.declare.access import DERIVED, FIREWALLS, LISTS, PROTOCOLS
from tunbench.runner.declare.options import nearest

EXAMPLE = 'firewall = { allow = ["udp:51820", "tcp:443"] }'

TRAFFIC = re.compile(r"(?P<protocol>[a-z]+|[1-9][0-9]{0,2})(:(?P<port>0|[1-9][0-9]{0,4}))?")
"""nftables reads a number with a zero before it as octal."""

MAX_PORT, MAX_PROTOCOL, MAX_TRAFFIC = 65_535, 255, 100

WITH_PORT = ("tcp", "udp")


def read_firewall(value: object) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Its kind, and what it lets out and does not let out where it has lists. Raises MistakeAt."""
    if value is None:
        return DERIVED, (), ()
    if isinstance(value, str):
        named = [kind for kind in FIREWALLS if kind != LISTS]
        if value not in named:
            raise MistakeAt(f"unknown firewall {quoted(value)}{nearest(value, named)}; or {EXAMPLE}", "firewall")
        return value, (), ()
    if not isinstance(value, dict):
        raise MistakeAt(
            f'{quoted(value)} is no firewall: write for example firewall = "no-udp", or {EXAMPLE}', "firewall"
        )
    named_table.check_keys(value, ("allow", "deny"), "firewall")
    if len(value) != 1:
        raise MistakeAt(f"a firewall has either allow or deny: write for example {EXAMPLE}", "firewall")
    allow, deny = (_traffic(value[key], key) if key in value else () for key in ("allow", "deny"))
    return LISTS, allow, deny


def _traffic(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not 0 < len(value) <= MAX_TRAFFIC:
        raise MistakeAt(
            f"{quoted(value)} is no list of 1 to {MAX_TRAFFIC}: write for example {EXAMPLE}", "firewall", key
        )
    for number, one in enumerate(value):
        found = TRAFFIC.fullmatch(one) if isinstance(one, str) else None
        if not found or not _is_protocol(found["protocol"]):
            known = f"a protocol is one of {', '.join(PROTOCOLS)}, or a number up to {MAX_PROTOCOL}"
            raise MistakeAt(
                f'{quoted(one)} is no traffic: write for example "udp:51820"; {known}', "firewall", key, number
            )
        if found["port"] and (found["protocol"] not in WITH_PORT or not 0 < int(found["port"]) <= MAX_PORT):
            sentence = f"{quoted(one)} has a port that there is not: tcp and udp have 1 to {MAX_PORT}"
            raise MistakeAt(sentence, "firewall", key, number)
        if one in value[:number]:
            raise MistakeAt(f"{quoted(one)} is listed twice: take one of them away", "firewall", key, number)
    return tuple(value)


def _is_protocol(text: str) -> bool:
    return text in PROTOCOLS or (text.isdecimal() and int(text) <= MAX_PROTOCOL)
