"""Libreswan: pluto, configured by ipsec.conf."""

from pathlib import Path

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.ipsec import modes
from tunbench.runner.tunnels.ipsec.ciphers import CIPHERS
from tunbench.runner.tunnels.ipsec.daemon import Credentials, Daemon
from tunbench.runner.tunnels.ipsec.modes import Connection
from tunbench.runner.tunnels.shared import secrets

# Each line that is not the daemon's own default and does not just say what is wanted has its reason.
SETTINGS = """\
version 2.0
config setup
    nssdir={nss}
    secretsfile={secrets}
    # There is no name to look up.
    dnssec-enable=no
{policy}
"""

CONNECTION = """\
conn {connection}
    left={here}
    right={there}
{identities}
    ikev2={ike}
    type={esp}
    esp={proposal}
{selectors}
    replay-window={replay}
{dpd}
    encapsulation={encap}
    # Addresses and routes are made with what they belong to.
    leftupdown=%disabled
{joined}
"""

IDENTITIES = {
    "psk": """\
    authby=secret
    leftid=@{name}
    rightid=@{peer}""",
    "cert": """\
    authby={signature}
    leftcert={name}
    leftid=%fromcert
    rightid="CN={peer}"
    rightca=%same""",
}
"""How a node shows who it is, by the option auth."""

SIGNATURES = {"2": "ecdsa", "1": "rsasig"}
"""What certificates sign with, by version of IKE: there is no ECDSA in pluto's IKEv1."""

POLICIES = {"2": "", "1": "    # Since version 4.10 it is dropped by default.\n    ikev1-policy=accept"}
"""What the daemon is told of IKEv1, by version of IKE."""

JOINED = {"vti": f"    mark={modes.MARK}/0xffffffff", "xfrm": f"    ipsec-interface={modes.MARK}"}
"""What joins an interface and its policies, by mode."""

DPD = """\
    dpddelay={dpd-delay}
    dpdtimeout={dpd-timeout}
    dpdaction={action}"""

DPD_ACTIONS = {"clear": "clear", "trap": "hold", "restart": "restart"}
"""What Libreswan calls them."""

SECRETS = f': PSK "{secrets.PLACEHOLDER}"\n'


def configure(tunnel: Tunnel, node: Node, credentials: Credentials) -> None:
    """Writes the files that pluto reads, and makes its database of certificates."""
    nss, shared = tunnel.file(node.name, "nss"), tunnel.file(node.name, "secrets")
    node.run("mkdir", str(nss))
    node.run("certutil", "-N", "-d", f"sql:{nss}", "--empty-password")
    if credentials.psk:
        secrets.fill(node, shared, SECRETS, credentials.psk)
    elif credentials.pair and credentials.authority:
        node.write(shared, "")
        bundle = tunnel.file(node.name, "p12")
        node.run(
            *("openssl", "pkcs12", "-export", "-passout", "pass:", "-name", node.name, "-out", str(bundle)),
            *("-in", str(credentials.pair.certificate), "-inkey", str(credentials.pair.key)),
        )
        authority = str(credentials.authority.certificate)
        node.run("certutil", "-A", "-d", f"sql:{nss}", "-n", "authority", "-t", "CT,,", "-i", authority)
        node.run("pk12util", "-d", f"sql:{nss}", "-W", "", "-i", str(bundle))
    node.write(tunnel.file(node.name, "ipsec.conf"), settings(tunnel, node, nss, shared))


def settings(tunnel: Tunnel, node: Node, nss: Path, shared: Path) -> str:
    """The configuration of the daemon and of its connections, without secrets."""
    daemon = SETTINGS.format(nss=nss, secrets=shared, policy=POLICIES[str(tunnel.options["ike"])])
    # What one connection takes from another by `also` it cannot have otherwise: each says all.
    text = daemon + "".join(_connection(tunnel, node, one) for one in modes.connections(tunnel, node))
    return "".join(f"{line}\n" for line in text.splitlines() if line.strip())


def _connection(tunnel: Tunnel, node: Node, one: Connection) -> str:
    """The lines of one connection; some of them may be empty."""
    options, mode = tunnel.options, str(tunnel.options["mode"])
    return CONNECTION.format(
        connection=one.name,
        here=tunnel.context.below[node.name].local,
        there=tunnel.context.below[one.peer].address,
        identities=IDENTITIES[str(options["auth"])].format(
            name=node.name, peer=one.peer, signature=SIGNATURES[str(options["ike"])]
        ),
        ike="insist" if options["ike"] == "2" else "no",
        esp=modes.MODES[mode].esp,
        proposal=CIPHERS[str(options["cipher"])].libreswan,
        selectors="" if mode == "transport" else f"    leftsubnet={one.local}\n    rightsubnet={one.remote}",
        replay=options["replay"],
        dpd=DPD.format(**options, action=DPD_ACTIONS[str(options["dpd-action"])]) if options["dpd-delay"] else "",
        encap="yes" if options["encap"] else "no",
        joined=JOINED.get(mode, ""),
    )


def up(tunnel: Tunnel, node: Node) -> None:
    """Starts pluto, which asks for an SA when a packet needs one."""
    config = str(tunnel.file(node.name, "ipsec.conf"))
    node.run("mkdir", "-p", "/run/pluto")
    tunnel.start(node, "ipsec", "pluto", "--nofork", "--stderrlog", "--config", config)
    silent = f"pluto on {node.name} did not answer whack"
    tunnel.wait(node, "ipsec", "whack", "--status", what=silent)
    for one in modes.connections(tunnel, node):
        node.run("ipsec", "auto", "--config", config, "--add", one.name)
        # It is refused until pluto listens to IKE.
        tunnel.wait(node, "ipsec", "auto", "--route", one.name, what=silent)


def initiation(tunnel: Tunnel, node: Node, connection: str) -> tuple[str, ...]:
    """The command that negotiates a connection with the other endpoint."""
    return ("ipsec", "auto", "--up", connection)


def rekeying(tunnel: Tunnel, node: Node, connection: str) -> tuple[str, ...]:
    """The command that gives the SAs of a connection new keys."""
    return ("ipsec", "whack", "--rekey-ipsec", "--name", connection)


DAEMON = Daemon(
    programs=("ipsec", "certutil", "pk12util", "openssl", "nft"),
    version=("ipsec", "--version"),
    packages=("libreswan",),
    addons=("libreswan",),
    interfaces={"xfrm": f"ipsec{modes.MARK}"},
    configure=configure,
    up=up,
    initiation=initiation,
    rekeying=rekeying,
)
