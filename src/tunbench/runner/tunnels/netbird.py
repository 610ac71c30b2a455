"""NetBird: a mesh of WireGuard peers that a management server joins, with signal, STUN and relay of one's own.

All four run on the node `control`, the users of the management server in an identity provider that it holds itself.
Nobody logs in: setting the server up yields a token, and by its HTTP interface it makes a key for each endpoint, which
can be used once, and gives each its address (its own choice is a random one). The client uses WireGuard of the kernel
where there is one, as here; `impl=go` has its own. Paths are found by ICE (RFC 8445): a client first speaks through the
relay, and the overlay is up when every client says that all its paths are direct.

What would leave the lab is turned off: usage metrics, geolocation, port mapping, names, and updates of clients. The
server looks for a newer version of itself whatever it is told, and a client asks clouds whether it runs in theirs; they
get a proxy that does not exist. A client is no firewall here and takes no routes. Only IPv4 is carried, and every
endpoint is reached without a NAT.
"""

import json
from collections.abc import Mapping, Sequence
from ipaddress import ip_interface
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import CONTROL, About, Claims, StackFailed, Tunnel
from tunbench.runner.tunnels.shared import certificates, secrets
from tunbench.runner.tunnels.shared.rest_api import Api
from tunbench.runner.tunnels.wireguard import Wireguard

MANAGEMENT, SIGNAL, STUN, RELAY = 443, 10000, 3478, 33080
"""Ports of the node `control`."""

# What is not the server's own default: where its companions are, its certificate, and users of its own.
CONFIG = """\
{{
  "Stuns": [{{"Proto": "udp", "URI": "stun:{control}:{stun}"}}],
  "Relay": {{"Addresses": ["rels://{control}:{relay}"], "CredentialsTTL": "24h", "Secret": "@SECRET@"}},
  "Signal": {{"Proto": "https", "URI": "{control}:{signal}"}},
  "Datadir": "{data}",
  "HttpConfig": {{"CertFile": "{tls}.crt", "CertKey": "{tls}.key"}},
  "StoreConfig": {{"Engine": "sqlite"}},
  "EmbeddedIdP": {{"Enabled": true, "Issuer": "https://{control}/oauth2"}}
}}
"""

OWNER = """\
{"email": "lab@lab.invalid", "name": "lab", "password": "@SECRET@", "create_pat": true}
"""

SETTINGS = {
    "peer_login_expiration_enabled": False,
    "peer_login_expiration": 86400,
    "peer_inactivity_expiration_enabled": False,
    "peer_inactivity_expiration": 86400,
    "regular_users_view_blocked": False,
    "peer_expose_enabled": False,
    "peer_expose_groups": [],
    "lazy_connection_enabled": False,
    "auto_update_version": "disabled",
    "ipv6_enabled_groups": [],
}
"""Of the account: paths are found at once and not only when they are needed, and nobody looks for a newer version."""

PEER = {"ssh_enabled": False, "login_expiration_enabled": False, "inactivity_expiration_enabled": False}

# The server asks for its newest version whatever it is told: a proxy that is not there keeps that on the node.
SERVER = ("NB_SETUP_PAT_ENABLED=true", "NB_DISABLE_GEOLOCATION=true", "HTTPS_PROXY=http://127.0.0.1:9")
"""Setting it up yields a token by which it is told the rest; it looks nothing up outside."""

# Ports for their metrics that do not collide: nobody asks for them.
MANAGEMENT_WORDS = ("--metrics-port", "9090", "--disable-anonymous-metrics", "--disable-legacy-port")
SIGNAL_WORDS = ("--metrics-port", "9091")
RELAY_WORDS = ("--metrics-port", "9092", "--health-listen-address", "127.0.0.1:9000", "--enable-stun")

SECRETLY = 'NB_AUTH_SECRET=$(cat "$0") exec "$@"'
"""Shell text: starts a relay with the secret that is in a file."""

# It asks seven clouds whether it runs in theirs, whatever it is told: a proxy that is not there keeps that on the node.
CLIENT = (
    *("NB_DISABLE_NAT_MAPPER=true", "NB_DISABLE_SSH_CONFIG=true", "NB_METRICS_PUSH_ENABLED=false"),
    *("HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=10.0.0.0/8"),
)
"""No router is asked for an open port, nothing is written for ssh, and nothing is told to the maker."""

UP = (
    *("--disable-dns", "--disable-firewall", "--disable-client-routes", "--disable-server-routes"),
    *("--disable-ipv6", "--network-monitor=false"),
)
"""The lab has no names, and no node is a firewall or a router."""

# Asking costs the client more than waiting does.
DIRECT = """\
count=$(netbird status --daemon-addr "$0" --json | grep -o '"connectionType":"P2P"' | wc -l)
test "$count" -eq "$1" || { sleep 0.2; false; }
"""
"""Shell text: whether a client has so many direct paths."""

