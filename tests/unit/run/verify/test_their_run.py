"""The run of somebody else as it is read: the packed example, and that a folder and its archive say the same."""

import bz2
import hashlib
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.helpers.packed_runs import EXAMPLE, packed_run
from tunbench.journal import journal
from tunbench.journal.journal import JournalError
from tunbench.run.order import RunError
from tunbench.run.verify import digests, pack
from tunbench.run.verify.their_run import opened


def test_the_example_is_read_whole() -> None:
    """It is a real run; where it cannot be read any more it is made anew, as docs/repeat-a-run.md says."""
    with opened(EXAMPLE) as their:
        assert their.changed == ""
        assert their.plan == EXAMPLE.with_name("example.toml").read_text()
        assert their.head.manifest["lab"] == {"kind": "vm", "clock": "virtual"}
        # Two stacks, two repeats; each shard has a trial for its bringing up.
        assert len(their.record.trials) == their.record.planned == 2 * 2 * 2
        assert {trial.verdict for trial in their.record.trials} == {"ok"}
        assert their.record.fingerprint == their.record.manifest["fingerprint"]
        assert digests.changed(their.folder, their.events) == ([], [])
        folder = their.folder
    assert not folder.exists()
    assert EXAMPLE.stat().st_size < 20_000


def test_the_digests_of_the_example_are_those_of_sha256sum() -> None:
    with opened(EXAMPLE) as their:
        lines = (their.folder / "digests").read_text().splitlines()
        told = {name: digest for digest, name in (line.split("  ") for line in lines)}
        content = (their.folder / journal.NAME).read_bytes()
        assert told[journal.NAME] == hashlib.sha256(content).hexdigest()
        assert len(told) == 3 + len(their.record.trials)


def test_a_folder_and_its_archive_say_the_same(tmp_path: Path) -> None:
    file = packed_run(tmp_path / "run")
    with opened(file) as packed, opened(tmp_path / "run") as folder:
        assert packed.record.manifest == folder.record.manifest
        assert packed.plan == folder.plan and packed.changed == folder.changed == ""


def test_a_name_that_no_file_can_have_is_told() -> None:
    with (
        pytest.raises(RunError, match="cannot be read: File name too long; make it readable, or name a run's"),
        opened(Path("a" * 300)),
    ):
        pass
    with pytest.raises(RunError, match=r"cannot write to a+\.tar\.bz2: File name too long; name another file"):
        pack.check(Path("a" * 300 + ".tar.bz2"))


def test_no_folder_for_what_is_unpacked_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = packed_run(tmp_path / "run")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with (
        pytest.raises(
            RunError,
            match=r"cannot make a folder for a while: No .*; make room, .* the variable TMPDIR",
        ),
        opened(run),
    ):
        pass
    with pytest.raises(
        RunError, match=r"cannot copy the journal of .*; make room, or name another folder with the variable TMPDIR"
    ):
        pack.pack(tmp_path / "run", tmp_path / "new.tar.bz2")


def test_more_digests_than_a_run_can_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed_run(tmp_path / "run")
    monkeypatch.setattr(digests, "MAX_BYTES", 100)
    with pytest.raises(RunError, match=r"it is larger than 100 bytes \(digests\); ask for the run"), opened(file):
        pass


def test_an_archive_may_be_named_by_a_link(tmp_path: Path) -> None:
    file = packed_run(tmp_path / "run")
    (tmp_path / "latest").symlink_to(file)
    with opened(tmp_path / "latest") as their:
        assert their.record.trials


def test_a_mutated_archive_is_read_or_refused(tmp_path: Path) -> None:
    """Whatever bytes are others, below the compression too: nothing but a refusal in words, nothing left behind."""
    whole, dice = bz2.decompress(EXAMPLE.read_bytes()), Random(1)
    file, outcomes = tmp_path / "bad.tar.bz2", Counter[str]()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(dice.choice([1, 3, 30])):
            data[dice.choice([dice.randrange(len(data)), dice.randrange(2048)])] = dice.randrange(256)
        packed = bytearray(bz2.compress(bytes(data)))
        if dice.random() < 0.1:
            packed[dice.randrange(len(packed))] ^= 1 << dice.randrange(8)
        file.write_bytes(packed)
        try:
            with opened(file) as their:
                outcomes["changed" if their.changed else "equal"] += 1
        except (RunError, JournalError) as error:
            assert str(error).startswith(str(file)) or str(file) in str(error)
            outcomes["refused"] += 1
    assert outcomes["refused"] > 100
    # What the digests do not cover is the archive's own headers.
    assert outcomes["equal"] < 20
    assert [path.name for path in tmp_path.iterdir()] == ["bad.tar.bz2"]
