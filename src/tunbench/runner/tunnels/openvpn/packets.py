"""What the options of OpenVPN make of a packet. Raises ValueError where they do not go together."""

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.packet_format import ETHERNET, Header
from tunbench.runner.tunnels.openvpn.tables import AUTHS, CIPHERS, CRYPTO, DEFAULT_DIGEST, DIGESTS, TRANSPORTS


def cipher_of(options: Options) -> str:
    """The cipher, where `default` is that of the way to authenticate. Raises ValueError where they do not fit."""
    auth = str(options["auth"])
    known = AUTHS[auth].ciphers
    cipher = known[0] if options["cipher"] == "default" else str(options["cipher"])
    if cipher not in known:
        raise ValueError(f"openvpn: auth={auth} has no cipher {cipher}: take one of {', '.join(known)}")
    return cipher


def digest_of(options: Options) -> str:
    """The digest of the HMAC. Raises ValueError where one is asked for and there is no HMAC."""
    if options["digest"] == "default":
        return DEFAULT_DIGEST
    if not _has_hmac(options):
        raise ValueError("openvpn: there is no HMAC with an AEAD cipher or auth=none: take the option digest away")
    return str(options["digest"])


def hmac_of(options: Options) -> str:
    """The digest of the HMAC where a packet has one, else nothing. Raises ValueError as `digest_of` does."""
    digest = digest_of(options)
    return digest if _has_hmac(options) else ""


def _has_hmac(options: Options) -> bool:
    return options["auth"] != "none" and not CIPHERS[cipher_of(options)].aead


def outside(options: Options) -> tuple[Header, ...]:
    """The headers between the IP header and what the cipher encrypts."""
    auth, cipher = AUTHS[str(options["auth"])], CIPHERS[cipher_of(options)]
    digest = hmac_of(options)
    hmac = (Header(f"HMAC-{digest}", DIGESTS[digest], CRYPTO),) if digest else ()
    # An AEAD cipher has its packet ID in the clear.
    packet_id = auth.packet_id if cipher.aead else ()
    return (*TRANSPORTS[str(options["proto"])].headers, *auth.opcode, *packet_id, *hmac, *cipher.outside)


def inside(options: Options) -> tuple[Header, ...]:
    """What is encrypted, and padded, together with the packet."""
    auth, cipher = AUTHS[str(options["auth"])], CIPHERS[cipher_of(options)]
    ethernet = (ETHERNET,) if options["device"] == "tap" else ()
    return (*(() if cipher.aead else auth.packet_id), *ethernet, *cipher.inside)


def evidence(options: Options) -> str:
    """The opcode P_DATA_V2 (9) in the upper five bits; without opcodes the packet in the clear, or the port alone."""
    transport = TRANSPORTS[str(options["proto"])]
    if options["auth"] == "tls":
        return f"{transport.any_packet} and {transport.start} & 0xf8 = 0x48"
    if options["auth"] == "none" and options["device"] == "tun":
        version = 0x60 if options["inner"] == "ipv6" else 0x40
        return f"{transport.any_packet} and {transport.start} & 0xf0 = {version:#x}"
    return transport.any_packet
