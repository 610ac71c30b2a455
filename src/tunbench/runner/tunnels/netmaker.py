"""Netmaker: WireGuard of the kernel, whose peers a server tells each client through a broker for MQTT.

Server, broker (mosquitto, from an image beside the base: `tunbench lab build mosquitto`) and nginx, which speaks TLS
for the server, run on the node `control`. The server makes a key for each endpoint, which can be used once; the n-th
that enrols has the n-th address. A client says by which address and port it is reached, so no path is looked for.

The programs `netmaker` (the server, built with cgo, because it keeps its state in SQLite) and `netclient` must be of
one release: this was written for 1.4.0 of both. What would leave the lab is turned off: telemetry, STUN, names, and
updates of clients. The server asks for its own address and where its clients are whatever it is told: nginx answers the
one, and for the other it gets a proxy that does not exist. It writes keys into its log, which are taken out. Only IPv4
is carried, WireGuard is always the kernel's, and a node is in one network only.
"""

from pathlib import Path

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.declare.tunnel import About, Addon, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel, ping
from tunbench.runner.tunnels.shared import certificates, mesh, nginx, outside, rest_api, secrets
from tunbench.runner.tunnels.shared.rest_api import Api
from tunbench.runner.tunnels.wireguard import Wireguard, padded

NETWORK = "lab"

# Its environment, for a shell. What is not the server's own default has its reason.
SERVER = """\
SERVER_NAME=lab
# Where clients find it, and the broker.
SERVER_HOST={control}
SERVER_HTTP_HOST={control}
SERVER_API_CONN_STRING={control}:443
BROKER_ENDPOINT=mqtts://{control}:8883
API_PORT=8081
SERVER_BROKER_ENDPOINT=mqtt://127.0.0.1:1883
MQ_USERNAME=lab
DATABASE=sqlite
# It asks for its own address again and again, and for where its clients are: nginx answers the one, nobody the other.
PUBLIC_IP_SERVICE=http://127.0.0.1:8082/
HTTP_PROXY={nowhere}
HTTPS_PROXY={nowhere}
# It tells its maker nothing, and looks for no newer version of a client.
TELEMETRY=off
NETCLIENT_AUTO_UPDATE=disabled
# No client asks outside for its address, and the lab has no names.
STUN=false
DNS_MODE=off
MANAGE_DNS=false
# Clients say where they are; nobody tries other addresses of theirs.
ENDPOINT_DETECTION=false
"""

# Clients speak to the server by TLS, which it leaves to a server in front of it. The errors hold what clients ask for,
# and that can be a key: only those are told that are nginx's own.
PROXY = """\
    access_log off;
    error_log stderr crit;
    server {{
        listen {control}:443 ssl;
        ssl_certificate {tls}.crt;
        ssl_certificate_key {tls}.key;
        location / {{
            proxy_pass http://127.0.0.1:8081;
        }}
    }}
    server {{
        listen 127.0.0.1:8082;
        location / {{
            return 200 {control};
        }}
    }}
"""

BROKER = """\
user root
password_file {passwords}
listener 1883 127.0.0.1
listener 8883 {control}
certfile {tls}.crt
keyfile {tls}.key
"""

# Shell text: starts the server with its environment, master key and password of the broker from files, in a folder of
# its own. It writes the keys with which clients enrol into its log.
SERVE = """\
set -a
. "$0"
MASTER_KEY=$(cat "$1") MQ_PASSWORD=$(cat "$2")
cd "$3"
netmaker 2>&1 | sed -u 's/\\(with token\\|key used\\) .*/\\1 (left out)/'
"""

# Shell text: enrols a client with the key in a file, and adds what it says to a log. The client ends well in any case,
# and has a server when it has enrolled.
ENROL = """\
key=$0 log=$1
shift
netclient register -t "$(cat "$key")" "$@" 2>&1 | sed 's,register/[^":]*,register/(left out),' >>"$log"
test -s /etc/netclient/.serverctx || { sleep 2; false; }
"""