SAID = "sed -n 's/.* desc = //p' \"$0\" | tail -n 1"
"""Shell text: the last answer of a server in the log of a client, without the code of gRPC."""

DEFAULT_MTU = 1280
"""Bytes of the client's interface, whatever is below: NetBird 0.71.4, client/iface/iface.go, DefaultMTU."""

STARTING = 15.0
"""Seconds in which the management server must answer."""

ENROLLING, FINDING = 25.0, 25.0
"""Seconds in which an endpoint must have enrolled, and in which it must have direct paths to all others."""


class Implementation(NamedTuple):
    """Who carries packets: what that needs of the lab, and the environment that chooses it."""

    modules: tuple[str, ...]
    environment: tuple[str, ...]


IMPLEMENTATIONS = {
    "kernel": Implementation(("wireguard",), ()),
    "go": Implementation(("tun",), ("NB_WG_KERNEL_DISABLED=true",)),
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
        roles=(CONTROL,),
        own_mtu=DEFAULT_MTU,
        modules=("wireguard",),
        programs=("netbird", "netbird-mgmt", "netbird-signal", "netbird-relay", "openssl", "python3"),
        tools=("netbird",),
        version=("netbird", "version"),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The kernel's module, or the client's own WireGuard."""
        return cls.about._replace(modules=IMPLEMENTATIONS[str(options["impl"])].modules)

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets are padded as WireGuard does it."""
        return super().format(options, outer)._replace(block=16, clipped=True)

    nodes: Mapping[str, Node] = MappingProxyType({})

    def prepare(self, nodes: Sequence[Node]) -> None:
        """Makes an authority and a certificate, the secret of the relay, and the configuration of the server."""
        self.nodes = {node.name: node for node in nodes}
        control = self.nodes[CONTROL]
        ca = certificates.authority(control, self.file(CONTROL, "ca"))
        certificates.issue(control, ca, self.file(CONTROL, "tls"), "serverAuth", address=self._control)
        for name in ("relay", "password"):
            secrets.make(control, self.file(CONTROL, name), 16)
        ports = {"signal": SIGNAL, "stun": STUN, "relay": RELAY}
        places = {"tls": self.file(CONTROL, "tls"), "data": self.file(CONTROL, "data")}
        text = CONFIG.format(control=self._control, **ports, **places)
        secrets.fill(control, self.file(CONTROL, "management.json"), text, self.file(CONTROL, "relay"))
        secrets.fill(control, self.file(CONTROL, "owner.json"), OWNER, self.file(CONTROL, "password"))
        self._api.write()

    @property
    def _control(self) -> str:
        return self.context.roles[CONTROL].address

    @property
    def _ca(self) -> Path:
        return self.file(CONTROL, "ca.crt")

    @property
    def _api(self) -> Api:
        program, token = self.file(CONTROL, "ask.py"), self.file(CONTROL, "token")
        return Api(self.nodes[CONTROL], program, f"https://{self._control}/api", self._ca, "Token", token)

    def up(self, node: Node) -> None:
        """Starts the control plane, or a client; on the last endpoint, waits until all paths are direct."""
        if node.name == CONTROL:
            self._serve(node)
            return
        self._join(node)
        if node.name == list(self.context.above)[-1]:
            for name in self.context.above:
                self._wait_for_direct_paths(self.nodes[name])

    def _serve(self, node: Node) -> None:
        certificate, key = self.file(CONTROL, "tls.crt"), self.file(CONTROL, "tls.key")
        tls = ("--cert-file", str(certificate), "--cert-key", str(key))
        console = ("--log-file", "console")
        self.start(node, "netbird-signal", "run", "--port", str(SIGNAL), *tls, *console, *SIGNAL_WORDS)
        self.start(
            *(node, "sh", "-c", SECRETLY, str(self.file(CONTROL, "relay")), "netbird-relay", *RELAY_WORDS),
            *("--listen-address", f":{RELAY}", "--exposed-address", f"rels://{self._control}:{RELAY}"),
            *("--stun-ports", str(STUN), "--tls-cert-file", str(certificate), "--tls-key-file", str(key)),
        )
        self.start(
            *(node, "env", *SERVER, "netbird-mgmt", "management", "--config", str(self._file("management.json"))),
            *("--datadir", str(self._file("data")), "--port", str(MANAGEMENT), *MANAGEMENT_WORDS, *console),
        )
        asking = self._api.words("GET", "/instance", opened=False)
        self.wait(node, *asking, timeout=STARTING, what="the management server did not answer")
        if not self._file("token").exists():
            self._set_up(node)

    def _file(self, name: str) -> Path:
        return self.file(CONTROL, name)

    def _set_up(self, node: Node) -> None:
        """Makes the owner, whose token opens the server, and chooses the network of the overlay."""
        owner = self._api.words("POST", "/setup", "personal_access_token", self._file("owner.json"), opened=False)
        node.run(*owner, into=self._file("token"))
        self._api.ask("GET", "/accounts", "0/id", into=self._file("account"))
        network = str(ip_interface(next(iter(self.context.above.values())).cidr).network)
        settings = {"settings": SETTINGS | {"network_range": network}}
        self._api.ask("PUT", "/accounts/", body=self._write("settings", settings), which=self._file("account"))

    def _write(self, name: str, value: Mapping[str, object]) -> Path:
        file = self._file(f"{name}.json")
        self.nodes[CONTROL].write(file, json.dumps(value) + "\n")
        return file

    def _join(self, node: Node) -> None:
        overlay, state, key = self.context.above[node.name], self.file(node.name, "state"), self.file(node.name, "key")
        node.run("mkdir", "-p", str(state))
        chosen = IMPLEMENTATIONS[str(self.options["impl"])].environment
        environment = (*CLIENT, *chosen, f"NB_STATE_DIR={state}", f"SSL_CERT_FILE={self._ca}")
        daemon = ("netbird", "service", "run", "--daemon-addr", self._socket, "--log-file", "console")
        self.start(node, "env", *environment, *daemon)
        self.wait(node, *self._netbird("status"), what=f"the client on {node.name} did not answer")
        server = ("--management-url", f"https://{self._control}:{MANAGEMENT}", "--hostname", node.name)
        if not key.exists():
            self._make_key(node, key)
            self._enrol(node, *server, "--setup-key-file", str(key))
            self._choose_address(node)
        node.run(
            *(*self._netbird("up"), *server, "--interface-name", overlay.interface, "--mtu", str(overlay.mtu)),
            *("--wireguard-port", str(self.options["port"]), *UP),
            timeout=ENROLLING,
        )
        given = node.ask(*self._netbird("status"), "--ipv4").stdout.strip()
        if given != overlay.address:
            raise StackFailed(f"netbird: {node.name} was given {given or 'no address'} instead of {overlay.address}")

    @property
    def _socket(self) -> str:
        return f"unix:///run/{self.about.name}-{self.context.position}.sock"

    def _netbird(self, command: str) -> tuple[str, ...]:
        return ("netbird", command, "--daemon-addr", self._socket)

    def _make_key(self, node: Node, key: Path) -> None:
        """Lets the server make a key that enrols one endpoint."""
        wanted = {"name": node.name, "type": "one-off", "expires_in": 86400, "usage_limit": 1, "auto_groups": []}
        self._api.ask("POST", "/setup-keys", "key", self._write(f"key-{node.name}", wanted), into=key)

    def _enrol(self, node: Node, *words: str) -> None:
        """Enrols an endpoint. Raises StackFailed with what the server said last: the client tries again and again."""
        result = node.try_run(*self._netbird("login"), *words, timeout=ENROLLING)
        if result.status != 0:
            log = node.home / f"{self.about.name}-{self.context.position}.log"
            said = node.ask("sh", "-c", SAID, str(log)).stdout.strip() or result.stderr.strip() or "nothing was said"
            raise StackFailed(f"netbird: {node.name} did not enrol within {ENROLLING:g} s: {said}")

    def _choose_address(self, node: Node) -> None:
        """Gives an endpoint that has enrolled its address: the server's own choice is a random one."""
        peer = self._file(f"peer-{node.name}")
        self._api.ask("GET", "/peers", f"name={node.name}/id", into=peer)
        wanted = PEER | {"name": node.name, "ip": self.context.above[node.name].address}
        self._api.ask("PUT", "/peers/", body=self._write(f"peer-{node.name}", wanted), which=peer)

    def _wait_for_direct_paths(self, node: Node) -> None:
        count = str(len(self.context.peers(node)))
        what = f"{node.name} found no direct path to {' and '.join(self.context.peers(node))}"
        self.wait(node, "sh", "-c", DIRECT, self._socket, count, timeout=FINDING, what=what)

    def down(self, node: Node) -> None:
        """Lets a client take its interface, routes and rules away, and stops the daemons."""
        if node.name in self.context.above:
            node.try_run(*self._netbird("down"), timeout=10)
            # There is nothing left to do for it; asked to end, it would sleep for two seconds.
            for daemon in self.daemons.pop(node.name, []):
                daemon.kill()
        super().down(node)

    def forget(self, node: Node) -> None:
        """Takes away the keys with which a client is known, and the memory of the control plane."""
        known = ("state", "key") if node.name in self.context.above else ("data", "token")
        node.run("rm", "-rf", *(str(self.file(node.name, name)) for name in known))
