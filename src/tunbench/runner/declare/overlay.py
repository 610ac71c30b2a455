"""What a layer yields on a node, and what the next one takes: an interface with an address and an MTU."""

from typing import NamedTuple

FAMILIES = {"ipv4": 4, "ipv6": 6}
"""Address families as options name them."""

ADDRESS_BITS = {4: 32, 6: 128}
"""Bits of an address, by its family."""

SMALLEST_MTU = {4: 576, 6: 1280}
"""Bytes that every host must be able to take (RFC 791, section 3.1) or every link must carry (RFC 8200, section 5)."""


class Overlay(NamedTuple):
    """What a stack yields on a node, and what the next layer takes; the underlay has the same shape.

    `address` is where others reach the node; the node itself has `own` where a NAT stands before it.
    """

    interface: str
    address: str
    prefix: int
    mtu: int
    # Bytes that the interface counts with each packet beyond the packet.
    framing: int = 0
    own: str = ""

    @property
    def local(self) -> str:
        """The address that the node itself has."""
        return self.own or self.address

    @property
    def local_host(self) -> str:
        """The same as it stands before a port: where a program listens."""
        return self._replace(address=self.local, own="").host

    @property
    def cidr(self) -> str:
        """The address that the node itself has with its prefix length, as iproute2 writes it."""
        return f"{self.local}/{self.prefix}"

    @property
    def address_words(self) -> str:
        """The words that give the address to the interface: one of IPv6 at once, because nobody else can have it."""
        return f"{self.cidr} dev {self.interface}" + (" nodad" if self.family == 6 else "")

    @property
    def family(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.address else 4

    @property
    def host(self) -> str:
        """The address as it stands before a port: IPv6 in brackets."""
        return f"[{self.address}]" if self.family == 6 else self.address
