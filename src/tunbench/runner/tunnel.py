"""What a tunnel declares and does: the contract between it and the life of a shard."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_interface
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from tunbench.runner.declare import path
from tunbench.runner.declare.cluster import ApiServer
from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import ADDRESS_BITS, FAMILIES, SMALLEST_MTU, Overlay
from tunbench.runner.declare.packet_format import IP, Format
from tunbench.runner.declare.topology import PAIR, Topology
from tunbench.runner.declare.tunnel import About
from tunbench.runner.node import limits
from tunbench.runner.node.node import HOME, Node
from tunbench.runner.node.shell import Process

DAEMON_START_TIMEOUT = 10.0
"""Seconds in which a daemon must be there."""


Nodes = Mapping[str, Node]
"""The nodes on which a layer acts, by their names: those with a role first, then the endpoints."""


class LayerContext(NamedTuple):
    """Where a layer stands in a stack: what is below it and what it shall yield, by the name of the endpoint.

    `topology` says which endpoints are joined. `beyond` are the networks behind an endpoint, for the uppermost layer.
    `roles` are the nodes besides endpoints, in the underlay, by their role. Those of `asking` have a gateway that opens
    ports to who asks.
    """

    position: int
    below: Mapping[str, Overlay]
    above: dict[str, Overlay]
    topology: Topology = PAIR
    beyond: Mapping[str, str] = MappingProxyType({})
    roles: Mapping[str, Overlay] = MappingProxyType({})
    asking: Collection[str] = ()
    # The ports on which the layers below listen, such as "udp 51820".
    taken: Collection[str] = ()

    @property
    def first(self) -> str:
        """The name of the first endpoint: the server, where there is one."""
        return next(iter(self.below))

    def before(self, node: Node) -> list[str]:
        """The names of the endpoints that come up before this one."""
        names = list(self.below)
        return names[: names.index(node.name)]

    def peers(self, node: Node) -> list[str]:
        """The names of the endpoints that the layer joins with this one."""
        return [name for name in self.topology.peers[node.name] if name in self.above]

    def carries(self, node: Node, peer: str) -> list[str]:
        """The networks whose packets the node sends to a peer: its own address, and what is reached through it."""
        return self.reached(peer, node.name)

    def reached(self, peer: str, by: str) -> list[str]:
        """The networks that one endpoint reaches by way of another one: its peer's address first."""
        family = self.above[peer].family
        through = [name for name in self.topology.endpoints if name not in (by, peer)]
        hosts = [peer, *(through if peer == self.topology.hub else [])]
        own = [f"{self.above[name].address}/{ADDRESS_BITS[family]}" for name in hosts]
        return [*own, *([self.beyond[peer]] if peer in self.beyond else [])]

    @property
    def network(self) -> str:
        """The network of what the layer yields, in CIDR notation."""
        return str(ip_interface(next(iter(self.above.values())).cidr).network)

    @property
    def outer(self) -> int:
        """The address family that the layer runs over: 4 or 6."""
        return next(iter(self.below.values())).family


