import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.labs import members
from tunbench.labs.vm import cpio
from tunbench.labs.vm.cpio import DIRECTORY, EXECUTABLE, FILE

FILES = {
    "payload/tunbench/runner/shard.py": (FILE, b"print()\n"),
    "init": (EXECUTABLE, b"#!/bin/busybox sh\n"),
    "payload/empty": (FILE, b""),
    "proc": (DIRECTORY, b""),
}
LISTED = ["init", "payload", "payload/empty", "payload/tunbench", "payload/tunbench/runner"]
LISTED += ["payload/tunbench/runner/shard.py", "proc"]

Member = tuple[str, int, bytes, list[int]]

NAMES = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}", fullmatch=True)


def test_an_archive_has_its_files_and_the_folders_they_need() -> None:
    found = members(cpio.archive(FILES))
    assert [name for name, *_ in found] == LISTED
    assert {name: (mode, content) for name, mode, content, _ in found if name in FILES} == FILES
    assert all(mode == DIRECTORY for name, mode, *_ in found if name not in FILES)


def test_nothing_of_the_machine_is_in_it() -> None:
    for number, (_, _, _, fields) in enumerate(members(cpio.archive(FILES)), start=1):
        inode, _, uid, gid, _, time, _, *devices, _, check = fields
        assert (inode, uid, gid, time, devices, check) == (number, 0, 0, 0, [0, 0, 0, 0], 0)


def test_cpio_reads_it() -> None:
    listed = subprocess.run(["cpio", "-t", "--quiet"], input=cpio.archive(FILES), capture_output=True, check=True)
    assert listed.stdout.decode().splitlines() == LISTED
    assert listed.stderr == b""


@given(st.dictionaries(NAMES, st.binary(max_size=20), max_size=6), st.randoms())
def test_the_order_of_the_files_does_not_matter(contents: dict[str, bytes], dice: random.Random) -> None:
    files = {name: (FILE, content) for name, content in contents.items()}
    shuffled = dict(sorted(files.items(), key=lambda _: dice.random()))
    assert cpio.archive(shuffled) == cpio.archive(files)
    assert {name: content for name, _, content, _ in members(cpio.archive(files)) if name in files} == contents


@pytest.mark.parametrize(
    "changed", [{"init": (EXECUTABLE, b"other")}, {"init": (FILE, FILES["init"][1])}, {"x": (FILE, b"")}]
)
def test_another_content_mode_or_name_is_another_archive(changed: dict[str, tuple[int, bytes]]) -> None:
    assert cpio.archive(FILES | changed) != cpio.archive(FILES)


def test_it_is_filled_up_with_zeros() -> None:
    assert cpio.padded(b"abc", 8) == b"abc" + bytes(5)
    assert cpio.padded(b"abcdefgh", 8) == b"abcdefgh"
    assert cpio.padded(b"", 8) == b""
    assert len(cpio.archive(FILES)) % 4 == 0
