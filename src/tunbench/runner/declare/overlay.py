"""The shape of what a node sends packets through: an interface with an address."""

from typing import NamedTuple


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

    @property
    def given(self) -> str:
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
