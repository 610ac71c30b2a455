"""The ciphers of ESP as data: what the daemons call them, and what they add to a packet."""

from typing import NamedTuple

from tunbench.runner.declare.packet_format import Header

RFC4303 = "RFC 4303, section 2"


class Cipher(NamedTuple):
    """A cipher, or a cipher with a MAC: the names of its proposal, its fields, and the block that it pads to.

    RFC 4303, section 2.4, aligns to 4 bytes what a cipher itself does not pad.
    """

    strongswan: str
    libreswan: str
    iv: Header | None
    icv: Header
    block: int = 4
    secret: bool = True
    hmac: str = ""

    @property
    def headers(self) -> tuple[Header, ...]:
        """What stands in a packet besides the padded payload."""
        return (*ESP, *((self.iv,) if self.iv else ()), self.icv)


ESP = (Header("SPI", 4, f"{RFC4303}.1"), Header("sequence number", 4, f"{RFC4303}.2"))
"""What every packet begins with."""

TRAILER = (Header("pad length", 1, f"{RFC4303}.5"), Header("next header", 1, f"{RFC4303}.6"))
"""What is padded together with the payload."""

GCM_IV = Header("IV", 8, "RFC 4106, section 3.1")
GCM_8 = Header("ICV", 8, "RFC 4106, section 6")
GCM_16 = Header("ICV", 16, "RFC 4106, section 6")
CBC_IV = Header("IV", 16, "RFC 3602, section 3")
SHA1 = Header("ICV", 12, "RFC 2404, section 2")
SHA256 = Header("ICV", 16, "RFC 4868, section 2.3")
CHACHA20_IV = Header("IV", 8, "RFC 7634, section 2")
POLY1305 = Header("ICV", 16, "RFC 7634, section 2")

CIPHERS = {
    "aes128gcm16": Cipher("aes128gcm16", "aes_gcm_c128-null", GCM_IV, GCM_16),
    "aes128gcm8": Cipher("aes128gcm8", "aes_gcm_a128-null", GCM_IV, GCM_8),
    "aes256gcm16": Cipher("aes256gcm16", "aes_gcm_c256-null", GCM_IV, GCM_16),
    "aes256gcm8": Cipher("aes256gcm8", "aes_gcm_a256-null", GCM_IV, GCM_8),
    "chacha20poly1305": Cipher("chacha20poly1305", "chacha20_poly1305-null", CHACHA20_IV, POLY1305),
    "aes128cbc-sha1": Cipher("aes128-sha1", "aes_cbc128-hmac_sha1", CBC_IV, SHA1, block=16, hmac="sha1"),
    "aes256cbc-sha256": Cipher("aes256-sha256", "aes_cbc256-hmac_sha2_256", CBC_IV, SHA256, block=16, hmac="sha256"),
    # RFC 2410: no cipher at all, with the MAC that protects the packet.
    "null-sha1": Cipher("null-sha1", "null-hmac_sha1", None, SHA1, secret=False, hmac="sha1"),
}
"""By the name of the option; the first is the default."""
