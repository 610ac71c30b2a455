"""What a tunnel and a workload declare and do: the contract between them and the life of a shard."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from tunbench.runner.node import HOME, Node
from tunbench.runner.options import Option, Options


class Unsupported(Exception):
    """The lab cannot run it, and the message says why; a verdict, not an error."""


class Overlay(NamedTuple):
    """What a stack yields on a node, and what the next layer takes; the underlay has the same shape."""

    interface: str
    address: str
    prefix: int
    mtu: int

    @property
    def cidr(self) -> str:
        """The address with its prefix length, as iproute2 writes it."""
        return f"{self.address}/{self.prefix}"


class Claims(NamedTuple):
    """What a tunnel promises of the packets that it carries."""

    confidentiality: bool = False
    integrity: bool = False
    replay_protection: bool = False


class About(NamedTuple):
    """What a tunnel declares.

    `evidence` is a pcap filter in which options stand in braces; `overhead` is in bytes a packet; `addons` are images
    of the vm lab beyond the base.
    """

    name: str
    summary: str
    layer: int
    claims: Claims
    evidence: str
    overhead: int
    options: Mapping[str, Option] = MappingProxyType({})
    needs_underlay: str = "ip"
    families: tuple[int, ...] = (4,)
    roles: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    addons: tuple[str, ...] = ()
    version: tuple[str, ...] = ()


class Place(NamedTuple):
    """Where a layer stands in a stack: what is below it and what it shall yield, by the name of the endpoint."""

    position: int
    below: Mapping[str, Overlay]
    above: Mapping[str, Overlay]

    def peers(self, node: Node) -> list[str]:
        """The names of the other endpoints."""
        return [name for name in self.below if name != node.name]


class Tunnel:
    """One layer of a stack. A technology is a subclass in a file of its own, with `about` and the three methods."""

    about: ClassVar[About]

    def __init__(self, options: Options, place: Place) -> None:
        self.options = options
        self.place = place

    def prepare(self, nodes: Sequence[Node]) -> None:
        """Makes keys and configuration, once."""

    def up(self, node: Node) -> None:
        """Brings the layer up on one node."""
        raise AssertionError("a tunnel says how it comes up")

    def down(self, node: Node) -> None:
        """Takes the layer down on one node; an interface that is gone already is no error."""
        node.try_run("ip", "link", "del", self.place.above[node.name].interface)

    @classmethod
    def claims(cls, options: Options) -> Claims:
        """The claims under these options."""
        return cls.about.claims

    @classmethod
    def overhead(cls, options: Options) -> int:
        """The bytes that this layer adds to a packet, under these options."""
        return cls.about.overhead

    @classmethod
    def evidence(cls, options: Options) -> str:
        """The pcap filter that every packet of this layer passes."""
        return cls.about.evidence.format(**options)

    def file(self, node: str, name: str) -> Path:
        """The path of a file of this layer for a node, which every node can read."""
        return HOME / node / f"{self.place.above[node].interface}-{name}"

    def settle(self, node: Node) -> None:
        """Gives the interface of the layer its MTU and address, and sets it up."""
        overlay = self.place.above[node.name]
        node.run("ip", "link", "set", overlay.interface, "mtu", str(overlay.mtu), "up")
        node.run("ip", "address", "add", overlay.cidr, "dev", overlay.interface)


def above(name: str, index: int, below: Mapping[str, Overlay], overhead: int) -> dict[str, Overlay]:
    """What a layer shall yield on each endpoint: interface, address and MTU follow from its place in the stack.

    The hyphen keeps clear of names that the kernel gives itself, such as gre0.
    """
    return {
        node: Overlay(f"{name}-{index}", f"10.{10 + index}.0.{number}", 24, overlay.mtu - overhead)
        for number, (node, overlay) in enumerate(below.items(), start=1)
    }
