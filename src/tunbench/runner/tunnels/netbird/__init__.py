"""NetBird: a mesh of WireGuard peers that a management server joins, with signal, STUN and relay of one's own.

All four run on the node `control`, the users of the management server in an identity provider that it holds itself.
Nobody logs in: setting the server up yields a token, and by its HTTP interface it makes a key for each endpoint, which
can be used once, and gives each its address (its own choice is a random one). The client uses WireGuard of the kernel
where there is one, as here; `impl=go` has its own. Paths are found by ICE (RFC 8445): a client first speaks through the
relay, and looks for direct paths meanwhile.

What would leave the lab is turned off: usage metrics, geolocation, names, and updates of clients. The server looks for
a newer version of itself whatever it is told, and a client asks clouds whether it runs in theirs; they get a proxy that
does not exist. A router is asked for an open port where it opens any. A client is no firewall here and takes no routes.
Only IPv4 is carried.
"""

from functools import partial
from typing import NamedTuple

from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.recipe import GCC, Recipe
from tunbench.runner.declare.topology import CONTROL, RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.netbird import control_plane, relay_paths
from tunbench.runner.tunnels.shared import kernel_modules, mesh, outside, paths
from tunbench.runner.tunnels.wireguard import Wireguard, padded

# It asks seven clouds whether it runs in theirs, whatever it is told: a proxy that is not there keeps that on the node.
CLIENT = (
    *("NB_DISABLE_SSH_CONFIG=true", "NB_METRICS_PUSH_ENABLED=false"),
    *outside.NOTHING,
)
"""Nothing is written for ssh, and nothing is told to the maker."""

SILENT = ("NB_DISABLE_NAT_MAPPER=true",)
"""No router is asked for an open port where none would open it."""

UP = (
    *("--disable-dns", "--disable-firewall", "--disable-client-routes", "--disable-server-routes"),
    *("--disable-ipv6", "--network-monitor=false"),
)
"""The lab has no names, and no node is a firewall or a router."""

SAID_OF_PATHS = "netbird status --detail --daemon-addr \"$0\" | grep -E 'Connection type|ICE candidate' | sed 's/^ *//'"
"""Shell text: the kinds of paths that a client has, and what it has found of their ends."""

LAST_ANSWER = "sed -n 's/.* desc = //p' \"$0\" | tail -n 1"
"""Shell text: the last answer of a server in the log of a client, without the code of gRPC."""

DEFAULT_MTU = 1280
"""Bytes of the client's interface, whatever is below: NetBird 0.71.4, client/iface/iface.go, DefaultMTU."""

ENROLMENT_TIMEOUT = 25.0
"""Seconds in which an endpoint must have enrolled."""


SOURCE = "github.com/netbirdio/netbird"

RECIPE = Recipe(
    name="netbird",
    version="0.71.4",
    language="go",
    module=SOURCE,
    parts={
        "netbird": "client",
        "netbird-mgmt": "management",
        "netbird-signal": "signal",
        "netbird-relay": "relay",
    },
    oldest="1.25.5",
    seconds=430,
    space=2.5e9,
    cgo=("netbird-mgmt",),
    stamps=(f"{SOURCE}/version.version",),
    calls=GCC,
)


class Implementation(NamedTuple):
    """Who carries packets: the modules for that, the environment that chooses it, and what its interface counts."""

    modules: tuple[Module, ...]
    environment: tuple[str, ...]
    framing: int | None
    user_space: bool


IMPLEMENTATIONS = {
    "kernel": Implementation(Wireguard.about.needs.modules, (), Wireguard.about.framing, user_space=False),
    "go": Implementation((kernel_modules.TUN,), ("NB_WG_KERNEL_DISABLED=true",), framing=0, user_space=True),
}


