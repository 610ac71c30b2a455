"""Which path a tunnel is expected to find between two kinds of access, and where that is written."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare import spelling
from tunbench.runner.declare.path import DIRECT, FAILED, demanded
from tunbench.runner.declare.tunnel import About
from tunbench.runner.stack import declared

REACHED, PUNCHED, RELAYED, WITHOUT_UDP = "reached", "punched", "relayed", "without UDP"
REACHED_BY_TCP = "reached by TCP"
"""Between two accesses, `a` is reached by whoever asks; or both must send to each other first; or a relay alone passes
their UDP; or one of them has none, and then `a` is reached by who asks by TCP, or by nobody."""

RFC_4787 = "RFC 4787, sections 4.1 and 5: endpoint-independent mapping and filtering"
RFC_5128 = "RFC 5128, section 3.3: UDP hole punching between NATs whose mapping is endpoint-independent"
RFC_6146 = f"RFC 6146, section 3.5.1: a NAT64's mapping is endpoint-independent; {RFC_5128}"
FORD = "Ford, Srisuresh, Kegel: Peer-to-Peer Communication Across NATs, 2005, section 5.1: symmetric NATs"
NO_UDP = "the access itself: its firewall drops UDP"


class Pairing(NamedTuple):
    """How UDP gets from one access to the other, and where that is written."""

    kind: str
    source: str


PAIRINGS: Mapping[str, Pairing] = {
    "cloud": Pairing(REACHED, RFC_4787),
    "home-fibre,a=cloud": Pairing(REACHED, RFC_4787),
    "cgnat,a=cloud": Pairing(REACHED, RFC_4787),
    "lte,a=cloud": Pairing(REACHED, RFC_4787),
    "office,a=cloud": Pairing(REACHED_BY_TCP, NO_UDP),
    "home-fibre": Pairing(PUNCHED, RFC_5128),
    "cgnat,a=home-fibre": Pairing(PUNCHED, RFC_5128),
    "lte,a=home-fibre": Pairing(RELAYED, FORD),
    "office,a=home-fibre": Pairing(WITHOUT_UDP, NO_UDP),
    "cgnat": Pairing(PUNCHED, RFC_5128),
    "lte,a=cgnat": Pairing(RELAYED, FORD),
    "office,a=cgnat": Pairing(WITHOUT_UDP, NO_UDP),
    "lte": Pairing(RELAYED, FORD),
    "office,a=lte": Pairing(WITHOUT_UDP, NO_UDP),
    "office": Pairing(WITHOUT_UDP, NO_UDP),
    "lte-nat64,a=cloud": Pairing(REACHED, RFC_4787),
    "lte-nat64,a=home-fibre": Pairing(PUNCHED, RFC_6146),
    "lte-nat64": Pairing(PUNCHED, RFC_6146),
}
"""By the name of the accesses, as a plan spells them."""


class Expected(NamedTuple):
    """The path that is expected, or `failed`, and the sources of that."""

    path: str
    source: str


def expected(stack: str, access: str) -> Expected | None:
    """What is expected of a stack between two accesses; None where nobody says.

    That is so as well where the plan demands a path, where a stranger's stack cannot be read, and where holes would be
    punched and no node tells both ends of each other. A relay that no node of the stack offers is none.
    """
    pairing = PAIRINGS.get(access)
    about = _declared(stack) if pairing else None
    if not pairing or not about or not about.finds:
        return None
    finder, source = about.finds, f"{pairing.source}; {about.finds.source}"
    if pairing.kind == PUNCHED and finder.punches and not about.roles:
        return None
    if (
        pairing.kind == REACHED
        or (pairing.kind == PUNCHED and finder.punches)
        or (pairing.kind == REACHED_BY_TCP and finder.asks_by_tcp)
    ):
        return Expected(DIRECT, source)
    relay = finder.without_udp if pairing.kind in (WITHOUT_UDP, REACHED_BY_TCP) else finder.relay
    return Expected(relay if relay in about.paths else FAILED, source)


def _declared(stack: str) -> About | None:
    """What the first layer of a stack declares; None where it is not known here, or its path is demanded."""
    try:
        [first, *_] = spelling.stack(stack)
        return None if demanded(first.options) else declared(first)
    except ValueError:
        return None
