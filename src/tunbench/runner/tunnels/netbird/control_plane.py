"""The control plane of NetBird on the node `control`: management server, signal, STUN and relay."""

from pathlib import Path

from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.declare.topology import RELAY as RELAY_ROLE
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.netbird import relay_paths
from tunbench.runner.tunnels.netbird.relay_paths import RELAY
from tunbench.runner.tunnels.shared import certificates, outside, rest_api, secrets
from tunbench.runner.tunnels.shared.rest_api import Api

MANAGEMENT, SIGNAL, STUN = 443, 10000, 3478
"""Ports of the node `control`."""

# What is not the server's own default: where its companions are, its certificate, and users of its own.
CONFIG = """\
{{
  "Stuns": [{{"Proto": "udp", "URI": "stun:{control}:{stun}"}}],
  {relays},
  "Signal": {{"Proto": "https", "URI": "{control}:{signal}"}},
  "Datadir": "{data}",
  "HttpConfig": {{"CertFile": "{tls}.crt", "CertKey": "{tls}.key"}},
  "StoreConfig": {{"Engine": "sqlite"}},
  "EmbeddedIdP": {{"Enabled": true, "Issuer": "https://{control}/oauth2"}}
}}
"""

RELAYS = """\
"Relay": {{"Addresses": ["rels://{control}:{relay}"], "CredentialsTTL": "24h", "Secret": "@SECRET@"}}"""

# Clients that are told of the server's own relay take that one.
TURN_SERVERS = """\
"TURNConfig": {{"TimeBasedCredentials": false, "CredentialsTTL": "12h", "Secret": "@SECRET@",
    "Turns": [{{"Proto": "udp", "URI": "turn:{turn}:{turn_port}", "Username": "lab", "Password": "lab"}}]}}"""

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
SERVER = ("NB_SETUP_PAT_ENABLED=true", "NB_DISABLE_GEOLOCATION=true", outside.NO_HTTPS)
"""Setting it up yields a token by which it is told the rest; it looks nothing up outside."""

# Ports for their metrics that do not collide: nobody asks for them.
MANAGEMENT_WORDS = ("--metrics-port", "9090", "--disable-anonymous-metrics", "--disable-legacy-port")
SIGNAL_WORDS = ("--metrics-port", "9091")
RELAY_WORDS = ("--metrics-port", "9092", "--health-listen-address", "127.0.0.1:9000", "--enable-stun")

SECRETLY = 'NB_AUTH_SECRET=$(cat "$0") exec "$@"'
"""Shell text: starts a relay with the secret that is in a file."""

SERVER_TIMEOUT = 15.0
"""Seconds in which the management server must answer."""


def configure(tunnel: Tunnel, control: Node) -> None:
    """Makes an authority and a certificate, the secret of the relay, and the configuration of the server."""
    address = control_address(tunnel)
    ca = certificates.authority(control, tunnel.file(CONTROL, "ca"))
    certificates.issue(control, ca, tunnel.file(CONTROL, "tls"), "serverAuth", address=address)
    for name in ("relay", "password"):
        secrets.make(control, tunnel.file(CONTROL, name), 16)
    ports = {"signal": SIGNAL, "stun": STUN, "relay": RELAY}
    places = {"tls": tunnel.file(CONTROL, "tls"), "data": tunnel.file(CONTROL, "data")}
    text = CONFIG.format(control=address, relays=_relays(tunnel), **ports, **places)
    secrets.fill(control, tunnel.file(CONTROL, "management.json"), text, tunnel.file(CONTROL, "relay"))
    secrets.fill(control, tunnel.file(CONTROL, "owner.json"), OWNER, tunnel.file(CONTROL, "password"))
    api(tunnel, control).write()


def _relays(tunnel: Tunnel) -> str:
    """What the server tells clients of relays."""
    if RELAY_ROLE not in tunnel.declared.roles:
        return RELAYS.format(control=control_address(tunnel), relay=RELAY)
    return TURN_SERVERS.format(turn=tunnel.context.roles[RELAY_ROLE].address, turn_port=STUN)


