"""Makes a Nix binary cache without Nix; a program of its own, to run on a node: FOLDER PACKAGES BYTES SEED.

BYTES are those of a package in the mean. Their sizes are log-normal, nearly all within a factor of a hundred, and what
is in them cannot be compressed; both follow from the seed alone, whatever version of Python makes them. It prints the
store path of the package that needs all others, and the bytes of all archives.

Each package is one file in an archive (NAR), beside a description of it (narinfo): Dolstra, The Purely Functional
Software Deployment Model, thesis, Utrecht (2006), figure 5.2; Nix's manual, "Serving a Nix store via HTTP".
"""

import hashlib
import math
import struct
import sys
from pathlib import Path
from statistics import NormalDist

CHARACTERS = "0123456789abcdfghijklmnpqrsvwxyz"
"""The digits of Nix's base 32, which lacks e, o, t and u."""

STORE = "/nix/store"

HASH_BYTES = 20
"""Bytes of the hash in a store path: 160 bits."""

SPREAD = 1.0
"""Standard deviation of the logarithm of a size. Chosen."""

INFO = """\
StorePath: {path}
URL: nar/{digest}.nar
Compression: none
FileHash: sha256:{digest}
FileSize: {size}
NarHash: sha256:{digest}
NarSize: {size}
References: {references}
"""


def base32(data: bytes) -> str:
    """Bytes as Nix spells a hash: five bits a digit, the last ones first."""
    number = int.from_bytes(data, "little")
    digits = math.ceil(8 * len(data) / 5)
    return "".join(CHARACTERS[number >> 5 * place & 31] for place in reversed(range(digits)))


def archive(content: bytes) -> bytes:
    """The archive of one file: words, each with its length before it and filled up to eight bytes."""
    words = (b"nix-archive-1", b"(", b"type", b"regular", b"contents", content, b")")
    return b"".join(struct.pack("<Q", len(word)) + word + b"\0" * (-len(word) % 8) for word in words)


def sizes(packages: int, mean: int, seed: int) -> list[int]:
    """The bytes of each package, `mean` of them on average: log-normal, as the quantiles that the seed chooses."""
    draws = (int.from_bytes(hashlib.sha256(f"size {seed} {one}".encode()).digest()[:8]) for one in range(packages))
    weights = [math.exp(SPREAD * NormalDist().inv_cdf((draw + 0.5) / 2**64)) for draw in draws]
    return [max(1, round(mean * packages * weight / sum(weights))) for weight in weights]


def name(number: int, seed: int) -> str:
    """What a package is called in the store."""
    return f"{base32(hashlib.sha256(f'name {seed} {number}'.encode()).digest()[:HASH_BYTES])}-package-{number}"


def needed(number: int, packages: int) -> list[int]:
    """The packages that one needs: two of a tree, whose root needs all, and the last one, as all need a C library."""
    below = (2 * number + 1, 2 * number + 2, packages - 1)
    return sorted({one for one in below if number < one < packages})


def make(folder: Path, packages: int, mean: int, seed: int) -> int:
    """Writes a cache, and returns the bytes of all of its archives."""
    (folder / "nar").mkdir(parents=True)
    (folder / "nix-cache-info").write_text(f"StoreDir: {STORE}\nWantMassQuery: 1\nPriority: 30\n")
    total = 0
    for number, size in enumerate(sizes(packages, mean, seed)):
        data = archive(hashlib.shake_256(f"content {seed} {number}".encode()).digest(size))
        digest = base32(hashlib.sha256(data).digest())
        references = " ".join(sorted(name(one, seed) for one in needed(number, packages)))
        said = INFO.format(path=f"{STORE}/{name(number, seed)}", digest=digest, size=len(data), references=references)
        (folder / "nar" / f"{digest}.nar").write_bytes(data)
        (folder / f"{name(number, seed).partition('-')[0]}.narinfo").write_text(said)
        total += len(data)
    return total


def main() -> None:
    """Makes a cache as it was asked to, and tells of it."""
    packages, mean, seed = map(int, sys.argv[2:])
    total = make(Path(sys.argv[1]), packages, mean, seed)
    print(f"{STORE}/{name(0, seed)} {total}")


if __name__ == "__main__":
    main()
