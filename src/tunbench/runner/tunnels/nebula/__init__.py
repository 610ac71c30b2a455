"""Nebula: an overlay whose hosts have certificates, in user space over UDP."""

from typing import NamedTuple

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import ADDRESS_BITS, Overlay
from tunbench.runner.declare.packet_format import UDP, Format, Header
from tunbench.runner.declare.path import DIRECT, Finder, Path
from tunbench.runner.declare.recipe import Recipe
from tunbench.runner.declare.topology import CONTROL, RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel, address
from tunbench.runner.tunnels.nebula import statistics
from tunbench.runner.tunnels.nebula.configuration import (
    ALLOWED,
    ANY_ADDRESS,
    CONFIG,
    HAS_RELAY,
    IS_RELAY,
    KNOWN_PEERS_COMMENT,
    LIGHTHOUSE,
    LIGHTHOUSE_COMMENT,
    PEER,
    RELAY_COMMENT,
    RELAYED_ALONE,
)
from tunbench.runner.tunnels.shared import kernel_modules, paths

NUMBERS = {CONTROL: 254, RELAY: 253}
"""The numbers of the lighthouse and the relay among the addresses of the overlay."""

LARGEST_MTU = 9001 - 32
"""Bytes: the daemon's buffers (Nebula 1.6.1, udp/udp_all.go, MTU) less its header and tag."""

HEADER = "Nebula 1.6.1, header/header.go"

# The header's second byte says whether a packet of another host is in the message.
PATHS = {
    DIRECT: Path("from end to end", evidence="udp port {port} and udp[8:2] = 0x1100"),
    "relay": Path(
        "through a relay, which wraps packets once more; it comes with a lighthouse",
        evidence="udp port {port} and udp[8:2] = 0x1101",
        through=RELAY,
    ),
}

RELAYED = (
    Header("of the relay: version, type, index, counter", 16, HEADER),
    Header("of the relay: AEAD tag", 16, "Nebula 1.6.1, inside.go, SendVia()"),
)
"""What a packet has more through a relay."""


RECIPE = Recipe(
    name="nebula",
    version="1.10.3",
    language="go",
    module="github.com/slackhq/nebula",
    # Debian has an older one: the release stands in the names of this.
    parts={"nebula-1.10": "cmd/nebula", "nebula-cert-1.10": "cmd/nebula-cert"},
    oldest="1.25",
    seconds=76,
    space=4e8,
    stamps=("main.Build",),
)


class Release(NamedTuple):
    """What a release needs, and the packages that decide on its version."""

    needs: Needs
    packages: tuple[str, ...] = ()


RELEASES = {
    "1.6": Release(Needs((kernel_modules.TUN,), ("nebula", "nebula-cert")), packages=("nebula",)),
    "1.10": Release(Needs((kernel_modules.TUN,), RECIPE.programs, tools=("nebula",))),
}
"""Debian's release, and that of the toolbox."""


