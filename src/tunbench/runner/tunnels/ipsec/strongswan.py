"""strongSwan: charon-systemd, configured by swanctl."""

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.ipsec import modes
from tunbench.runner.tunnels.ipsec.ciphers import CIPHERS
from tunbench.runner.tunnels.ipsec.daemon import Credentials, Daemon
from tunbench.runner.tunnels.shared import secrets

SETTINGS = """\
charon-systemd {
    # What is used here. The distribution's list names plugins that are not installed.
    load = random nonce pem pkcs1 pkcs8 x509 pubkey constraints openssl kdf kernel-netlink socket-default vici
    # Routes are made with the addresses they belong to, and not in a table of the daemon's own.
    install_routes = no
    routing_table = 0
    # There is no journal in the lab. Level 1 has no keys.
    journal {
        default = -1
    }
    filelog {
        stderr {
            default = 1
            flush_line = yes
        }
    }
}
swanctl {
    load = pem pkcs1 pkcs8 x509 pubkey openssl
}
"""

# Each line that is not the daemon's own default and does not just say what is wanted has its reason.
CONNECTION = """\
    {name} {{
        version = {ike}
        local_addrs = {here}
        remote_addrs = {there}
        encap = {encap}
        dpd_delay = {dpd_delay}s
        {dpd_timeout}
        local {{
            {local}
        }}
        remote {{
            {remote}
        }}
        children {{
            {children}
        }}
    }}
"""

CHILD = """\
{name} {{
                mode = {esp}
                esp_proposals = {proposal}
                local_ts = {local}
                remote_ts = {remote}
                replay_window = {replay}
                rekey_time = {rekey}s
                rekey_bytes = {rekey_bytes}
                dpd_action = {dpd_action}
                # Nothing passes in the clear, and the next packet asks for an SA that was lost.
                start_action = trap
                {joined}
            }}"""

JOINED = {
    "vti": f"mark_in = {modes.MARK}\n                mark_out = {modes.MARK}",
    "xfrm": f"if_id_in = {modes.MARK}\n                if_id_out = {modes.MARK}",
}
"""What joins an interface and its policies, by mode."""

NEIGHBOURS = """\
# Neighbours on one link must find each other before there is an SA.
            neighbours-{kind} {{
                mode = pass
                local_ts = ::/0[ipv6-icmp/{kind}]
                remote_ts = ::/0[ipv6-icmp/{kind}]
                start_action = trap
            }}"""

SOLICITATION_AND_ADVERTISEMENT = (135, 136)
"""Types of ICMPv6: RFC 4861, sections 4.3 and 4.4."""

SECRETS = f"""\
secrets {{
    ike-tunbench {{
        secret = "{secrets.PLACEHOLDER}"
    }}
}}
"""

IDENTITIES = {"psk": "auth = psk\n            id = {name}", "cert": 'auth = pubkey\n            id = "CN={name}"'}
"""How a node shows who it is, by the option auth."""


def configure(tunnel: Tunnel, node: Node, credentials: Credentials) -> None:
    """Writes the files that charon-systemd and swanctl read."""
    node.write(tunnel.file(node.name, "strongswan.conf"), SETTINGS)
    # Keys and authorities are looked for in folders beside the file.
    folder = tunnel.file(node.name, "swanctl")
    node.run("mkdir", "-p", str(folder / "private"), str(folder / "x509ca"))
    if credentials.psk:
        secrets.fill(node, folder / "swanctl.conf", connections(tunnel, node, "") + SECRETS, credentials.psk)
    elif credentials.pair and credentials.authority:
        node.run("cp", str(credentials.pair.key), str(folder / "private"))
        node.run("cp", str(credentials.authority.certificate), str(folder / "x509ca"))
        node.write(folder / "swanctl.conf", connections(tunnel, node, f"certs = {credentials.pair.certificate}"))


def connections(tunnel: Tunnel, node: Node, certificates: str) -> str:
    """The configuration of the connections, one for each peer, without secrets."""
    peers = tunnel.context.peers(node)
    some = "".join(_connection(tunnel, node, peer, certificates, first=peer == peers[0]) for peer in peers)
    return "".join(f"{line}\n" for line in f"connections {{\n{some}}}".splitlines() if line.strip())


def _connection(tunnel: Tunnel, node: Node, peer: str, certificates: str, first: bool) -> str:
    """The lines of the connection with a peer; some of them may be empty."""
    options = tunnel.options
    identity, mode = IDENTITIES[str(options["auth"])], str(options["mode"])
    children = [
        CHILD.format(
            name=one.name,
            esp=modes.MODES[mode].esp,
            proposal=CIPHERS[str(options["cipher"])].strongswan,
            local=one.local,
            remote=one.remote,
            replay=options["replay"],
            rekey=options["rekey"],
            rekey_bytes=options["rekey-bytes"],
            dpd_action=options["dpd-action"],
            joined=JOINED.get(mode, ""),
        )
        for one in modes.connections(tunnel, node)
        if one.peer == peer
    ]
    taken = first and mode == "transport" and tunnel.context.outer == 6
    neighbours = [NEIGHBOURS.format(kind=kind) for kind in SOLICITATION_AND_ADVERTISEMENT] if taken else []
    return CONNECTION.format(
        name=modes.ENDPOINTS if len(tunnel.context.above) == 2 else f"with-{peer}",
        ike=options["ike"],
        here=tunnel.context.below[node.name].local,
        there=tunnel.context.below[peer].address,
        encap="yes" if options["encap"] else "no",
        dpd_delay=options["dpd-delay"],
        dpd_timeout=f"dpd_timeout = {options['dpd-timeout']}s" if options["ike"] == "1" else "",
        local=identity.format(name=node.name) + (f"\n            {certificates}" if certificates else ""),
        remote=identity.format(name=peer),
        children="\n            ".join((*children, *neighbours)),
    )


def up(tunnel: Tunnel, node: Node) -> None:
    """Starts charon and loads the connection."""
    tunnel.start(node, *_configured(tunnel, node, "charon-systemd"))
    swanctl = _configured(tunnel, node, "swanctl")
    tunnel.wait(node, *swanctl, "--stats", what=f"charon on {node.name} did not answer swanctl")
    node.run(*swanctl, "--load-all", "--file", str(tunnel.file(node.name, "swanctl") / "swanctl.conf"))


def initiation(tunnel: Tunnel, node: Node, connection: str) -> tuple[str, ...]:
    """The command that negotiates a connection with the other endpoint."""
    return (*_configured(tunnel, node, "swanctl"), "--initiate", "--child", connection)


def rekeying(tunnel: Tunnel, node: Node, connection: str) -> tuple[str, ...]:
    """The command that gives the SAs of a connection new keys."""
    return (*_configured(tunnel, node, "swanctl"), "--rekey", "--child", connection)


def _configured(tunnel: Tunnel, node: Node, program: str) -> tuple[str, ...]:
    """The program with its settings, which it finds by its environment."""
    return ("env", f"STRONGSWAN_CONF={tunnel.file(node.name, 'strongswan.conf')}", program)


DAEMON = Daemon(
    programs=("charon-systemd", "swanctl", "openssl", "nft"),
    # --version asks the daemon, which is gone by then; the first line of --help has it too.
    version=("swanctl", "--help"),
    packages=(
        *("charon-systemd", "strongswan-swanctl"),
        *("libstrongswan-standard-plugins", "libcharon-extra-plugins"),
    ),
    addons=(),
    interfaces={},
    configure=configure,
    up=up,
    initiation=initiation,
    rekeying=rekeying,
)
