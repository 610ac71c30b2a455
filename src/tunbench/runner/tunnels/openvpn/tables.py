"""What OpenVPN's options stand for: ciphers, ways to authenticate, transports, and the lines of its configuration."""

from typing import NamedTuple

from tunbench.runner.declare.packet_format import TCP, UDP, Header
from tunbench.runner.declare.tunnel import Claims

DATA = "OpenVPN wire protocol, section 8, data channel packets"
CRYPTO = "OpenVPN 2.6, src/openvpn/crypto.c, openvpn_encrypt_v1()"


class Refusal(NamedTuple):
    """Why the daemon drops packets: what it says of each, and how a sentence of them goes on."""

    said: str
    why: str


REFUSALS = {
    "openvpn-replayed": Refusal(
        "bad packet ID (may be a replay)", "came later than OpenVPN's replay window holds, or twice"
    ),
    "openvpn-unauthentic": Refusal(
        "\\(Authenticate/Decrypt packet\\|AEAD Decrypt\\) error: \\(packet HMAC\\|cipher final\\|packet tag\\)",
        "failed OpenVPN's check of their integrity",
    ),
}
"""By the name of the counter. OpenVPN 2.6, src/openvpn/crypto.c, openvpn_decrypt_aead(), openvpn_decrypt_v1()
and crypto_check_replay()."""


class Cipher(NamedTuple):
    """A cipher of the data channel: fields before the encrypted part, what it adds inside, its block, if it hides."""

    outside: tuple[Header, ...]
    inside: tuple[Header, ...] = ()
    block: int = 1
    aead: bool = False
    hides: bool = True


AEAD = Cipher((Header("AEAD tag", 16, DATA),), aead=True)
# PKCS#7 padding is at least one byte: RFC 5652, section 6.3.
CBC = Cipher((Header("IV", 16, CRYPTO),), (Header("least padding", 1, "RFC 5652, section 6.3"),), block=16)
CIPHERS = {
    "AES-256-GCM": AEAD,
    "AES-128-GCM": AEAD,
    "CHACHA20-POLY1305": AEAD,
    "AES-256-CBC": CBC,
    "none": Cipher((), hides=False),
}

DIGESTS = {"SHA1": 20, "SHA256": 32}
"""Bytes of the HMAC with each digest (RFC 2104, section 2, and FIPS 180-4, figure 1)."""

DEFAULT_DIGEST = "SHA1"
"""The daemon's own: init_options() of OpenVPN 2.6, src/openvpn/options.c."""

HMAC_CLAIMS = Claims(integrity=True, replay_protection=True)


class Auth(NamedTuple):
    """How the endpoints know each other.

    `ciphers` can be used with it, the default first. `packet_id` is in front of what is encrypted; `opcode` is the
    first field of a packet. The lines are those of the configuration, for both ends and for each.
    """

    ciphers: tuple[str, ...]
    claims: Claims
    opcode: tuple[Header, ...]
    packet_id: tuple[Header, ...]
    both: str
    first: str
    others: str


TLS = """\
data-ciphers {cipher}
reneg-sec {rekey}
ca {ca}
cert {certificate}
key {key}
"""

TLS_SERVER = """\
{pool}
# Elliptic curves instead of Diffie-Hellman parameters, as the project recommends.
dh none
# A peer that vanishes is noticed; without options, by the values of the project's own example.
keepalive {ping} {ping-restart}
"""

POOL6 = """\
# What server-ipv6 stands for, with a pool that begins right behind the server's own address.
mode server
tls-server
ifconfig-ipv6 {network}1/64 {network}2
ifconfig-ipv6-pool {network}2/64"""

TLS_CLIENT = """\
client
remote {server}
# The peer must show a certificate made for a server.
remote-cert-tls server
"""

# A direction gives each end keys of its own for what it sends.
STATIC_KEY = """\
cipher {cipher}
secret {secret} {direction}
"""

POINT_TO_POINT = """\
remote {peer}
{ifconfig}
"""

KEYLESS = """\
# Neither keys nor certificates: the daemon encrypts and authenticates nothing.
"""

AUTHS = {
    "tls": Auth(
        tuple(CIPHERS),
        HMAC_CLAIMS,
        (Header("opcode and peer ID", 4, DATA),),
        (Header("packet ID", 4, DATA),),
        TLS,
        TLS_SERVER,
        TLS_CLIENT,
    ),
    "static-key": Auth(
        tuple(name for name, cipher in CIPHERS.items() if not cipher.aead),
        HMAC_CLAIMS,
        (),
        (Header("packet ID and time", 8, "OpenVPN 2.6, src/openvpn/packet_id.c, packet_id_write(), long form"),),
        STATIC_KEY,
        POINT_TO_POINT,
        POINT_TO_POINT,
    ),
    "none": Auth(("none",), Claims(), (), (), KEYLESS, POINT_TO_POINT, POINT_TO_POINT),
}


class Transport(NamedTuple):
    """A protocol below: its headers, what --proto calls it on the first endpoint and on the others, and its evidence.

    `start` is where a packet of OpenVPN begins, as an offset for a pcap filter that `any_packet` precedes.
    """

    headers: tuple[Header, ...]
    first: str
    others: str
    any_packet: str
    start: str


TRANSPORTS = {
    "udp": Transport((UDP,), "udp{outer}", "udp{outer}", "udp port {port}", "udp[8]"),
    # Before each packet stands its length, never 0; the TCP header is as long as its data offset says.
    "tcp": Transport(
        (TCP, Header("length", 2, "OpenVPN wire protocol, section 3, transport")),
        "tcp{outer}-server",
        "tcp{outer}-client",
        "tcp port {port} and tcp[0 + ((tcp[12] & 0xf0) >> 2):2] != 0",
        "tcp[2 + ((tcp[12] & 0xf0) >> 2)]",
    ),
}

# Each line that is not the daemon's own default has its reason.
COMMON = """\
dev {interface}
dev-type {device}
proto {proto}
port {port}
topology subnet
# The largest packet that still fits into the MTU below: no fragments.
tun-mtu {tun_mtu}
# 0: TCP learns that size from the interface; the daemon need not rewrite its MSS.
mssfix {mssfix}
# The lab's nodes have no time to lose: a lost first packet is repeated after a second.
connect-retry 1 1
verb 3
"""
