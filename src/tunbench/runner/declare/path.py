"""The ways that packets of a tunnel may take between two endpoints, as data: directly, or through another node."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare.options import Option, Options

ANY, DIRECT = "any", "direct"
"""That any way will do, and the name of that from end to end."""

MIXED = "mixed"
"""What stands in the place of a path where packets took several, at once or again and again."""


class Path(NamedTuple):
    """A way that packets may take: what of it one sees from below, and which node carries them."""

    summary: str
    # The pcap filter, for IPv4, that packets pass on this way; options stand in braces. Empty: the tunnel's own.
    evidence: str = ""
    # The role of the node that carries them; empty where nobody does between the two ends.
    through: str = ""


FAILED = "failed"
"""What is expected where there is neither a direct path nor a relay."""


class Finder(NamedTuple):
    """How a tunnel is expected to get through NATs: whether it punches holes, and what it does where it cannot.

    `relay` is the path without a direct one, and `without_udp` that where the second endpoint has no UDP, unless it
    `asks_by_tcp` whom that reaches. `source` says where that is written.
    """

    punches: bool
    source: str
    relay: str = FAILED
    without_udp: str = FAILED
    asks_by_tcp: bool = False


Paths = Mapping[str, Path]
"""The ways of a tunnel by their names, the one that it prefers first."""


def option(paths: Paths) -> Option:
    """The option by which a plan demands one of these paths."""
    what = "; ".join(f"{name}: {path.summary}" for name, path in paths.items())
    return Option("choice", ANY, f"the way that packets must take; {what}", choices=(ANY, *paths))


def demanded(options: Options) -> str:
    """The path that a plan demands; empty where any will do, or the tunnel has but one."""
    asked = str(options.get("path", ANY))
    return "" if asked == ANY else asked
