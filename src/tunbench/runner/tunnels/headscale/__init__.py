"""Headscale: a control plane of one's own for Tailscale's clients, which carry WireGuard in user space."""

import re
from collections.abc import Mapping
from functools import partial
from itertools import permutations

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import TCP, TLS, Format, Header
from tunbench.runner.declare.path import DIRECT, Finder, Path
from tunbench.runner.declare.recipe import Recipe
from tunbench.runner.declare.topology import CONTROL, RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.headscale import configuration
from tunbench.runner.tunnels.shared import certificates, kernel_modules, mesh, names, paths
from tunbench.runner.tunnels.wireguard import Wireguard, padded

SILENT = ("TS_DISABLE_PORTMAPPER=1", "TS_DISABLE_UPNP=1")
"""No router is asked for an open port where none would open it."""

UP = ("--accept-dns=false", "--netfilter-mode=off", "--timeout=10s")
"""The lab has no names, and no node is a firewall; who has not enrolled in time tries again."""

PATHS = {
    DIRECT: Path("from end to end, by UDP"),
    "derp": Path("through the relay, by TLS", evidence="tcp port 443", through=CONTROL),
}

DERP = Header("DERP type, length, source key", 37, "Tailscale 1.102.5, derp/derp.go, FrameRecvPacket")
"""What a packet of WireGuard has before it where it comes from the relay."""

ENVIRONMENTS = {"derp": ("TS_DEBUG_ALWAYS_USE_DERP=true",)}
"""By path, what a client needs to take no other one: Tailscale 1.102, wgengine/magicsock/debugknobs.go."""

VIA_DERP = '"$@" | grep -q "via DERP"'
"""Shell text: whether a client's ping was answered through the relay."""

# What a client has learnt is in its folder, $0, and by which key one knows the machine, too. With another key it would
# be another machine to the control plane, which would give it the next address.
FORGET_ALL_BUT_MACHINE = """\
umask 077
machine=$(grep -o '"_machinekey": *"[^"]*"' "$0/tailscaled.state")
rm -rf "$0"
mkdir "$0"
printf '{%s}\\n' "$machine" > "$0/tailscaled.state"
"""

DEFAULT_MTU = 1280
"""Bytes of the client's interface, whatever is below: Tailscale 1.102, net/tstun/mtu.go, DefaultTUNMTU()."""

CLIENT_TIMEOUT = 45.0
"""Seconds in which an endpoint must have enrolled."""


HEADSCALE = Recipe(
    name="headscale",
    version="0.28.0",
    language="go",
    module="github.com/juanfont/headscale",
    parts={"headscale": "cmd/headscale"},
    oldest="1.25.5",
    seconds=193,
    space=1e9,
)
TAILSCALE = Recipe(
    name="tailscale",
    version="1.102.5",
    language="go",
    module="tailscale.com",
    parts={"tailscaled": "cmd/tailscaled", "tailscale": "cmd/tailscale", "derper": "cmd/derper"},
    oldest="1.26.6",
    seconds=222,
    space=1.1e9,
    stamps=("tailscale.com/version.longStamp", "tailscale.com/version.shortStamp"),
)


