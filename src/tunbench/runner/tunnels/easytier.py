"""EasyTier: a mesh in user space whose nodes pass on packets for each other, over UDP or TCP.

Who has the network's name and secret is a member. Every endpoint is told where those before it are, so that each pair
has one connection, and packets go through it; without one they would go by the shortest way through other nodes, as the
program's routing protocol finds it. A relay has a network of its own, whose secret is another one, and passes on what
it is sent. Endpoints are told of it besides; where packets must go through it they are told of nothing else, and make
no connections that they are not told to make.

The program asks public STUN servers, whose names are built in, which kind of NAT it is behind, and cannot be told not
to. Here it runs with a name service of its own that knows no names, so that it asks nobody, and punches no holes: for
that it asks such a server which port a NAT has given it. On its start it prints its configuration: that is not in its
log, because the secret is in it. The MTU is the program's own: 1380, and 20 less with encryption.
"""

from functools import partial
from typing import NamedTuple

from tunbench.runner.declare import path
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import TCP, UDP, Header
from tunbench.runner.declare.recipe import GCC, PROTOC, Recipe
from tunbench.runner.declare.topology import RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh, paths, secrets

# Each line that is not the program's own default has its reason.
CONFIG = """\
{address}
listeners = ["{transport}://0.0.0.0:{port}"]
# Nobody asks it for its state from afar.
rpc_portal = "127.0.0.1:15888"
{peers}
[network_identity]
network_name = "{network}"
network_secret = "{secret}"

[flags]
dev_name = "{interface}"
mtu = {size}
enable_encryption = {encryption}
default_protocol = "{transport}"
# The lab has addresses of one family at a time.
enable_ipv6 = false
# As on its command line; the default of its files is another: the way of least latency, which may lead through others.
latency_first = false
"""

ALONE = """\
# No connection but those that are configured.
disable_p2p = true
"""

UNPUNCHED_HOLES = """\
# It would try again and again, and each time look in vain for a STUN server.
disable_udp_hole_punching = true
"""

WITHOUT_INTERFACE = """\
# It carries packets of others, and has none of its own.
no_tun = true
"""

PEER = """
[[peer]]
uri = "{transport}://{host}:{port}"
"""

NAMES = "hosts: files\n"
"""For nsswitch.conf(5): no name server is asked."""

# $0 is a file that stands for nsswitch.conf for this program alone, and $1 the configuration.
RUN = """\
set -e
mount --bind "$0" /etc/nsswitch.conf
easytier-core --config-file "$1" | sed -u /network_secret/d
"""

# The program's own table has $0 beside a peer: "p2p" where its path is direct, "relay" where others carry packets. The
# arguments are the addresses of the peers. As long as a path is another one, five times a second is often enough.
REACHED = """\
reached() {
  table=$(easytier-cli -p 127.0.0.1:15888 peer) || return 1
  for peer; do echo "$table" | grep "[[:blank:]]$peer\\(/[0-9]*\\)\\?[[:blank:]]" | grep -q "$0" || return 1; done
}
reached "$@" || { sleep 0.2; exit 1; }
"""

PATHS = {
    path.DIRECT: path.Path("from end to end"),
    RELAY: path.Path("through a relay of another network, which does not have the key", through=RELAY),
}

UNPUNCHED = (
    "EasyTier 2.0.3, src/connector/udp_hole_punch/common.rs: to punch a hole it asks a STUN server, and has none"
)


class ReachedBy(NamedTuple):
    """How the program's table has a peer that is reached by a path, and the words for that."""

    pattern: str
    words: str


REACHED_BY = {
    path.DIRECT: ReachedBy("p2p", "direct connection with"),
    RELAY: ReachedBy("relay", "path through the relay to"),
    path.ANY: ReachedBy("p2p\\|relay", "path to"),
}

NETWORK = "tunbench"
"""The name of the endpoints' network."""

FORMAT = "EasyTier 2.0.3, src/tunnel/packet_def.rs"


class Transport(NamedTuple):
    """What packets are carried over: its headers, and the pcap filter of data."""

    headers: tuple[Header, ...]
    evidence: str


TRANSPORTS = {
    # The message is data. Routing messages go the same way, are as large, and come at any time.
    "udp": Transport((UDP, Header("connection, type, padding, length", 8, FORMAT)), "udp port {port} and udp[12] = 3"),
    # A packet can begin anywhere in a segment.
    "tcp": Transport((TCP, Header("length", 4, FORMAT)), "tcp port {port}"),
}

PACKET = Header("from, to, type, flags, counter, reserved, length", 16, FORMAT)
SEALED = Header("AES-GCM tag, nonce", 28, FORMAT)

DEFAULT_MTU = 1380
"""EasyTier 2.0.3, src/common/config.rs, Flags."""

ROOM = 20
"""Bytes by which it makes the MTU less with encryption: EasyTier 2.0.3, src/instance/virtual_nic.rs, create_dev()."""

PATHS_TIMEOUT = 40.0
"""Seconds in which an endpoint must have the path that is asked for to each of its peers."""


RECIPE = Recipe(
    name="easytier",
    version="2.0.3",
    language="rust",
    parts={"easytier-core": "easytier", "easytier-cli": "easytier"},
    oldest="1.77",
    seconds=360,
    space=1.5e9,
    calls={**GCC, **PROTOC},
)


