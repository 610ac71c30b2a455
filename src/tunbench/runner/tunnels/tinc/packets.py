"""What tinc adds to a packet: by UDP ciphers, digests and compression, by TCP a line of text."""

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.packet_format import ETHERNET, IP, TCP, UDP, Format, Header

PACKET = "tinc 1.0.36, src/net_packet.c, send_udppacket()"
CIPHERS = {"aes-256-cbc": 16, "aes-128-cbc": 16, "none": 0}
"""Bytes of each cipher's block; PKCS#7 padding fills the last one, and is at least one byte."""

DIGESTS = {"sha256": 32, "sha512": 64, "none": 0}
"""Bytes of each digest (FIPS 180-4, figure 1), the most that MACLength can be."""

LARGEST_MTU = 1500
"""Bytes: the largest frame of 1518 less its header and a VLAN tag; tinc 1.0.36, src/net.h, without jumbograms."""

REQUEST = Header("line with type and length", 8, "tinc 1.0.36, src/protocol_misc.c, send_tcppacket()")
"""What stands before a frame in a connection by TCP, whose cipher is AES-CFB and adds nothing, no HMAC either
(src/net_setup.c, setup_myself())."""

SHORTER_REQUEST = 2
"""Bytes by which the line is shorter before a frame of less than 100 bytes; it is one shorter below 1000."""

LOWEST_LZO_LEVEL = 10
"""The first level of compression that is LZO; those below are zlib's."""

# The daemon sends what came out of the compression, also where that is larger than what went in.
COMPRESSION_GROWTH = {
    "none": (),
    "zlib": (
        Header("growth by zlib, at most", 43, "tinc 1.0.36, src/net.h, MAXSIZE: MTU / 64 + 20"),
        # Of a probe that comes back compressed it takes as much off, whatever it grew by: the last bytes come back only
        # where a probe has just the largest size that passes, and sizes are random.
        Header("room for probes of random sizes", 8, "tinc 1.0.36, src/net_packet.c, receive_udppacket()"),
    ),
    "lzo": (Header("growth by LZO, at most", 161, "tinc 1.0.36, src/net_packet.c, compress_packet(): n / 16 + 67"),),
}
"""What data grow by that cannot be compressed, in a frame of 1514 bytes."""


def mac_length(options: Options) -> int:
    """Bytes of the HMAC in a packet. Raises ValueError where they are more than the digest has."""
    digest, asked = str(options["digest"]), int(options["mac-length"])
    if digest == "none":
        return 0
    if asked > DIGESTS[digest]:
        raise ValueError(f"tinc: mac-length={asked} is more than the {DIGESTS[digest]} bytes of {digest}")
    return asked


def hmac(options: Options) -> str:
    """The digest of the HMAC where a packet has one, else nothing. Raises ValueError as `mac_length` does."""
    return str(options["digest"]) if mac_length(options) else ""


def outside(options: Options) -> tuple[Header, ...]:
    """The headers that are not encrypted."""
    length = mac_length(options)
    return (UDP, *((Header("HMAC", length, PACKET),) if length else ()))


def inside(options: Options) -> tuple[Header, ...]:
    """What is encrypted together with the packet; the Ethernet header is there in router mode too."""
    padding = (Header("least padding", 1, "RFC 5652, section 6.3"),) if CIPHERS[str(options["cipher"])] else ()
    level = int(options["compression"])
    method = "none" if not level else "zlib" if level < LOWEST_LZO_LEVEL else "lzo"
    return (Header("sequence number", 4, PACKET), ETHERNET, *COMPRESSION_GROWTH[method], *padding)


def by_udp(options: Options, outer: int) -> Format:
    """What the cipher encrypts is padded to its block."""
    spare = LARGEST_MTU if options["compression"] else 0
    return Format((IP[outer], *outside(options)), inside(options), CIPHERS[str(options["cipher"])] or 1, spare=spare)


def by_tcp(outer: int) -> Format:
    """The options for ciphers, digests and compression are of packets by UDP alone."""
    return Format((IP[outer], TCP, REQUEST), (ETHERNET,), spare=SHORTER_REQUEST)
