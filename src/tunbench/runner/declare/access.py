"""An access: what stands between a node and the network, which is a gateway with its link, its NAT and its filters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tunbench.runner.declare import link
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.tunnel import Addon

NONE = "none"
"""The name of what is not there: no gateway, no NAT."""

INDEPENDENT, BY_ADDRESS, BY_ADDRESS_AND_PORT = (
    "endpoint-independent",
    "address-dependent",
    "address-and-port-dependent",
)
"""What a mapping, or who may answer to it, depends on: RFC 4787, sections 4.1 and 5."""


class Nat(NamedTuple):
    """How a NAT treats UDP, in the words of RFC 4787: its mapping, who may send to that, and whether it hairpins."""

    mapping: str
    filtering: str
    hairpin: bool
    summary: str


NATS = {
    "full-cone": Nat(INDEPENDENT, INDEPENDENT, True, "whoever sends to a port that was used gets in"),
    "address-restricted": Nat(INDEPENDENT, BY_ADDRESS, False, "whoever was sent to gets in, from any port"),
    "port-restricted": Nat(INDEPENDENT, BY_ADDRESS_AND_PORT, False, "the port that was sent to gets in: Linux"),
    "symmetric": Nat(BY_ADDRESS_AND_PORT, BY_ADDRESS_AND_PORT, False, "another port for every destination"),
    "one-to-one": Nat(INDEPENDENT, INDEPENDENT, False, "an address of one's own: whoever the firewall lets in gets in"),
}
"""The kinds of NAT; the first four are RFC 3489's, for UDP. TCP and ICMP keep their ports and numbers as in
port-restricted."""

DERIVED = "derived"
"""The firewall that one has who says nothing: stateful with NAT and with IPv6, and open without."""

ONLY_RELAY = "only-relay"
"""The firewall behind which no direct path is found, whatever it is made of."""

LISTS = "lists"
"""The kind of a firewall that is written as a table."""

FIREWALLS = {
    "open": "lets everything pass",
    "stateful": "lets in what answers",
    "no-udp": "as stateful, and no UDP passes",
    "tcp-443": "as stateful, and only TCP to port 443 goes out",
    ONLY_RELAY: "as stateful, and only what is for the nodes control and relay goes out",
    LISTS: "as stateful, and lets out what is listed, or all but that",
}

PROTOCOLS = ("tcp", "udp", "icmp", "esp")
"""What the lists of a firewall may name besides numbers of protocols; the first two with a port behind it, such as
`udp:51820`."""

PASSED, KEPT, PATH = "passed", "kept", "path"
"""What happens to that about which nobody says anything; and an MSS that follows from the path."""

ICMP = {PASSED: "all of it", "filtered": 'all but "fragmentation needed" and "packet too big"'}
FRAGMENTS = {PASSED: "they pass", "dropped": "none passes the link, in either direction"}
DSCP = {KEPT: "as it was sent", "cleared": "0 in both directions; ECN is left alone"}

PORTMAPS = {
    "nat-pmp": "RFC 6886",
    "pcp": "RFC 6887",
    "upnp": "UPnP's WANIPConnection of an InternetGatewayDevice",
}
"""By what the node behind a NAT may ask for an open port, and what says how."""

MINIUPNPD = Addon("miniupnpd", ("miniupnpd-nftables",))
"""What gives it one."""

TAYGA = Addon("tayga", ("tayga",))
"""What translates between IPv4 and IPv6."""

ADDONS = (MINIUPNPD, TAYGA)
"""The images of the vm lab that gateways need beside the base image."""

DUAL, NAT64 = "dual", "nat64"

FAMILIES = {"v4": (4,), "v6": (6,), DUAL: (4, 6), NAT64: (4, 6)}
"""The families of packets that an access carries; with the last it is IPv6 alone, and IPv4 is translated."""

USUAL_NAT64 = "address-restricted"
"""The kind of NAT of a translator about which nobody says anything: its mapping is endpoint-independent, and who may
answer is recommended to depend on the address (RFC 6146, section 3.5.1, "address-dependent filtering")."""

UDP_MAPPING_SECONDS = 120.0
"""What a NAT must keep at least: RFC 4787, REQ-5; Linux keeps a stream as long (nf_conntrack_udp_timeout_stream)."""

TCP_MAPPING_SECONDS = 7440.0
"""2 hours and 4 minutes: what a NAT must keep at least (RFC 5382, REQ-5)."""


@dataclass(frozen=True)
class Access:
    """What stands between a node and the network. `link` lies behind the gateway: `up` leaves it for the network.

    `delay` and `jitter` are seconds, one way, each way, and come on top of the link's own; they keep the order of
    packets. With `carrier` a second NAT of that kind stands at the far end of the link. `allow` and `deny` are what a
    firewall of `lists` lets out. A mapping lives so many seconds without a packet. `mss` is what TCP's is clamped to.
    By `portmap` the node asks the gateway for an open port.
    """

    name: str
    link: Link = field(default_factory=lambda: Link("wire"))
    delay: float = 0.0
    jitter: float = 0.0
    nat: str = NONE
    carrier: str = NONE
    udp_mapping: float = UDP_MAPPING_SECONDS
    tcp_mapping: float = TCP_MAPPING_SECONDS
    firewall: str = DERIVED
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    icmp: str = PASSED
    fragments: str = PASSED
    mss: str | int = KEPT
    dscp: str = KEPT
    portmap: str = NONE
    family: str = DUAL

    @property
    def base_round_trip(self) -> float:
        """Seconds that it adds to a round trip of the node behind it, where nothing waits."""
        return self.link.crossing_delay + 2 * self.delay

    @property
    def nats(self) -> list[str]:
        """The kind of NAT of each gateway, from the node to the network; `none` where one translates nothing."""
        if self.family == NAT64:
            return [NONE, self.nat]
        return [self.nat, *([self.carrier] if self.carrier != NONE else [])]

    def translates_family(self, family: int) -> bool:
        """Whether packets of an address family pass its link as those of the other one."""
        return self.family == NAT64 and family == 4

    def firewall_over(self, family: int) -> str:
        """The firewall that it has over an address family."""
        if self.firewall != DERIVED:
            return self.firewall
        return "stateful" if family == 6 or self.nat != NONE else "open"

    def lets_in(self, family: int) -> bool:
        """Whether packets that answer nothing reach the node."""
        # A carrier's gateway lets in what answers, whatever its NAT.
        hidden = family == 4 and (self.carrier != NONE or self.nat not in (NONE, "one-to-one"))
        return not hidden and self.firewall_over(family) == "open"

    def lets_out(self, traffic: str) -> bool:
        """Whether a packet such as `udp:51820` leaves for the network; lists drop what somebody asked them to."""
        match self.firewall:
            case "no-udp":
                return not traffic.startswith("udp")
            case "tcp-443":
                return traffic == "tcp:443"
        return True

    def spec(self) -> dict[str, Any]:
        """The access as a shard names it."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        own = {name: value for name, value in own.items() if (name, value) not in UNSAID}
        return {**own, "link": self.link.spec(), "allow": list(self.allow), "deny": list(self.deny)}