class Easytier(Tunnel):
    """A program a node with a common secret; each connects to those before it."""

    about = About(
        name="easytier",
        summary="EasyTier in user space (AES-128-GCM with a common key, UDP or TCP)",
        layer=3,
        # The key is common to all and does not change, and nothing keeps a packet from being taken twice.
        claims=Claims(confidentiality=True, integrity=True),
        evidence=TRANSPORTS["udp"][1],
        options={
            "transport": Option("choice", "udp", "what packets are carried over", choices=tuple(TRANSPORTS)),
            "encryption": Option("switch", "on", "AES-128-GCM, or nothing"),
            "relay": Option("switch", "off", "a relay is there, on a node of its own"),
            "port": Option("count", "11010", "UDP or TCP port of every endpoint", low=1, high=65535),
        },
        # The port at which it answers for its state is there once on a node.
        exclusive=(),
        ports=("udp {port}", "tcp {port}"),
        # That would be a network in its configuration.
        routes=False,
        relays=True,
        paths=PATHS,
        finds=path.Finder(False, UNPUNCHED),
        own_mtu=DEFAULT_MTU - ROOM,
        version=("easytier-core", "--version"),
        needs=Needs(modules=(kernel_modules.TUN,), programs=("easytier-core", "easytier-cli"), tools=("easytier",)),
        sources=Sources(recipes=(RECIPE,)),
        startup_seconds=2,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """What is below brings headers and evidence. Sizes over TCP hold for a packet in a segment of its own.

        Raises ValueError where there would be a relay that carries nothing.
        """
        transport = TRANSPORTS[str(options["transport"])]
        sealed, relayed, by_tcp = bool(options["encryption"]), paths.has_relay(options), options["transport"] == "tcp"
        paths.check_relay(cls.about.name, options)
        return cls.about._replace(
            claims=cls.about.claims if sealed else Claims(),
            evidence=transport.evidence,
            headers=(*transport.headers, PACKET, *([SEALED] if sealed else [])),
            own_mtu=DEFAULT_MTU - (ROOM if sealed else 0),
            ports=(f"{options['transport']} {{port}}",),
            paths=PATHS if relayed else {path.DIRECT: PATHS[path.DIRECT]},
            finds=path.Finder(False, UNPUNCHED, RELAY, RELAY if by_tcp else path.FAILED, asks_by_tcp=by_tcp),
            roles=(RELAY,) if relayed else (),
            control=(f"{options['transport']}:{{port}}",) if relayed else (),
        )

    def prepare(self, nodes: Nodes) -> None:
        """Makes the secret of the network, and the configuration files."""
        secret = self.file(self.context.first, "secret")
        secrets.make(nodes[self.context.first], secret, 32)
        for node in nodes.values():
            own = secret
            if node.name == RELAY:
                own = self.file(RELAY, "secret")
                secrets.make(node, own, 32)
            node.write(self.file(node.name, "names"), NAMES)
            secrets.fill(node, self.file(node.name, "toml"), self._configuration(node), own)

    @property
    def _relayed_alone(self) -> bool:
        return path.demanded(self.options) == RELAY

    def _configuration(self, node: Node) -> str:
        relay = node.name == RELAY
        above = self.context.above[self.context.first if relay else node.name]
        peers = [PEER.format(host=host, **self.options) for host in self._told(node)]
        text = CONFIG.format(
            address="" if relay else f'ipv4 = "{above.cidr}"',
            network=RELAY if relay else NETWORK,
            peers="".join(peers),
            secret=secrets.PLACEHOLDER,
            interface=above.interface,
            size=above.mtu + (ROOM if self.options["encryption"] else 0),
            **{**self.options, "encryption": str(bool(self.options["encryption"])).lower()},
        )
        if relay:
            return text + WITHOUT_INTERFACE
        besides = UNPUNCHED_HOLES if self.declared.roles else ""
        return text + (ALONE if self._relayed_alone else besides)

    def _told(self, node: Node) -> list[str]:
        """The addresses of those with which a node makes a connection."""
        if node.name == RELAY:
            return []
        relays = [role.host for role in self.context.roles.values()]
        earlier = [] if self._relayed_alone else self.context.before(node)
        return [*relays, *(self.context.below[name].host for name in earlier)]

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the program, which makes the interface."""
        names, config = (str(self.file(node.name, name)) for name in ("names", "toml"))
        self.start(node, "unshare", "--mount", "sh", "-c", RUN, names, config)

    def joined(self, nodes: Nodes) -> None:
        """Waits until all peers are reached by the path that a plan demands, or by any that there is."""
        wanted = path.demanded(self.options) or (path.ANY if self.declared.roles else path.DIRECT)
        for node in mesh.endpoints(self, nodes):
            what = f"{node.name} had no {REACHED_BY[wanted].words} all of its peers"
            self.wait(node, *self._asking(node, wanted), timeout=PATHS_TIMEOUT, what=what)

    def searched(self, nodes: Nodes) -> None:
        """Waits for direct paths, where there is a relay that is not asked for."""
        for node in mesh.endpoints(self, nodes) if self.declared.roles else []:
            paths.search(self, node, partial(self._asking, node))

    def _asking(self, node: Node, wanted: str) -> tuple[str, ...]:
        """The command that says whether all peers of an endpoint are reached by a path."""
        peers = [self.context.above[peer].address for peer in self.context.peers(node)]
        return ("sh", "-c", REACHED, REACHED_BY[wanted].pattern, *peers)