def control_address(tunnel: Tunnel) -> str:
    """The address of the control plane in the underlay."""
    return tunnel.context.roles[CONTROL].address


def api(tunnel: Tunnel, control: Node) -> Api:
    """The interface of the management server."""
    return rest_api.of_control_plane(tunnel, control, "Token", tunnel.file(CONTROL, "token"))


def serve(tunnel: Tunnel, node: Node) -> None:
    """Starts all of it, and sets the management server up where that has not been done."""
    relay_paths.shut_others_out(tunnel, node)
    certificate, key = tunnel.file(CONTROL, "tls.crt"), tunnel.file(CONTROL, "tls.key")
    tls = ("--cert-file", str(certificate), "--cert-key", str(key))
    console = ("--log-file", "console")
    tunnel.start(node, "netbird-signal", "run", "--port", str(SIGNAL), *tls, *console, *SIGNAL_WORDS)
    tunnel.start(
        *(node, "sh", "-c", SECRETLY, str(tunnel.file(CONTROL, "relay")), "netbird-relay", *RELAY_WORDS),
        *("--listen-address", f":{RELAY}", "--exposed-address", f"rels://{control_address(tunnel)}:{RELAY}"),
        *("--stun-ports", str(STUN), "--tls-cert-file", str(certificate), "--tls-key-file", str(key)),
    )
    config, data = tunnel.file(CONTROL, "management.json"), tunnel.file(CONTROL, "data")
    tunnel.start(
        *(node, "env", *SERVER, "netbird-mgmt", "management", "--config", str(config)),
        *("--datadir", str(data), "--port", str(MANAGEMENT), *MANAGEMENT_WORDS, *console),
    )
    asking = api(tunnel, node).words("GET", "/instance", opened=False)
    tunnel.wait(node, *asking, timeout=SERVER_TIMEOUT, what="the management server did not answer")
    if not node.exists(tunnel.file(CONTROL, "token")):
        _set_up(tunnel, node)


def _set_up(tunnel: Tunnel, node: Node) -> None:
    """Makes the owner, whose token opens the server, and chooses the network of the overlay."""
    asked, account = api(tunnel, node), tunnel.file(CONTROL, "account")
    owner = asked.words("POST", "/setup", "personal_access_token", tunnel.file(CONTROL, "owner.json"), opened=False)
    node.run(*owner, into=tunnel.file(CONTROL, "token"))
    asked.ask("GET", "/accounts", "0/id", into=account)
    settings = {"settings": SETTINGS | {"network_range": tunnel.context.network}}
    body = asked.body(tunnel.file(CONTROL, "settings.json"), settings)
    asked.ask("PUT", "/accounts/", body=body, which=account)


def make_key(tunnel: Tunnel, control: Node, endpoint: Node, into: Path) -> None:
    """Lets the server make a key that enrols one endpoint, once."""
    asked = api(tunnel, control)
    wanted = {"name": endpoint.name, "type": "one-off", "expires_in": 86400, "usage_limit": 1, "auto_groups": []}
    body = asked.body(tunnel.file(CONTROL, f"key-{endpoint.name}.json"), wanted)
    asked.ask("POST", "/setup-keys", "key", body, into=into)


def choose_address(tunnel: Tunnel, control: Node, endpoint: Node) -> None:
    """Gives an endpoint that has enrolled its address: the server's own choice is a random one."""
    asked, peer = api(tunnel, control), tunnel.file(CONTROL, f"peer-{endpoint.name}")
    asked.ask("GET", "/peers", f"name={endpoint.name}/id", into=peer)
    wanted = PEER | {"name": endpoint.name, "ip": tunnel.context.above[endpoint.name].address}
    body = asked.body(tunnel.file(CONTROL, f"peer-{endpoint.name}.json"), wanted)
    asked.ask("PUT", "/peers/", body=body, which=peer)


def strike_out(tunnel: Tunnel, control: Node, endpoint: Node) -> None:
    """Lets the server know an endpoint no longer."""
    api(tunnel, control).ask("DELETE", "/peers/", which=tunnel.file(CONTROL, f"peer-{endpoint.name}"))
