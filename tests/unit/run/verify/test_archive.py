"""The archive of a run: the same bytes for the same run, and nothing but a run is taken out of one."""

import bz2
import io
import json
import resource
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.packed_runs import archive, members, odd, raw, whole_run
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.run.order import RunError
from tunbench.run.verify import archive as archives
from tunbench.run.verify.archive import MEMBERS, Member, unpack, write
from tunbench.run.verify.pack import pack


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that came to its end."""
    return whole_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def packed(run: Path) -> Path:
    """Its archive."""
    file = run.with_name("run.tar.bz2")
    pack(run, file)
    return file


@pytest.fixture
def content(packed: Path) -> dict[str, bytes]:
    """What the archive holds."""
    return members(packed)


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for name in ("a.tar.bz2", "b.tar.bz2"):
        pack(run, tmp_path / name)
    assert (tmp_path / "a.tar.bz2").read_bytes() == (tmp_path / "b.tar.bz2").read_bytes()


def test_what_is_packed_again_after_it_was_unpacked_has_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    unpack(packed, tmp_path / "out")
    pack(tmp_path / "out", tmp_path / "again.tar.bz2")
    assert (tmp_path / "again.tar.bz2").read_bytes() == packed.read_bytes()


def test_every_tar_reads_it_and_nothing_in_it_tells_who_and_when(packed: Path) -> None:
    with tarfile.open(packed) as made:
        assert tuple(made.getnames()) == MEMBERS
        assert {(one.mtime, one.uid, one.gid, one.uname, one.gname, one.mode) for one in made} == {
            (0, 0, 0, "", "", 0o644)
        }


def test_logs_outputs_and_paths_stay_at_home(content: dict[str, bytes], run: Path) -> None:
    kept = [json.loads(line) for line in content[journal.NAME].splitlines()]
    own = journal.events(run)
    assert any("outputs" in event for event in own)
    assert not any({"outputs", "logs", "files"} & event.keys() for event in kept)
    assert {event["event"] for event in kept} == {event["event"] for event in own}


def test_what_is_unpacked_is_the_run(run: Path, packed: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    unpack(packed, tmp_path / "out")
    ours, theirs = record_of(run), record_of(tmp_path / "out")
    assert theirs.manifest == ours.manifest
    assert [one.samples for one in theirs.trials] == [one.samples for one in ours.trials]


def test_a_file_that_was_there_stays_where_the_new_one_does_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "x.tar.bz2"
    file.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(file, [Member("plan.toml", io.BytesIO(b"x" * 10), 10)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("x.tar.bz2", b"old")]


Make = Callable[[Path, dict[str, bytes]], object]

HOSTILE: dict[str, tuple[Make, str]] = {
    "an absolute path": (lambda file, good: archive(file, good, odd("/etc/passwd")), "/etc/passwd leads out of its"),
    "a path upwards": (lambda file, good: archive(file, good, odd("../up")), "../up leads out of its folder"),
    "a path down and up": (lambda file, good: archive(file, good, odd("a/../../up")), "leads out of its folder"),
    "a link": (
        lambda file, good: archive(file, good, odd("plan.toml", tarfile.SYMTYPE, linkname="/etc/passwd")),
        "plan.toml is a link, and no file",
    ),
    "a hard link": (
        lambda file, good: archive(file, good, odd("plan.toml", tarfile.LNKTYPE, linkname="digests")),
        "plan.toml is a link, and no file",
    ),
    "a device": (lambda file, good: archive(file, good, odd("x", tarfile.CHRTYPE)), "x is a device, and no file"),
    "a disk": (lambda file, good: archive(file, good, odd("x", tarfile.BLKTYPE)), "x is a device, and no file"),
    "a pipe": (lambda file, good: archive(file, good, odd("plan.toml", tarfile.FIFOTYPE)), "is a pipe, and no file"),
    "a folder": (lambda file, good: archive(file, good, odd("trials", tarfile.DIRTYPE)), "is a folder, and no file"),
    "a file that no run has": (lambda file, good: archive(file, {**good, "x.sh": b""}), "x.sh is nothing that a run"),
    "a file in a folder": (lambda file, good: archive(file, {**good, "a/plan.toml": b""}), "nothing that a run has"),
    "an escape": (lambda file, good: archive(file, {**good, "\x1b[2J": b""}), "�[2J is nothing that a run has"),
    "a file twice": (lambda file, good: archive(file, good, odd("plan.toml")), "plan.toml is there twice"),
    "an attribute": (
        lambda file, good: archive(file, good, odd("plan.toml", tarfile.XHDTYPE, size=10)),
        "plan.toml is nothing that a run has",
    ),
    "too large a file": (
        lambda file, good: raw(file, odd("plan.toml", size=1 << 40)),
        "it has more than 1 GiB",
    ),
    "a size below 0": (lambda file, good: raw(file, odd("plan.toml", size=-512)), "it has more than 1 GiB"),
    "less than it says": (lambda file, good: raw(file, odd("plan.toml", size=512), b"x"), "it is cut off"),
    "no end": (lambda file, good: raw(file, odd("plan.toml")), "it is no tar file"),
    "a broken header": (lambda file, good: file.write_bytes(bz2.compress(b"x" * 512)), "it is no tar file"),
    "a byte behind its end": (
        lambda file, good: file.write_bytes(bz2.compress(bytes(2 * 512) + b"x")),
        "something follows its end",
    ),
    "garbage behind its end": (
        lambda file, good: file.write_bytes(archive(file, good).read_bytes() + b"x"),
        "something follows its end",
    ),
    "another stream behind its end": (
        lambda file, good: file.write_bytes(archive(file, good).read_bytes() + bz2.compress(b"")),
        "something follows its end",
    ),
    "an empty stream in front": (
        lambda file, good: file.write_bytes(bz2.compress(b"") + archive(file, good).read_bytes()),
        "it is no tar file",
    ),
    "half a bzip2": (
        lambda file, good: file.write_bytes(bz2.compress(bytes(100_000))[:20]),
        "it is cut off",
    ),
    "a text": (lambda file, good: file.write_bytes(b"hello"), "it is not compressed by bzip2"),
    "nothing": (lambda file, good: file.write_bytes(b""), "it is cut off"),
    "many bytes behind its end": (
        lambda file, good: file.write_bytes(bz2.compress(bytes(1 << 20))),
        "something follows its end",
    ),
    "no manifest": (
        lambda file, good: archive(file, {name: data for name, data in good.items() if name != "manifest.json"}),
        "has no manifest.json",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_an_archive_that_no_run_has_is_refused_and_writes_nothing_else(
    case: str, content: dict[str, bytes], tmp_path: Path
) -> None:
    make, why = HOSTILE[case]
    file, folder = tmp_path / "bad.tar.bz2", tmp_path / "deep" / "out"
    make(file, content)
    folder.mkdir(parents=True)
    before = {path for path in tmp_path.rglob("*")}
    with pytest.raises(RunError) as raised:
        unpack(file, folder)
    assert why in str(raised.value) and str(file) in str(raised.value)
    assert str(raised.value).endswith("ask for the run as its author packed it, with: tunbench pack RUN FILE")
    written = {path for path in tmp_path.rglob("*")} - before
    assert {path.name for path in written} <= set(MEMBERS) and all(path.parent == folder for path in written)
    assert not any(path.is_symlink() for path in written)


def test_a_bomb_is_refused_before_it_fills_the_disk(
    content: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    file = archive(tmp_path / "bomb.tar.bz2", {**content, "plan.toml": bytes(60_000), journal.NAME: bytes(60_000)})
    (tmp_path / "out").mkdir()
    with pytest.raises(RunError, match="it has more than"):
        unpack(file, tmp_path / "out")
    assert not (tmp_path / "out" / journal.NAME).exists()


def test_a_disk_that_is_full_is_told(
    content: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = archive(tmp_path / "x.tar.bz2", content)
    with pytest.raises(RunError, match=r"cannot unpack to .*: No such file or directory; make room"):
        unpack(file, tmp_path / "gone")