class Nebula(Tunnel):
    """A mesh: each host has a certificate of the shard's authority, and a static map of hosts or a lighthouse."""

    about = About(
        name="nebula",
        summary="Nebula in user space (Noise IX, certificates, UDP)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # Version 1 in the upper half of the first byte, type 1 (message) in the lower.
        evidence="udp port {port} and udp[8] = 0x11",
        headers=(
            UDP,
            Header("version, type, index, counter", 16, HEADER),
            Header("AEAD tag", 16, "RFC 5116, sections 5.1 and 5.2, and RFC 8439, section 2.8"),
        ),
        options={
            "cipher": Option("choice", "aes", "cipher, the same on every host", choices=("aes", "chachapoly")),
            "lighthouse": Option("switch", "off", "a lighthouse on the node control tells where others are"),
            "relay": Option("switch", "off", "a relay is there, on a node of its own, with a lighthouse"),
            "release": Option("choice", "1.6", "Debian's, or that of the toolbox", choices=tuple(RELEASES)),
            "port": Option("count", "4242", "UDP port of every host", low=1, high=65535),
            "alive-interval": Option(
                "count", "5", "seconds without a packet behind which a peer is asked for a sign", low=1, high=3600
            ),
            "deletion-interval": Option(
                "count", "10", "seconds that it has for that, before its tunnel is forgotten", low=1, high=3600
            ),
            "punch": Option(
                "switch", "off", "empty packets keep mappings of NATs alive, with release=1.6 one each ten seconds"
            ),
            "respond": Option(
                "switch", "off", "who is called through a lighthouse calls back, as one behind a symmetric NAT must"
            ),
        },
        outer=(4, 6),
        exclusive=("port",),
        ports=("udp {port}",),
        # That would be written into the certificate of each host.
        routes=False,
        paths=PATHS,
        finds=Finder(True, "Nebula's documentation: lighthouse, punchy and relay", relay="relay"),
        largest_mtu=LARGEST_MTU,
        packages=RELEASES["1.6"].packages,
        version=("nebula", "-version"),
        needs=RELEASES["1.6"].needs,
        sources=Sources(packages={"nebula-cert": "nebula"}, recipes=(RECIPE,)),
        refusals=statistics.REFUSALS,
        counts_within=statistics.INTERVAL,
        startup_seconds=5,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The release brings its programs, and a lighthouse and a relay are nodes more. Raises ValueError."""
        release = RELEASES[str(options["release"])]
        about = cls.about._replace(**release._asdict(), version=(release.needs.programs[0], "-version"))
        paths.check_relay(cls.about.name, options)
        if not paths.has_relay(options):
            about = about._replace(paths={DIRECT: PATHS[DIRECT]})
        if not has_lighthouse(options):
            return about
        roles = (CONTROL, RELAY) if paths.has_relay(options) else (CONTROL,)
        return about._replace(relays=True, roles=roles, control=("udp:{port}",))

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """What has to fit through the relay as well is smaller on a direct path."""
        usual = super().format(options, outer)
        if not paths.has_relay(options):
            return usual
        wrapped = sum(header.size for header in RELAYED)
        spare = 0 if options["path"] == "relay" else wrapped
        return usual._replace(outside=(*usual.outside, *RELAYED), spare=spare)

    def prepare(self, nodes: Nodes) -> None:
        """Makes an authority, a certificate for each node, and the configuration files."""
        first, *_ = nodes.values()
        ca, sign = self.file(first.name, "ca"), self.declared.needs.programs[1]
        first.run(sign, "ca", "-name", "Tunbench", "-out-crt", f"{ca}.crt", "-out-key", f"{ca}.key")
        for node in nodes.values():
            host, above = self.file(node.name, "host"), self._above(node.name)
            node.run(
                *(sign, "sign", "-ca-crt", f"{ca}.crt", "-ca-key", f"{ca}.key"),
                *("-name", node.name, "-ip", above.cidr, "-out-crt", f"{host}.crt", "-out-key", f"{host}.key"),
            )
            text = CONFIG.format(
                ca=ca,
                host=host,
                any=ANY_ADDRESS[self.context.outer],
                interface=above.interface,
                size=above.mtu,
                **self._found(node),
                alive=self.options["alive-interval"],
                deletion=self.options["deletion-interval"],
                **{name: str(bool(self.options[name])).lower() for name in ("punch", "respond")},
                path=statistics.PATH,
                interval=1000 * statistics.INTERVAL,
                **{name: self.options[name] for name in ("cipher", "port")},
            )
            node.write(self.file(node.name, "config.yml"), text)

    def _above(self, name: str) -> Overlay:
        """What the layer yields on a node; one with a role has an address besides those of the endpoints."""
        if name not in NUMBERS:
            return self.context.above[name]
        some = next(iter(self.context.above.values()))
        inside, prefix = address(some.family, self.context.position, NUMBERS[name])
        return some._replace(address=inside, prefix=prefix)

    def _found(self, node: Node) -> dict[str, str]:
        """The lines that say where others are: all of them, or the lighthouse that is asked."""
        asked, relayed = has_lighthouse(self.options), paths.has_relay(self.options)
        known = [name for name in (self.declared.roles if asked else self.context.peers(node)) if name != node.name]
        below = {**self.context.below, **self.context.roles}
        peers = [
            PEER.format(inside=self._above(name).address, outside=below[name].host, port=self.options["port"])
            for name in known
        ]
        return {
            "reason": RELAY_COMMENT if relayed else LIGHTHOUSE_COMMENT if asked else KNOWN_PEERS_COMMENT,
            "peers": "\n".join(peers) or "  {}",
            "lighthouse": self._lighthouse(node) if asked else "",
            "relay": self._relay(node) if relayed else "",
        }

    def _lighthouse(self, node: Node) -> str:
        """The lines of the lighthouse, or those that say who it is, and to whom alone the host may speak."""
        here = node.name == CONTROL
        hosts = "" if here else f'"{self._above(CONTROL).address}"'
        text = LIGHTHOUSE.format(here=str(here).lower(), hosts=hosts)
        if self.options["path"] != "relay" or node.name in NUMBERS:
            return text
        length = ADDRESS_BITS[self.context.outer]
        allowed = [ALLOWED.format(address=role.address, length=length) for role in self.context.roles.values()]
        return text + RELAYED_ALONE.format(allowed="\n".join(allowed))

    def _relay(self, node: Node) -> str:
        """The lines of the relay, or those that say through whom a host can be reached."""
        if node.name in NUMBERS:
            return IS_RELAY if node.name == RELAY else ""
        return HAS_RELAY.format(relay=self._above(RELAY).address)

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface and gives it its address."""
        self.start(node, self.declared.needs.programs[0], "-config", str(self.file(node.name, "config.yml")))

    def refused(self, node: Node) -> dict[str, int]:
        """What the daemon has counted of dropped packets, and said in its log."""
        return statistics.refused(node, int(self.options["port"]), node.log(self.log))


def has_lighthouse(options: Options) -> bool:
    """Whether hosts ask a lighthouse, which also says through which relay others are reached."""
    return bool(options["lighthouse"]) or paths.has_relay(options)
