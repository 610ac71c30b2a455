"""What a guest takes in after it was loaded; the kernel's part of it stands in tests/vm/test_templates.py."""

import fcntl
import json
import os
import struct
import subprocess
import termios
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tunbench.runner import template


class Kernel:
    """Remembers what it was asked, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.asked: list[Any] = []
        for name in ("RANDOM", "PORTS"):
            (folder / name).touch()
            monkeypatch.setattr(template, name, folder / name)
        monkeypatch.setattr(template, "FILES", folder)
        monkeypatch.setattr(fcntl, "ioctl", lambda file, number, *what: self.asked.append((number, *what)))
        monkeypatch.setattr(os, "pwrite", lambda file, what, where: self.asked.append((where, what)))
        monkeypatch.setattr(subprocess, "run", lambda argv, **more: self.asked.append(argv[0]))
        monkeypatch.setattr(template, "HANDED_IN", folder / "handed-in")

    def hand_in(self, what: object, name: str = template.PAYLOAD) -> None:
        """What QEMU was given, with spaces behind it."""
        (template.HANDED_IN / name).mkdir(parents=True)
        (template.HANDED_IN / name / "raw").write_text(json.dumps(what) + "   ")


def key(content: bytes) -> list[Any]:
    """How the kernel is given a key: 256 bits of entropy in 32 bytes, and a new beginning."""
    return [(0x40085203, struct.pack("ii", 256, 32) + content), (0x5207,)]


def test_it_is_saved_before_anything_is_taken_and_its_key_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Kernel(monkeypatch, tmp_path)
    handed = {"key": "ab" * 32, "files": {"script": "echo \udcff"}}
    kernel.hand_in(handed)
    monkeypatch.setenv(template.FIXED_HASHES, "0")
    template.main()
    assert kernel.asked == [*key(bytes(32)), (0x505, b"\x01"), "modprobe", *key(b"\xab" * 32), "ip"]
    assert (tmp_path / "script").read_bytes() == b"echo \xff"
    assert template.FIXED_HASHES not in os.environ, "programs of the lab have hashes of their own"


def test_a_table_of_neighbours_is_filled_beyond_what_it_holds_at_first() -> None:
    lines = template.NEW_TABLES.splitlines()
    for network in ("192.0.2.", "2001:db8::"):
        entries = {line.split()[2] for line in lines if f" {network}" in line}
        assert len(entries) == 10, "eight, and two more"
    assert lines[-1] == "link del many"


def test_the_second_part_draws_nothing_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = Kernel(monkeypatch, tmp_path)
    kernel.hand_in({"files": {"shard.json": "{}"}}, template.SECOND_PART)
    assert template.take_second_part(0) == {"shard.json": "{}"}
    assert kernel.asked == []


@pytest.mark.parametrize("fails", [False, True])
def test_nobody_comes_before_one_that_is_saved_later(
    fails: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Kernel(monkeypatch, tmp_path)
    monkeypatch.setattr(os, "sched_setscheduler", lambda process, policy, given: kernel.asked.append(policy))
    if fails:
        template.PORTS.unlink()
    with pytest.raises(FileNotFoundError) if fails else nullcontext():
        template.save_undisturbed()
    saved = [] if fails else [(0x505, b"\x01")]
    assert kernel.asked == [os.SCHED_FIFO, *saved, os.SCHED_OTHER]


@pytest.mark.parametrize(
    ("name", "take", "asked"),
    [
        (template.PAYLOAD, template.take, ["modprobe"]),
        (template.SECOND_PART, template.take_second_part, []),
    ],
)
def test_one_that_is_tried_says_how_long_it_took_to_be_saved_and_ends(
    name: str,
    take: Callable[[float], object],
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    kernel = Kernel(monkeypatch, tmp_path)
    for place in ("CONSOLE", "RESTART"):
        monkeypatch.setattr(template, place, tmp_path / place)
    monkeypatch.setattr(termios, "tcdrain", lambda descriptor: None)
    kernel.hand_in({"try": True}, name)
    with pytest.raises(SystemExit):
        take(0.00012)
    assert (tmp_path / "CONSOLE").read_text() == "saved in 0.000120000\n"
    assert (tmp_path / "RESTART").read_text() == "b"
    assert kernel.asked == asked, "and nothing was drawn"