HAS_ADDRESS = 'ip -4 -o address show dev "$0" | grep -qF " $1/"'
"""Shell text: whether an interface has an address."""

DIRECT = 'wg show "$0" endpoints | grep -q "[[:space:]]$1$"'
"""Shell text: whether a peer of an interface is reached at an address and port."""

CLIENT_STATE = "/etc/netclient"
"""Where a client keeps what it knows; a node has a folder /etc of its own."""

CLIENT_TABLES = (("inet", "filter"), ("inet", "nat"))
"""What a client adds to nftables: netclient 1.4.0, firewall/nftables_linux.go."""

DEFAULT_MTU = 1420
"""Bytes of the client's interface, whatever is below: netclient 1.4.0, config/config.go, DefaultMTU."""

SERVER_TIMEOUT, ENROLMENT_TIMEOUT, DIRECT_PATH_TIMEOUT = 20.0, 25.0, 20.0
"""Seconds in which the server must answer, an endpoint must have enrolled, and find the way to a peer."""


class Netmaker(Tunnel):
    """The server, its broker and nginx on the node `control`; each endpoint enrols with a key that is used once."""

    about = About(
        name="netmaker",
        summary="Netmaker with a server and a broker of its own (WireGuard of the kernel)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        evidence=Wireguard.about.evidence,
        headers=Wireguard.about.headers,
        options={
            "port": Option("count", "51821", "UDP port of every endpoint", low=1, high=65535),
        },
        # A client has one interface.
        exclusive=(),
        ports=("udp {port}",),
        # The server would have to be told of them.
        routes=False,
        relays=True,
        roles=(CONTROL,),
        control=("tcp:443", "tcp:8883"),
        own_mtu=DEFAULT_MTU,
        packages=("mosquitto", "nginx-light"),
        framing=Wireguard.about.framing,
        needs=Needs(
            modules=Wireguard.about.needs.modules,
            programs=("mosquitto", "mosquitto_passwd", "nginx", "openssl", "python3", "wg", "nft"),
            addons=("mosquitto",),
            brought=("netmaker", "netclient"),
        ),
        sources=Sources(
            packages={
                **Wireguard.about.sources.packages,
                **{"mosquitto_passwd": "mosquitto", "nft": "nftables", "nginx": "nginx-light"},
            },
            addons=(Addon("mosquitto", ("mosquitto",)),),
        ),
        startup_seconds=12,
    )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets are padded as WireGuard does it."""
        return padded(super().format(options, outer))

    def prepare(self, nodes: Nodes) -> None:
        """Makes an authority and a certificate, the master key, and the configuration of server, broker and nginx."""
        control, tls = nodes[CONTROL], self._file("tls")
        ca = certificates.authority(control, self._file("ca"))
        certificates.issue(control, ca, tls, "serverAuth", address=self._control)
        for name in ("master", "password"):
            secrets.make(control, self._file(name), 16)
        passwords = self._file("passwords")
        secrets.fill(control, passwords, f"lab:{secrets.PLACEHOLDER}\n", self._file("password"))
        control.run("mosquitto_passwd", "-U", str(passwords))
        places = {"control": self._control, "tls": tls, "passwords": passwords, "nowhere": outside.NO_PROXY_THERE}
        for name, text in (("server.env", SERVER), ("broker.conf", BROKER)):
            control.write(self._file(name), text.format(**places))
        folder = self._file("nginx")
        control.run("mkdir", "-p", str(folder))
        control.write(self._file("nginx.conf"), nginx.configuration(folder, PROXY.format(**places)))
        self._api(control).write()

    @property
    def _control(self) -> str:
        return self.context.roles[CONTROL].address

    def _file(self, name: str) -> Path:
        return self.file(CONTROL, name)

    def _api(self, control: Node) -> Api:
        return rest_api.of_control_plane(self, control, "Bearer", self._file("master"))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the control plane, or a client."""
        if node.name == CONTROL:
            self._serve(node)
        else:
            self._join(node, self._api(nodes[CONTROL]))

    def _serve(self, node: Node) -> None:
        folder, made = self._file("data"), self._file("network")
        node.run("mkdir", "-p", str(folder))
        self.start(node, "mosquitto", "-c", str(self._file("broker.conf")))
        self.start(node, "nginx", "-e", "stderr", "-c", str(self._file("nginx.conf")))
        files = (str(self._file(name)) for name in ("server.env", "master", "password"))
        self.start(node, "sh", "-c", SERVE, *files, str(folder))
        api = self._api(node)
        self.wait(node, *api.words("GET", "/networks"), timeout=SERVER_TIMEOUT, what="the server did not answer")
        if not node.exists(made):
            wanted = {"netid": NETWORK, "addressrange": self.context.network, "defaultacl": "yes"}
            api.ask("POST", "/networks", "netid", api.body(self._file("network.json"), wanted), into=made)

    def _join(self, node: Node, api: Api) -> None:
        overlay, key = self.context.above[node.name], self.file(node.name, "key")
        environment = ("env", f"SSL_CERT_FILE={self._file('ca.crt')}", *outside.NOTHING)
        if not node.exists(key):
            wanted = {"uses_remaining": 1, "networks": [NETWORK], "tags": [f"key-{node.name}"]}
            body = api.body(self._file(f"{node.name}.json"), wanted)
            api.ask("POST", "/v1/enrollment-keys", "token", body, into=key)
            self._enrol(node, *environment)
        self.start(node, *environment, "netclient", "daemon")
        given = ("sh", "-c", HAS_ADDRESS, overlay.interface, overlay.address)
        self.wait(node, *given, timeout=SERVER_TIMEOUT, what=f"{node.name} was not given {overlay.address}")

    def _enrol(self, node: Node, *environment: str) -> None:
        overlay, log = self.context.above[node.name], self.file(node.name, "register.log")
        node.keep(log)
        words = (
            *("-o", node.name, "-I", overlay.interface, "-m", str(overlay.mtu)),
            *("-j", "-p", str(self.options["port"]), "-i", "-e", self.context.below[node.name].address),
        )
        enrolling = ("sh", "-c", ENROL, str(self.file(node.name, "key")), str(log), *words)
        with mesh.quoting("the client", lambda: node.ask("tail", "-n", "1", str(log)).stdout.strip()):
            what = f"{node.name} did not enrol"
            self.wait(node, *environment, *enrolling, what=what, timeout=ENROLMENT_TIMEOUT)

    def joined(self, nodes: Nodes) -> None:
        """Waits until each node has an answer of each peer, whose endpoint is the peer itself."""
        for node, peer in mesh.peerings(self, nodes):
            interface, there = self.context.above[node.name].interface, self.context.above[peer].address
            what = f"{peer} did not answer {node.name}"
            self.wait(node, *ping(interface, there), timeout=DIRECT_PATH_TIMEOUT, what=what)
            endpoint = f"{self.context.below[peer].address}:{self.options['port']}"
            direct, what = ("sh", "-c", DIRECT, interface, endpoint), f"{node.name} found no direct path to {peer}"
            self.wait(node, *direct, timeout=DIRECT_PATH_TIMEOUT, what=what)

    def down(self, node: Node) -> None:
        """Stops the daemons, and takes away the tables for a firewall, which a client leaves behind."""
        super().down(node)
        if node.name in self.context.above:
            for table in CLIENT_TABLES:
                node.try_run("nft", "delete", "table", *table)

    def forget(self, node: Node) -> None:
        """Takes away the keys with which a client is known, and the memory of the control plane."""
        known = ("data", "network") if node.name == CONTROL else ("key",)
        files = [str(self.file(node.name, name)) for name in known]
        node.run("rm", "-rf", *files, *(() if node.name == CONTROL else (CLIENT_STATE,)))