class Netbird(Tunnel):
    """Management, signal, STUN and relay on the node `control`; each endpoint enrols with a key that is used once."""

    about = About(
        name="netbird",
        summary="NetBird with a management server of its own (WireGuard, direct paths by ICE, a relay)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        evidence=Wireguard.about.evidence,
        headers=Wireguard.about.headers,
        options={
            "impl": Option("choice", "kernel", "WireGuard of the kernel or the client's own", choices=("kernel", "go")),
            "port": Option("count", "51820", "UDP port of every endpoint", low=1, high=65535),
        },
        # Its policy routing is there once in a node.
        exclusive=(),
        ports=("udp {port}",),
        # The management server would have to be told of them.
        routes=False,
        relays=True,
        paths=relay_paths.PATHS,
        finds=relay_paths.FINDS,
        roles=(CONTROL,),
        control=tuple(f"tcp:{port}" for port in (control_plane.MANAGEMENT, control_plane.SIGNAL)),
        own_mtu=DEFAULT_MTU,
        version=("netbird", "version"),
        framing=Wireguard.about.framing,
        needs=Needs(
            modules=Wireguard.about.needs.modules,
            programs=("netbird", "netbird-mgmt", "netbird-signal", "netbird-relay", "openssl", "python3"),
            tools=("netbird",),
        ),
        sources=Sources(packages={"turnserver": "coturn"}, addons=(relay_paths.COTURN,), recipes=(RECIPE,)),
        startup_seconds=30,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The kernel's module, or the client's own WireGuard; a TURN server is a node more."""
        chosen = IMPLEMENTATIONS[str(options["impl"])]
        about = cls.about._replace(
            framing=chosen.framing,
            user_space=chosen.user_space,
            headers=(*relay_paths.headers(options), *Wireguard.about.headers[1:]),
        )
        asked = str(options["path"])
        if relay_paths.FORCED.get(asked, relay_paths.Forced()).without:
            about = about.needing(programs=(*about.needs.programs, "nft"))
        if asked == "turn":
            programs = (*about.needs.programs, "turnserver")
            about = about.needing(programs=programs, addons=(relay_paths.COTURN.name,))
            return about._replace(roles=(CONTROL, RELAY)).needing(modules=chosen.modules)
        return about._replace(paths=relay_paths.UNASKED).needing(modules=chosen.modules)

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets are padded as WireGuard does it."""
        return padded(super().format(options, outer))._replace(spare=relay_paths.spare(options))

    def prepare(self, nodes: Nodes) -> None:
        """Makes what the control plane needs."""
        control_plane.configure(self, nodes[CONTROL])

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the control plane, or a client."""
        if node.name == CONTROL:
            control_plane.serve(self, node)
        elif node.name == RELAY:
            relay_paths.serve_turn(self, node, control_plane.STUN)
        else:
            self._join(node, nodes[CONTROL])

    def _join(self, node: Node, control: Node) -> None:
        overlay, state, key = self.context.above[node.name], self.file(node.name, "state"), self.file(node.name, "key")
        node.run("mkdir", "-p", str(state))
        chosen = IMPLEMENTATIONS[str(self.options["impl"])].environment
        kept = (f"NB_STATE_DIR={state}", f"SSL_CERT_FILE={self.file(CONTROL, 'ca.crt')}")
        silent = () if node.name in self.context.asking else SILENT
        environment = (*silent, *CLIENT, *relay_paths.environment(self), *chosen, *kept)
        daemon = ("netbird", "service", "run", "--daemon-addr", self._socket, "--log-file", "console")
        self.start(node, "env", *environment, *daemon)
        self.wait(node, *self._netbird("status"), what=f"the client on {node.name} did not answer")
        url = f"https://{control_plane.control_address(self)}:{control_plane.MANAGEMENT}"
        server = ("--management-url", url, "--hostname", node.name)
        if not node.exists(key):
            control_plane.make_key(self, control, node, key)
            self._enrol(node, *server, "--setup-key-file", str(key))
            control_plane.choose_address(self, control, node)
        node.run(
            *(*self._netbird("up"), *server, "--interface-name", overlay.interface, "--mtu", str(overlay.mtu)),
            *("--wireguard-port", str(self.options["port"]), *UP),
            timeout=ENROLMENT_TIMEOUT,
        )
        mesh.check_address(self, node, *self._netbird("status"), "--ipv4")

    @property
    def _socket(self) -> str:
        return f"unix:///run/{self.log}.sock"

    def _netbird(self, command: str) -> tuple[str, ...]:
        return ("netbird", command, "--daemon-addr", self._socket)

    def _enrol(self, node: Node, *words: str) -> None:
        """Enrols an endpoint. Raises StackFailed with what the server said last: the client tries again and again."""
        result = node.try_run(*self._netbird("login"), *words, timeout=ENROLMENT_TIMEOUT)
        if result.status != 0:
            said = node.ask("sh", "-c", LAST_ANSWER, str(node.log(self.log))).stdout.strip()
            why = said or result.stderr.strip() or "nothing was said"
            raise StackFailed(f"netbird: {node.name} did not enrol within {ENROLMENT_TIMEOUT:g} s: {why}")

    def joined(self, nodes: Nodes) -> None:
        """Waits for the paths that a plan demands."""
        for node in mesh.endpoints(self, nodes):
            peers = " and ".join(self.context.peers(node))
            paths.wait(self, node, partial(self._asking, node), peers, partial(self._tried, node))

    def searched(self, nodes: Nodes) -> None:
        """Waits for direct paths where any will do."""
        for node in mesh.endpoints(self, nodes):
            paths.search(self, node, partial(self._asking, node))

    def _asking(self, node: Node, wanted: str) -> tuple[str, ...]:
        """The command that says whether a client's paths to all of its peers are of a kind."""
        count = str(len(self.context.peers(node)))
        return ("sh", "-c", relay_paths.COUNT, self._socket, count, relay_paths.kind_of(wanted))

    def _tried(self, node: Node) -> str:
        """What the client says of its paths."""
        return "; ".join(node.ask("sh", "-c", SAID_OF_PATHS, self._socket).stdout.split("\n")).strip("; ")

    def down(self, node: Node) -> None:
        """Lets a client take its interface, routes and rules away, and stops the daemons."""
        if node.name in self.context.above:
            node.try_run(*self._netbird("down"), timeout=10)
            # There is nothing left to do for it; asked to end, it would sleep for two seconds.
            for daemon in self.daemons.pop(node.name, []):
                daemon.kill()
        elif node.name == CONTROL:
            relay_paths.let_others_in(self, node)
        super().down(node)

    def leave(self, node: Node, nodes: Nodes) -> None:
        """Takes a client out of the network, where its name and its address are then free."""
        control_plane.strike_out(self, nodes[CONTROL], node)
        self.forget(node)

    def forget(self, node: Node) -> None:
        """Takes away the keys with which a client is known, and the memory of the control plane."""
        if node.name == RELAY:
            return
        known = ("state", "key") if node.name in self.context.above else ("data", "token")
        node.run("rm", "-rf", *(str(self.file(node.name, name)) for name in known))