UNSAID = {("portmap", NONE), ("family", DUAL)}
"""What goes without saying in a shard, which is then what it was before there were these keys."""


@dataclass(frozen=True)
class Accesses:
    """A value of the axis: which access each endpoint has, and `own` which some nodes have. None where it has none."""

    name: str = NONE
    default: Access | None = None
    own: Mapping[str, Access | None] = field(default_factory=dict)

    @property
    def all(self) -> list[Access]:
        """Every one that a node may have, each once."""
        found = [one for one in (self.default, *self.own.values()) if one]
        return list(dict.fromkeys(found))

    @property
    def addons(self) -> list[str]:
        """The images of the vm lab that they need beyond the base image."""
        needed = {MINIUPNPD: any(one.portmap != NONE for one in self.all), TAYGA: self.translate_families}
        return [addon.name for addon, there in needed.items() if there]

    @property
    def translate_families(self) -> bool:
        """Whether any of them carries IPv6 alone, with a translator for IPv4."""
        return any(one.family == NAT64 for one in self.all)

    def of_endpoints(self, names: Iterable[str]) -> list[Access]:
        """Those that these endpoints have, each once."""
        return list(dict.fromkeys(one for one in map(self.of_endpoint, names) if one))

    def of_endpoint(self, name: str) -> Access | None:
        """The access of an endpoint."""
        return self.own.get(name, self.default)

    def of_role(self, name: str) -> Access | None:
        """The access of a node with a role: it stands outside unless it is named."""
        return self.own.get(name)

    def spec(self) -> Any:
        """The value as a shard names it; a name where there is no gateway at all."""
        if not self.all:
            return self.name
        own = {node: one.spec() if one else None for node, one in sorted(self.own.items())}
        return {"name": self.name, "default": self.default.spec() if self.default else None, "own": own}


NO_GATEWAYS = Accesses()


def of_spec(spec: Any) -> Accesses:
    """The value that a shard names."""
    if not isinstance(spec, Mapping):
        return Accesses(str(spec))
    own = {node: one and access_of_spec(one) for node, one in spec["own"].items()}
    return Accesses(spec["name"], spec["default"] and access_of_spec(spec["default"]), own)


def access_of_spec(spec: Mapping[str, Any]) -> Access:
    """The access that a shard names."""
    return Access(
        **{**spec, "link": link.of_spec(spec["link"]), "allow": tuple(spec["allow"]), "deny": tuple(spec["deny"])}
    )