class Tunnel:
    """One layer of a stack. A technology is a subclass in a file of its own, with `about` and what it does.

    `declared` is `about` under the options that were given.
    """

    about: ClassVar[About]

    def __init__(self, options: Options, context: LayerContext) -> None:
        self.options = options
        self.context = context
        self.declared = self.with_options(options)
        self.daemons: dict[str, list[Process]] = {}
        # The nodes that it has made within endpoints.
        self.made: dict[str, Node] = {}

    def prepare(self, nodes: Nodes) -> None:
        """Makes keys and configuration, once."""

    def up(self, node: Node, nodes: Nodes) -> None:
        """Brings the layer up on one node, which is one of the nodes."""
        raise AssertionError("a tunnel says how it comes up")

    def joined(self, nodes: Nodes) -> None:
        """Waits, or does what is left to do, when the layer is up on all nodes."""

    def searched(self, nodes: Nodes) -> None:
        """Waits, when the layer answers, until it has found the path that it goes on with, where any will do."""

    def down(self, node: Node) -> None:
        """Takes the layer down on one node: its daemons, and its interface if that is still there."""
        for daemon in reversed(self.daemons.pop(node.name, [])):
            daemon.stop()
        if node.name in self.context.above:
            node.try_run("ip", "link", "del", self.context.above[node.name].interface)

    def forget(self, node: Node) -> None:
        """Takes away what the layer has learnt on a node that it is down on, so that it must enrol anew."""

    def leave(self, node: Node, nodes: Nodes) -> None:
        """Lets a node that the layer is down on no longer belong to it, so that it can enrol anew in the same place.

        Raises CommandFailed.
        """
        self.forget(node)

    def rekey(self, node: Node) -> None:
        """Lets a node get new keys, or waits until it must have some by its timer: see `About.rekeys_within`."""
        raise AssertionError("a tunnel that declares it says how")

    def keys(self, node: Node) -> str:
        """What changes on a node when it has new keys, and says nothing of them."""
        raise AssertionError("a tunnel that declares it says how")

    def inside(self) -> Mapping[str, Overlay]:
        """What the nodes have that it makes within endpoints, such as pods, by their names."""
        return {}

    def api_server(self) -> ApiServer | None:
        """Where the API server of the cluster is that it has brought up, if it has."""
        return None

    def refused(self, node: Node) -> Mapping[str, int]:
        """How many packets it has dropped on a node since it came up, by the names of its `refusals`."""
        return {}

    @contextmanager
    def watched(self, node: Node) -> Iterator[str]:
        """The interface on which one sees what this layer carries, as it is before it is encapsulated."""
        yield self.context.above[node.name].interface

    @contextmanager
    def beneath(self, node: Node, interface: str) -> Iterator[str]:
        """The interface on which one sees what passes below, given the one that this layer runs over."""
        yield interface

    @classmethod
    def with_options(cls, options: Options) -> About:
        """What it declares under these options."""
        return cls.about

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """How it builds packets under these options, over that address family."""
        return Format((IP[outer], *cls.with_options(options).headers))

    @classmethod
    def evidence(cls, options: Options, outer: int, position: int = 0) -> str:
        """The pcap filter that every packet of this layer passes, over that address family and at that position."""
        return cls.filter_of(cls.with_options(options).evidence, options, outer, position)

    @classmethod
    def filter_of(cls, text: str, options: Options, outer: int, position: int = 0) -> str:
        """A pcap filter as it is declared, over that address family and at that position."""
        text = text.format(**options, position=position)
        return in_ipv6(text) if outer == 6 else text

    @classmethod
    def takes(cls) -> dict[str, Option]:
        """All options: the tunnel's own, and those that every tunnel has that can make use of them."""
        return dict(cls.about.options) | common_options(cls.about)

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """What the layer shall yield on each endpoint: interface, address and MTU follow from its place in the stack.

        The hyphen keeps clear of names that the kernel gives itself, such as gre0.
        """
        family = FAMILIES.get(str(options.get("inner")), cls.about.families[0])
        framing = cls.with_options(options).counted_framing
        return {
            node: Overlay(
                f"{cls.about.name}-{index}", *address(family, index, number), cls.mtu(options, overlay), framing
            )
            for number, (node, overlay) in enumerate(below.items(), start=1)
        }

    @classmethod
    def mtu(cls, options: Options, below: Overlay) -> int:
        """The MTU: that which was asked for, the program's own, or the largest that fits below and into the program."""
        if fixed := int(options["mtu"]) or cls.with_options(options).own_mtu:
            return fixed
        return min(cls.format(options, below.family).largest(below.mtu), cls.about.largest_mtu)

    def file(self, node: str, name: str) -> Path:
        """The path of a file of this layer for a node, which every node can read."""
        return HOME / node / f"{self.about.name}-{self.context.position}-{name}"

    @property
    def log(self) -> str:
        """The name of the log of its daemons, on every node."""
        return f"{self.about.name}-{self.context.position}"

    def start(self, node: Node, *argv: str) -> Process:
        """Starts a daemon that `down` will stop; if it ends before the overlay answers, the stack has failed."""
        process = node.start(*argv, log=self.log)
        self.daemons.setdefault(node.name, []).append(process)
        return process

    def wait(self, node: Node, *argv: str, what: str, timeout: float = DAEMON_START_TIMEOUT) -> None:
        """Waits until a command succeeds on the node. Raises StackFailed: at once where a daemon of the layer ended.

        `timeout` is in seconds, and `what` says what was waited for in vain.
        """
        if not node.until(*argv, timeout=timeout, unless=self.ended):
            raise StackFailed(f"{self.about.name}: {self.ended() or f'{what} within {timeout:g} s'}")

    def ended(self) -> str:
        """Which daemon of the layer has ended, if any has."""
        for node, daemons in self.daemons.items():
            for daemon in daemons:
                if (status := daemon.poll()) is not None:
                    return f"its daemon on {node} {limits.ending(status)}"
        return ""

    def settle(self, node: Node) -> None:
        """Gives the interface of the layer its MTU and address, and sets it up."""
        overlay = self.context.above[node.name]
        node.run("ip", "link", "set", overlay.interface, "mtu", str(overlay.mtu), "up")
        node.run("ip", "address", "add", *overlay.address_words.split())


def address(family: int, index: int, number: int) -> tuple[str, int]:
    """The address of an endpoint in the overlay of the layer at that index, with its prefix length."""
    return (f"10.{10 + index}.0.{number}", 24) if family == 4 else (f"fd10:{index}::{number}", 64)


def ping(interface: str, address: str) -> tuple[str, ...]:
    """The command that sends one echo request.

    It is bound to the interface: what is not up yet must not be asked for on the way to the edge.
    """
    return ("ping", "-n", "-I", interface, "-c", "1", "-W", "0.5", address)


def common_options(about: About) -> dict[str, Option]:
    """The options that a tunnel has besides its own, which follow from what it declares."""
    what = "MTU of the overlay in bytes" + ("; derived: the program's own" if about.own_mtu else "")
    low = SMALLEST_MTU[min(about.families)]
    options = {"mtu": Option("mtu", "derived", what, low=low, high=about.largest_mtu)}
    if len(about.families) > 1:
        options["inner"] = _family("address family of the overlay")
    if about.paths:
        options["path"] = path.option(about.paths)
    if len(about.outer) > 1:
        options["outer"] = _family("address family of the underlay, for the lowest layer")
    return options


def in_ipv6(expression: str) -> str:
    """A pcap filter for IPv4 as one for IPv6 without extension headers: libpcap has no udp[…] there."""
    shifts = {"udp": 40, "tcp": 40, "ip": 20}
    moved = re.sub(r"\b(udp|tcp|ip)\[(\d+)", lambda at: f"ip6[{int(at[2]) + shifts[at[1]]}", expression)
    return re.sub(r"\bip proto\b", "ip6 proto", moved)


def _family(what: str) -> Option:
    return Option("choice", "ipv4", what, choices=tuple(FAMILIES))
