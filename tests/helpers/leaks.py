"""Looks for secrets in the results of a run, by their form and by the words before them."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from tunbench.journal import journal
from tunbench.runner.tunnels.shared import secrets

KEY = r"[A-Za-z0-9+/_-]{40,}={0,2}"
"""At least 30 bytes in base 64, or 20 in hexadecimal digits."""

FORMS = {
    "a private key": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY",
    "a static key": r"-----BEGIN OpenVPN (?:Static|tls-crypt)[^-]*key",
    # wg.conf, innernet's and vpncloud's TOML and YAML, yggdrasil's and nebula's JSON and YAML.
    "a private key's value": rf"(?i)(?:private|secret)[ _-]?key[\"']?\s*[=:]\s*[\"']?{KEY}",
    "a private key on a command line": r"private-key (?!/)[A-Za-z0-9+/]{20,}",
    "a key of tailscale": r"\bprivkey:[0-9a-f]{16,}|\b(?:tskey|hskey)-[a-z]+-\w{8,}",
    "a pre-shared key": r"(?i)(?:pre-?shared[ _-]?key|\bpsk)[\"']?\s*[=: ]\s*[\"']?"
    rf"(?:{KEY}|0x[0-9a-f]{{8,}}|\"[^\"\s]+\")",
    "a web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    # What netmaker enrols with is JSON in base 64, and says so by its first letters.
    "an enrolment token": r"\beyJ[A-Za-z0-9+/=_-]{60,}",
    "a set-up key of NetBird": r"\b[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}\b|\bnbp_\w{30,}",
    "an identity of ZeroTier": r"\b[0-9a-f]{10}:0:[0-9a-f]{128}:[0-9a-f]{128}",
    "a key of MACsec": r"\bkey [0-9a-f]{2} [0-9a-f]{32,}|(?:\b|_)[Cc][Aa][Kk][\"']?\s*[=:]\s*[0-9a-f]{32,}",
    "a key of IPsec": r"\b(?:aead|auth(?:-trunc)?|enc|comp) \S+ 0x[0-9a-f]{16,}",
    "a password's hash": r"\$(?:apr1|1|2[aby]|5|6|y)\$[\w./$=]{8,}",
    # irtt tells the number of a connection, which it calls its token.
    "a password": r"(?i)(?<!connection, )"
    r"(?:password|passwd|passphrase|secret|(?:api|cluster|network|auth|master|setup)[ _-]?key|token)"
    r"[\"']?\s*[=:]\s*[\"']?(?=[^\s\"']*\d)[A-Za-z0-9+/=_.-]{12,}",
    "an authorization": r"(?i)authorization[\"']?\s*[=:]\s*[\"']?(?:bearer|basic|token) [\w.=+/-]{8,}",
}
"""What betrays a secret. A public key is none, nor is the name of a file, nor a hole where a secret is filled in."""

COMPILED = {what: re.compile(form) for what, form in FORMS.items()}

HARMLESS = re.compile(r"/mnt/lab/|/run/|\$\(cat|" + re.escape(secrets.PLACEHOLDER))
"""What stands where a secret would: the file that holds it."""

CONTEXT = 60
"""Characters before a secret that are told; of the secret itself, none."""


def leaks(folder: Path) -> list[str]:
    """Where secrets stand in a run's folder: the file, what it is, and the words before it."""
    return [
        f"{name}: {what} behind {before!r}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for name, text in _texts(path, path.relative_to(folder))
        for what, before in found(text)
    ]


def found(text: str) -> Iterator[tuple[str, str]]:
    """Each secret in a text: what it is, and the words before it."""
    for what, form in COMPILED.items():
        for match in form.finditer(text):
            if not HARMLESS.search(match[0]):
                yield what, text[max(0, match.start() - CONTEXT) : match.start()]


def _texts(path: Path, name: Path) -> Iterator[tuple[str, str]]:
    """The texts of a file; a journal's are those of its events, with what was captured."""
    if path.name != journal.NAME:
        yield str(name), path.read_bytes().decode("latin-1")
        return
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        event = json.loads(line)
        if event["event"] == "capture":
            yield f"{name}:{number}", zlib.decompress(base64.b64decode(event["pcap"])).decode("latin-1")
        else:
            yield f"{name}:{number}", "\n".join(_strings(event))


def _strings(value: object) -> Iterator[str]:
    """Every text in JSON, with its key before it: so a form that is a key and a value is found there too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (f"{key}: {inner}",) if isinstance(inner, str) else _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from (inner,) if isinstance(inner, str) else _strings(inner)
