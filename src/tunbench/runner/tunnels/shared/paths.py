"""What tunnels with several paths share: how long one is waited for, and what is said where it does not come."""

from collections.abc import Callable

from tunbench.runner.declare import path
from tunbench.runner.declare.options import Options
from tunbench.runner.declare.path import DIRECT
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared import mesh

DEMANDED_TIMEOUT, SEARCH_TIMEOUT = 30.0, 10.0
"""Seconds in which a path must be there that a plan demands, and for which a direct one is looked for where any will
do."""

Asking = Callable[[str], tuple[str, ...]]
"""The command that says whether packets take a path, by its name."""


def wait(tunnel: Tunnel, node: Node, asking: Asking, peers: str, tried: Callable[[], str]) -> None:
    """Waits until the path to peers is there that a plan demands. Raises StackFailed with what was `tried` instead."""
    if wanted := path.demanded(tunnel.options):
        what = f"{node.name} found no {wanted} path to {peers}"
        with mesh.quoting(tunnel.about.name, tried):
            tunnel.wait(node, *asking(wanted), what=what, timeout=DEMANDED_TIMEOUT)


def search(tunnel: Tunnel, node: Node, asking: Asking) -> None:
    """Gives a tunnel some time to find a direct path, where any will do, or to be back on it where it is demanded."""
    if path.demanded(tunnel.options) in ("", DIRECT):
        node.until(*asking(DIRECT), timeout=SEARCH_TIMEOUT, unless=tunnel.ended)


def has_relay(options: Options) -> bool:
    """Whether a node is there that carries packets of others: the switch `relay`, or a path through it."""
    return bool(options["relay"]) or path.demanded(options) not in ("", DIRECT)


def check_relay(tunnel: str, options: Options) -> None:
    """Raises ValueError where a relay is asked for that nothing may go through."""
    if options["relay"] and options["path"] == DIRECT:
        raise ValueError(f"{tunnel}: relay=on with path=direct is a relay that carries nothing: take one of them away")
