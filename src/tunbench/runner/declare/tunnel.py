"""What a tunnel declares: all that plans, the labs, the doctor, proofs and reports must know of it, as data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option
from tunbench.runner.declare.packet_format import ETHERNET, Header
from tunbench.runner.declare.path import Finder, Path
from tunbench.runner.declare.recipe import Recipe

MOST_MEMORY = 7
"""GiB that a stack can have in a VM beyond the usual one."""

BARE = "none"
"""The name of the tunnel that is none at all: the bare underlay, to which everything else is compared."""


class Claims(NamedTuple):
    """What a tunnel promises of the packets that it carries."""

    confidentiality: bool = False
    integrity: bool = False
    replay_protection: bool = False


class Needs(NamedTuple):
    """What must be there for a tunnel under its options."""

    modules: tuple[Module, ...] = ()
    # Programs that must be on PATH.
    programs: tuple[str, ...] = ()
    # Images of the vm lab beside the base image, by the names of their add-ons.
    addons: tuple[str, ...] = ()
    # Tools of the toolbox that hold programs which Debian lacks, by the names of their recipes.
    tools: tuple[str, ...] = ()
    # Programs that no registry carries, and that the user brings.
    brought: tuple[str, ...] = ()
    # What its programs take of a VM's memory beyond the usual, in GiB.
    memory: int = 0


class Addon(NamedTuple):
    """An image of the vm lab beside the base image, for packages of Debian that not all tunnels can live with."""

    name: str
    packages: tuple[str, ...]
    # Packages of the base image that these cannot be installed beside.
    excludes: tuple[str, ...] = ()


class Sources(NamedTuple):
    """Where a tunnel's programs come from, whatever its options."""

    # The package of Debian that holds a program, where it has another name.
    packages: Mapping[str, str] = MappingProxyType({})
    # The images of the vm lab with what is not in the base image.
    addons: tuple[Addon, ...] = ()
    # How the toolbox builds what Debian lacks.
    recipes: tuple[Recipe, ...] = ()


class About(NamedTuple):
    """What a tunnel declares; `Tunnel.with_options` says what of it follows from options."""

    name: str
    summary: str

    # What it carries: IP packets (layer 3) or Ethernet frames (layer 2), and what it promises of them.
    layer: int
    claims: Claims
    # The pcap filter, for IPv4, that all of its packets pass; options and the position in a stack stand in braces.
    evidence: str
    # The same of what its programs say to each other besides, such as key exchanges, which are no packets around it.
    exchanges: str = ""
    # What it adds between the IP header below and the packet that it carries.
    headers: tuple[Header, ...] = ()
    # The hash of the HMAC that each packet has, as OpenSSL spells it; empty where there is none, as with an AEAD.
    hmac: str = ""

    options: Mapping[str, Option] = MappingProxyType({})
    # The options that must differ where it stands twice in a stack: () only once, None as often as one likes.
    exclusive: tuple[str, ...] | None = None
    # The ports on which a node listens, such as "udp {port}".
    ports: tuple[str, ...] = ()

    # What it can run over: "ip" or "ethernet", the address families below, and those that it can carry.
    needs_underlay: str = "ip"
    outer: tuple[int, ...] = (4,)
    # Whether nodes must have addresses of global scope, because its program does not take others for the Internet.
    global_scope: bool = False
    families: tuple[int, ...] = (4,)

    # The largest MTU that its program takes, in bytes.
    largest_mtu: int = 65535
    # Whether the kernel refuses an MTU whose packets would not fit below; others send these in fragments, or drop them.
    fits_carrier: bool = False
    # The MTU that its program gives the interface whatever is below, in bytes; 0: what fits.
    own_mtu: int = 0
    # What becomes of its packets that do not fit below: the kernel cuts them into fragments, because they do not forbid
    # it, or its program makes smaller ones; neither: they are dropped.
    fragmented: bool = False
    segments: bool = False
    # Whether it rewrites the MSS of TCP connections.
    clamps: bool = False
    # Bytes that its interface counts with each packet beyond the packet; None: an Ethernet header where it has one.
    framing: int | None = None

    # How many endpoints it joins at most; 0: any number.
    joins: int = 0
    # Whether it carries packets of networks behind its endpoints.
    routes: bool = True
    # Whether it carries what is sent to a group to all endpoints that it joins with the sender.
    multicast: bool = False
    # Whether its packets may go through another node than the two ends. The proof is then that they do not.
    relays: bool = False
    # Whether an endpoint that has left can enrol again: a control plane may keep its place for good.
    rejoins: bool = True
    # Whether its endpoints are pods, in a cluster that it brings up, whose control plane speaks when it likes.
    pods: bool = False
    # The ways that they may take, by name: an option `path` demands one, and the proof says which one it was.
    paths: Mapping[str, Path] = MappingProxyType({})
    # What is expected of it between NATs, to which reports compare what it found.
    finds: Finder | None = None
    # The nodes that it needs besides endpoints: it acts on them first, and what stands above never sees them.
    roles: tuple[str, ...] = ()
    # What endpoints send to its control plane, without which it does not come up, such as "udp:{port}".
    control: tuple[str, ...] = ()

    needs: Needs = Needs()
    sources: Sources = Sources()
    # The packages of Debian that it is made of, and that decide on its version; the kernel's is without being named.
    packages: tuple[str, ...] = ()
    # The command that prints its version.
    version: tuple[str, ...] = ()

    # The spelling under which `rekey` gives an endpoint new keys while packets pass; empty where none does.
    rekeys: str = ""
    # Seconds that this takes under the options that were given; 0: they are not such.
    rekeys_within: float = 0

    # Why it drops packets, by the name of the counter, as a sentence of them goes on: "12 packets …".
    refusals: Mapping[str, str] = MappingProxyType({})
    # Seconds within which its counters have what has happened.
    counts_within: float = 0

    # Seconds of wall clock in the vm lab until its programs have begun and made their keys, for the estimate of a plan.
    startup_seconds: float = 0
    # Whether packets pass through a process: what switches back and forth takes longer to emulate.
    user_space: bool = False

    def needing(self, **changed: Any) -> "About":
        """The same, with other needs in some respects."""
        return self._replace(needs=self.needs._replace(**changed))

    @property
    def counted_framing(self) -> int:
        """Bytes that its interface counts with each packet beyond the packet."""
        if self.framing is not None:
            return self.framing
        return ETHERNET.size if self.layer == 2 else 0
