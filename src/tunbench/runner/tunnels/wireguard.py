"""WireGuard, as the Linux kernel has it, or in user space by wireguard-go or BoringTun."""

from typing import NamedTuple

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import UDP, Format, Header
from tunbench.runner.declare.recipe import GCC, Recipe
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules

PAPER = 'Donenfeld, "WireGuard: Next Generation Kernel Network Tunnel", section 5.4.6'
UAPI = "/var/run/wireguard/{interface}.sock"
"""The socket through which `wg` speaks to a daemon; the kernel needs none."""


MODULE = Module("wireguard", "ip link add probe type wireguard", made_by_daemons="wireguard")

BORINGTUN = Recipe(
    name="boringtun",
    version="0.7.1",
    language="rust",
    parts={"boringtun-cli": "boringtun-cli"},
    oldest="1.88",
    seconds=90,
    space=3e8,
    calls=GCC,
)

REKEY_SECONDS = 125.0
"""Within which keys are new while packets pass: 120 s after a handshake its initiator begins another one, as it sends,
and no command lets it do so before. Section 6.2 of the paper, REKEY_AFTER_TIME."""

KERNEL_FRAMING = 32
"""Bytes around the packet in a transport data message, section 5.4.6 of the paper. The kernel's interface counts whole
messages, with their padding to a multiple of 16 B, which is not taken off here."""


class Implementation(NamedTuple):
    """What an implementation of the protocol declares."""

    modules: tuple[Module, ...]
    programs: tuple[str, ...]
    packages: tuple[str, ...]
    version: tuple[str, ...]
    tools: tuple[str, ...] = ()
    framing: int = 0
    user_space: bool = True


IMPLEMENTATIONS = {
    "kernel": Implementation(
        modules=(MODULE,),
        programs=("wg",),
        packages=("linux-image-amd64", "wireguard-tools"),
        version=("wg", "--version"),
        framing=KERNEL_FRAMING,
        user_space=False,
    ),
    "go": Implementation(
        modules=(kernel_modules.TUN,),
        programs=("wireguard-go", "wg"),
        packages=("wireguard-go", "wireguard-tools"),
        version=("wireguard-go", "--version"),
    ),
    "boringtun": Implementation(
        modules=(kernel_modules.TUN,),
        programs=("boringtun-cli", "wg"),
        tools=("boringtun",),
        packages=("wireguard-tools",),
        version=("boringtun-cli", "--version"),
    ),
}

DAEMONS = {
    "go": ("wireguard-go", "--foreground"),
    # It would become another user, which the lab does not have.
    "boringtun": ("boringtun-cli", "--foreground", "--disable-drop-privileges"),
}
"""The command of each implementation in user space, before the name of the interface that it shall make."""


class Wireguard(Tunnel):
    """A peer a node, each with its own key pair; cryptokey routing by the overlay's addresses."""

    about = About(
        name="wireguard",
        summary="WireGuard in the kernel, by wireguard-go or by BoringTun (Noise IK, ChaCha20-Poly1305, UDP)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # Message type 4 (transport data) in the first byte after the UDP header; Donenfeld, "WireGuard", section 5.4.6.
        evidence="udp port {port} and udp[8:4] = 0x04000000",
        headers=(
            UDP,
            Header("type, receiver, counter", 16, PAPER),
            Header("Poly1305 tag", 16, PAPER),
        ),
        options={
            "impl": Option("choice", "kernel", "implementation on every peer", choices=tuple(IMPLEMENTATIONS)),
            "port": Option("count", "51820", "UDP port of every peer", low=1, high=65535),
            "keepalive": Option(
                "count", "0", "seconds of silence behind which every peer sends an empty packet, 0: none", high=65535
            ),
        },
        families=(4, 6),
        outer=(4, 6),
        exclusive=("port",),
        ports=("udp {port}",),
        packages=("linux-image-amd64", "wireguard-tools"),
        version=("wg", "--version"),
        framing=KERNEL_FRAMING,
        fragmented=True,
        rekeys="wireguard",
        rekeys_within=REKEY_SECONDS,
        needs=Needs(modules=(MODULE,), programs=("wg",)),
        sources=Sources(packages={"wg": "wireguard-tools"}, recipes=(BORINGTUN,)),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """What it needs follows from the implementation."""
        chosen = IMPLEMENTATIONS[str(options["impl"])]
        return cls.about._replace(
            packages=chosen.packages, version=chosen.version, framing=chosen.framing, user_space=chosen.user_space
        ).needing(modules=chosen.modules, programs=chosen.programs, tools=chosen.tools)

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """BoringTun pads nothing: boringtun 0.7.1, src/noise/session.rs, format_packet_data()."""
        plain = super().format(options, outer)
        return plain if options["impl"] == "boringtun" else padded(plain)

    def prepare(self, nodes: Nodes) -> None:
        """Makes a key pair for each node."""
        for node in nodes.values():
            node.run("wg", "genkey", into=self.file(node.name, "private.key"))
            node.run(
                *("wg", "pubkey"), stdin=self.file(node.name, "private.key"), into=self.file(node.name, "public.key")
            )

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface and tells it its peers."""
        interface = self.context.above[node.name].interface
        port = str(self.options["port"])
        if daemon := DAEMONS.get(str(self.options["impl"])):
            self.start(node, *daemon, interface)
            socket = UAPI.format(interface=interface)
            self.wait(node, "test", "-S", socket, what=f"{daemon[0]} on {node.name} did not listen")
        else:
            node.run("ip", "link", "add", interface, "type", "wireguard")
        key = self.file(node.name, "private.key")
        peers = [word for peer in self.context.peers(node) for word in self._peer(node, peer)]
        node.run("wg", "set", interface, "listen-port", port, "private-key", str(key), *peers)
        self.settle(node)

    def rekey(self, node: Node) -> None:
        """Waits for the protocol's own timer, without a command meanwhile."""
        node.run("sleep", f"{REKEY_SECONDS:g}", timeout=2 * REKEY_SECONDS)

    def keys(self, node: Node) -> str:
        """When the last handshake with each peer was."""
        return node.ask("wg", "show", self.context.above[node.name].interface, "latest-handshakes").stdout

    def _peer(self, node: Node, peer: str) -> list[str]:
        """The words that tell a node one of its peers."""
        public = node.read_word(self.file(peer, "public.key"))
        inside, endpoint = (
            ",".join(self.context.carries(node, peer)),
            f"{self.context.below[peer].host}:{self.options['port']}",
        )
        keepalive = str(self.options["keepalive"])
        return ["peer", public, "allowed-ips", inside, "endpoint", endpoint, "persistent-keepalive", keepalive]


def padded(plain: Format) -> Format:
    """Packets padded to 16 bytes, but not beyond the MTU: so does calculatePaddingSize() of wireguard-go."""
    return plain._replace(block=16, clipped=True)
