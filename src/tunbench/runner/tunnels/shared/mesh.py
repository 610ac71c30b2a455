"""What meshes share: who is told of whom, and the wait until everybody has reached everybody."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel

PRINTS = '"$@" | grep -q "$0" || { sleep 0.1; false; }'
"""Shell text: whether a command prints a line of the pattern $0. Asked again at once it would cost more time."""

LISTENING = 'ss -ltnH "sport = :$0" | grep -q .'
"""Shell text: whether somebody listens on the port $0 of TCP."""


def endpoints(tunnel: Tunnel, nodes: Nodes) -> list[Node]:
    """The nodes that the layer joins, without those that have a role."""
    return [nodes[name] for name in tunnel.context.above]


def peerings(tunnel: Tunnel, nodes: Nodes) -> Iterator[tuple[Node, str]]:
    """Each endpoint with the name of each of its peers."""
    return ((node, peer) for node in endpoints(tunnel, nodes) for peer in tunnel.context.peers(node))


def earlier_peers(tunnel: Tunnel, node: Node) -> list[str]:
    """The peers that come up before the node: a connection is made once, by the one that comes later."""
    peers = tunnel.context.peers(node)
    return [name for name in tunnel.context.before(node) if name in peers]


def listening(tunnel: Tunnel, node: Node) -> list[str]:
    """Where the peers of a node listen, each as HOST:PORT."""
    return [f"{tunnel.context.below[peer].host}:{tunnel.options['port']}" for peer in tunnel.context.peers(node)]


def check_address(tunnel: Tunnel, node: Node, *asking: str) -> None:
    """Raises StackFailed where a control plane gave the node another address than the layer shall yield.

    `asking` is the command that prints the address that was given.
    """
    given, wanted = node.ask(*asking).stdout.strip(), tunnel.context.above[node.name].address
    if given != wanted:
        raise StackFailed(f"{tunnel.about.name}: {node.name} was given {given or 'no address'} instead of {wanted}")


def wait_for_line(tunnel: Tunnel, node: Node, pattern: str, *command: str, what: str, timeout: float) -> None:
    """Waits until the command prints a line of the pattern. Raises StackFailed: see `Tunnel.wait`."""
    tunnel.wait(node, "sh", "-c", PRINTS, pattern, *command, what=what, timeout=timeout)


def wait_for_listener(tunnel: Tunnel, node: Node, port: object, what: str) -> None:
    """Waits until somebody listens on a port of TCP. Raises StackFailed with `what` where nobody does."""
    tunnel.wait(node, "sh", "-c", LISTENING, str(port), what=what)


@contextmanager
def quoting(who: str, quote: Callable[[], str]) -> Iterator[None]:
    """Where what is waited for within does not come, the failure also says what a program said last."""
    try:
        yield
    except StackFailed as failure:
        raise StackFailed(f"{failure}; {who} says: {quote() or 'nothing'}") from None
