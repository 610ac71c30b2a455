"""Certificates for the shard alone: an authority and what it issues, by openssl. Their keys never leave the lab."""

from pathlib import Path
from typing import NamedTuple

from tunbench.runner.node.node import Node

P256 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
"""NIST P-256, a key without a passphrase."""

RSA2048 = ("-newkey", "rsa:2048", "-nodes")
"""RSA of 2048 bits, for protocols that know nothing else."""


class Pair(NamedTuple):
    """The files of a certificate and of its private key."""

    certificate: Path
    key: Path


def authority(node: Node, stem: Path, key: tuple[str, ...] = P256) -> Pair:
    """Makes an authority that signs with its own key."""
    pair = Pair(Path(f"{stem}.crt"), Path(f"{stem}.key"))
    node.run(
        *("openssl", "req", "-x509", *key, "-days", "3650", "-subj", "/CN=Tunbench"),
        *("-keyout", str(pair.key), "-out", str(pair.certificate)),
    )
    return pair


def issue(node: Node, by: Pair, stem: Path, purpose: str, key: tuple[str, ...] = P256, address: str = "") -> Pair:
    """Makes a key for the node and a certificate for it; `purpose` is serverAuth or clientAuth.

    With an `address` it is the certificate's subjectAltName (RFC 5280, section 4.2.1.6), which some clients insist on.
    """
    pair = Pair(Path(f"{stem}.crt"), Path(f"{stem}.key"))
    node.run(
        *("openssl", "req", "-x509", *key, "-days", "3650", "-subj", f"/CN={node.name}"),
        *("-CA", str(by.certificate), "-CAkey", str(by.key)),
        *("-addext", f"extendedKeyUsage={purpose}", "-addext", "keyUsage=digitalSignature"),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
        *(("-addext", f"subjectAltName=IP:{address}") if address else ()),
        *("-keyout", str(pair.key), "-out", str(pair.certificate)),
    )
    return pair