class Headscale(Tunnel):
    """Headscale on the node `control`; each endpoint enrols with a key that can be used once."""

    about = About(
        name="headscale",
        summary="Headscale with Tailscale's clients (WireGuard in user space, direct paths, DERP as a relay)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        evidence=Wireguard.about.evidence,
        headers=Wireguard.about.headers,
        options={
            "derp": Option(
                "choice", "embedded", "relay and STUN: in headscale, or derper on a node", choices=("embedded", "own")
            ),
            "port": Option("count", "41641", "UDP port of every endpoint", low=1, high=65535),
            "gso": Option("switch", "on", "datagrams in bundles (UDP_SEGMENT), or one by one"),
        },
        # Its addresses and its policy routing are there once in a node.
        exclusive=(),
        ports=("udp {port}",),
        # That would have to be approved by the control plane.
        routes=False,
        relays=True,
        paths=PATHS,
        finds=Finder(True, "tailscale.com/blog/how-nat-traversal-works, 2020", relay="derp", without_udp="derp"),
        roles=(CONTROL,),
        control=("tcp:443",),
        own_mtu=DEFAULT_MTU,
        version=("tailscale", "version"),
        needs=Needs(
            modules=(kernel_modules.TUN,),
            programs=("headscale", "tailscaled", "tailscale"),
            tools=("headscale", "tailscale"),
        ),
        sources=Sources(recipes=(HEADSCALE, TAILSCALE)),
        startup_seconds=13,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """A relay brings headers; one of its own is a node more."""
        about = cls.about
        if options["path"] == "derp":
            about = about._replace(headers=(TCP, TLS, DERP, *Wireguard.about.headers[1:]))
        if not options["gso"]:
            about = about.needing(programs=(*about.needs.programs, "ethtool"))
        if options["derp"] == "own":
            through_own = PATHS | {"derp": PATHS["derp"]._replace(through=RELAY)}
            about = about.needing(programs=(*about.needs.programs, "derper"))
            about = about._replace(roles=(CONTROL, RELAY), paths=through_own)
        return about

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets are padded as wireguard-go does it."""
        return padded(super().format(options, outer))

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """Addresses are from 100.64.0.0/10, the shared address space (RFC 6598), which the client insists on."""
        return {
            name: overlay._replace(address=f"100.64.0.{number}", prefix=32)
            for number, (name, overlay) in enumerate(super().yields(options, index, below).items(), start=1)
        }

    def prepare(self, nodes: Nodes) -> None:
        """Makes an authority, a certificate for what clients speak to, and the configuration of the control plane."""
        control = nodes[CONTROL]
        ca = certificates.authority(control, self.file(CONTROL, "ca"))
        for role in self.declared.roles:
            node, address = nodes[role], self.context.roles[role].address
            # derper takes the pair of files that has the name of its host.
            stem = self.file(role, "certs") / address
            node.run("mkdir", "-p", str(stem.parent))
            certificates.issue(node, ca, stem, "serverAuth", address=address)
        own = self.options["derp"] == "own"
        if own:
            control.write(
                self.file(CONTROL, "derp.yaml"), configuration.DERP_MAP.format(relay=self.context.roles[RELAY].address)
            )
        values = {
            "control": self._control,
            "port": 443,
            "tls": self.file(CONTROL, "certs") / self._control,
            "state": self.file(CONTROL, "state"),
            "socket": self._socket(CONTROL),
            "map": self.file(CONTROL, "derp.yaml"),
        }
        control.write(self.file(CONTROL, "config.yaml"), configuration.of_server(own, values))

    @property
    def _control(self) -> str:
        return self.context.roles[CONTROL].address

    def _socket(self, node: str) -> str:
        return f"/run/{self.about.name}-{self.context.position}.sock"

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the control plane, the relay, or a client."""
        if node.name == CONTROL:
            self._serve(node)
        elif node.name == RELAY:
            self._relay(node)
        else:
            self._join(node, nodes[CONTROL])

    def _serve(self, node: Node) -> None:
        node.run("mkdir", "-p", str(self.file(CONTROL, "state")))
        self.start(node, *self._headscale("serve"))
        self.wait(node, *self._headscale("users", "list"), what="headscale did not answer")
        if not node.ask(*self._headscale("users", "list", "--name", "lab")).stdout.count("lab"):
            node.run(*self._headscale("users", "create", "lab"))

    def _headscale(self, *words: str) -> tuple[str, ...]:
        return ("headscale", "--config", str(self.file(CONTROL, "config.yaml")), *words)

    def _relay(self, node: Node) -> None:
        address = self.context.roles[RELAY].address
        self.start(
            *(node, "derper", "-a", f"{address}:443", "-http-port", "-1", "-hostname", address),
            *("-certmode", "manual", "-certdir", str(self.file(RELAY, "certs"))),
            *("-c", str(self.file(RELAY, "derper.json"))),
        )

    def _join(self, node: Node, control: Node) -> None:
        overlay, state = self.context.above[node.name], self.file(node.name, "state")
        if not self.options["gso"]:
            # Tailscale has no word for it. Without checksums by the interface the kernel refuses UDP_SEGMENT, and
            # Tailscale goes on without (Linux 6.1, net/ipv4/udp.c, udp_send_skb(); net/batching of Tailscale).
            node.run("ethtool", "-K", self.context.below[node.name].interface, "tx", "off")
        node.run("mkdir", "-p", str(state))
        # Where UDP is blocked it looks for a captive portal by asking its maker, and cannot be told not to.
        nameless = names.unknown(node, self.file(node.name, "names"))
        self.start(
            node,
            *(
                *nameless,
                "env",
                *([] if node.name in self.context.asking else SILENT),
                *ENVIRONMENTS.get(str(self.options["path"]), ()),
            ),
            *(f"SSL_CERT_FILE={self.file(CONTROL, 'ca')}.crt", f"TS_DEBUG_MTU={overlay.mtu}"),
            *("tailscaled", "--no-logs-no-support", f"--tun={overlay.interface}", f"--port={self.options['port']}"),
            *(f"--statedir={state}", f"--socket={self._socket(node.name)}"),
        )
        self.wait(node, "test", "-S", self._socket(node.name), what=f"tailscaled on {node.name} did not listen")
        words = (f"--login-server=https://{self._control}", *self._key(node, control), *UP)
        self.wait(node, *self._tailscale(node, "up"), *words, timeout=CLIENT_TIMEOUT, what=f"{node.name} did not enrol")
        mesh.check_address(self, node, *self._tailscale(node, "ip", "-4"))

    def _key(self, node: Node, control: Node) -> list[str]:
        """The words that give a client its key, which can be used once; one that is known needs none."""
        key = self.file(node.name, "authkey")
        if node.exists(key):
            return []
        control.run(*self._headscale("preauthkeys", "create", "--user", "1"), into=key)
        return [f"--auth-key=file:{key}"]

    def _tailscale(self, node: Node, *words: str) -> tuple[str, ...]:
        return ("tailscale", f"--socket={self._socket(node.name)}", *words)

    def joined(self, nodes: Nodes) -> None:
        """Waits for the path that a plan demands: the client's own ping says by which one an answer came."""
        for first, second in permutations(self.context.above, 2):
            node, there = nodes[first], self.context.above[second].address
            paths.wait(self, node, partial(self._asking, node, there), second, partial(self._tried, node, there))

    def searched(self, nodes: Nodes) -> None:
        """Waits for direct paths where any will do, each way: one end may have found one that the other has not yet."""
        for first, second in permutations(self.context.above, 2):
            node, there = nodes[first], self.context.above[second].address
            paths.search(self, node, partial(self._asking, node, there))

    def _asking(self, node: Node, there: str, wanted: str) -> tuple[str, ...]:
        """The command that says whether an answer from an address comes by a path."""
        if wanted == DIRECT:
            return self._tailscale(node, "ping", "--until-direct", "--c=1", "--timeout=1s", there)
        ping = self._tailscale(node, "ping", "--until-direct=false", "--c=1", "--timeout=1s", there)
        return ("sh", "-c", VIA_DERP, "sh", *ping)

    def _tried(self, node: Node, there: str) -> str:
        """How the client reaches an address instead."""
        asked = self._tailscale(node, "ping", "--until-direct=false", "--c=1", "--timeout=1s", there)
        # The name that the client makes up for its peer is another one each time.
        return "; ".join(re.sub(r"pong from \S+", "pong from", node.ask(*asked).stdout.strip()).splitlines())

    def down(self, node: Node) -> None:
        """Stops the daemon, which takes its interface, routes and rules away."""
        super().down(node)
        if node.name in self.context.above:
            node.try_run("tailscaled", "--cleanup", "--no-logs-no-support")

    def forget(self, node: Node) -> None:
        """Takes away the keys with which a client is known, and the memory of the control plane."""
        node.run("rm", "-rf", str(self.file(node.name, "state")), str(self.file(node.name, "authkey")))

    def leave(self, node: Node, nodes: Nodes) -> None:
        """Takes away what a client has learnt but which machine it is."""
        node.run("sh", "-c", FORGET_ALL_BUT_MACHINE, str(self.file(node.name, "state")))
        node.run("rm", "-f", str(self.file(node.name, "authkey")))
