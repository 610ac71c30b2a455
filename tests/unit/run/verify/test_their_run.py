"""The run of somebody else as it is read: the packed example, and that a folder and its archive say the same."""

import hashlib
from pathlib import Path

from tests.helpers.packed_runs import EXAMPLE, packed_run
from tunbench.journal import journal
from tunbench.run.verify import digests
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
        assert digests.changed_files(their.folder) == []
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


def test_an_archive_may_be_named_by_a_link(tmp_path: Path) -> None:
    file = packed_run(tmp_path / "run")
    (tmp_path / "latest").symlink_to(file)
    with opened(tmp_path / "latest") as their:
        assert their.record.trials
