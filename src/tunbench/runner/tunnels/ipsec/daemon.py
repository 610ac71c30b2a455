"""What a daemon of IKE has to offer to the layer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared.certificates import Pair


class Credentials(NamedTuple):
    """By what a node shows who it is: a shared key, or a certificate and the authority behind all of them."""

    psk: Path | None = None
    pair: Pair | None = None
    authority: Pair | None = None


class Daemon(NamedTuple):
    """A daemon.

    `interfaces` are names that it insists on, by mode. `initiation` is the command that negotiates a connection, and
    `rekeying` the one that gives its SAs of ESP new keys.
    """

    programs: tuple[str, ...]
    version: tuple[str, ...]
    packages: tuple[str, ...]
    addons: tuple[str, ...]
    interfaces: Mapping[str, str]
    configure: Callable[[Tunnel, Node, Credentials], None]
    up: Callable[[Tunnel, Node], None]
    initiation: Callable[[Tunnel, Node, str], tuple[str, ...]]
    rekeying: Callable[[Tunnel, Node, str], tuple[str, ...]]
