"""Whether IPsec has new keys, by what `ip xfrm state` prints."""

import os
import subprocess
from pathlib import Path

import pytest

from tunbench.runner.tunnels.ipsec import sas

KEY = """\
	replay-window 32 flag af-unspec
	aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128
	anti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000
"""

CBC = """\
	replay-window 0 flag af-unspec
	auth-trunc hmac(sha256) 0x000102030405060708090a0b0c0d0e0f 128
	enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f
"""

LARVAL = """\
	replay-window 0 
	anti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000
	sel src 10.0.1.2/32 dst 10.0.2.2/32 
"""  # noqa: W291
"""What Linux 6.1 prints behind ALLOCSPI."""

A, B, C = "10.0.1.2", "10.0.2.2", "10.0.3.2"


def sa(source: str, target: str, request: int, spi: int, keys: str = KEY) -> str:
    return f"src {source} dst {target}\n\tproto esp spi {spi:#x} reqid {request} mode tunnel\n{keys}"


BEFORE = sa(A, B, 1, 0xC1) + sa(B, A, 1, 0xC2) + sa(C, B, 2, 0xC3, CBC) + sa(B, C, 2, 0xC4, CBC)
FIRST = sa(A, B, 1, 0xD1) + sa(B, A, 1, 0xD2)
SECOND = sa(C, B, 2, 0xD3, CBC) + sa(B, C, 2, 0xD4, CBC)
LARVAE = sa(A, B, 1, 0xE1, LARVAL) + sa(B, A, 1, 0xE2, LARVAL) + sa(C, B, 2, 0xE3, LARVAL) + sa(B, C, 2, 0xE4, LARVAL)


def run(folder: Path, state: str, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs shell text where the kernel has that state."""
    (folder / "state").write_text(state)
    (folder / "ip").write_text(f"#!/bin/sh\ncat {folder}/state\n")
    (folder / "ip").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    return subprocess.run(["sh", "-c", text, *words], env={"PATH": path}, capture_output=True, text=True, check=False)


def test_an_sa_counts_once_and_only_with_its_keys(tmp_path: Path) -> None:
    assert run(tmp_path, BEFORE + LARVAE, sas.KEYED).stdout.splitlines() == [
        f"{A} {B} 1 0xc1",
        f"{B} {A} 1 0xc2",
        f"{B} {C} 2 0xc4",
        f"{C} {B} 2 0xc3",
    ]


@pytest.mark.parametrize(
    ("after", "renewed"),
    [
        (BEFORE, False),
        (BEFORE + LARVAE, False),
        (BEFORE + FIRST, False),
        (FIRST, False),
        (BEFORE + sa(A, B, 1, 0xD1) + sa(C, B, 2, 0xD3), False),
        (BEFORE + FIRST + SECOND, True),
        (SECOND + FIRST, True),
        ("", False),
    ],
)
def test_keys_are_new_where_each_connection_has_some_in_both_directions(
    after: str, renewed: bool, tmp_path: Path
) -> None:
    before = tmp_path / "before"
    before.write_text(run(tmp_path, BEFORE, sas.KEYED).stdout)
    found = run(tmp_path, after, sas.RENEWED, str(before))
    assert (found.returncode == 0, found.stderr) == (renewed, "")


def test_who_had_no_keys_gets_no_new_ones(tmp_path: Path) -> None:
    (tmp_path / "before").write_text("")
    assert run(tmp_path, BEFORE, sas.RENEWED, str(tmp_path / "before")).returncode != 0
