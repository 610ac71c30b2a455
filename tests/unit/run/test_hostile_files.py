"""Files of someone else's run that are too large, or are none: nothing fills the memory or leads out of the folder."""

import os
import resource
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.helpers import spending
from tests.helpers.events import EVENTS
from tests.helpers.fakes import shard
from tests.helpers.runs import PLAN, finished
from tests.helpers.strangers import OPENED, SECONDS, Property, commands, run_of_ours, told, write
from tunbench.journal import files, journal
from tunbench.journal.events import PacketsCaptured
from tunbench.journal.readers.registry import record_of
from tunbench.report.conclusion import finish
from tunbench.run import execution, trial_folders
from tunbench.run.order import RunError, read_order
from tunbench.run.trial_folders import TrialFolders

MEMORY = 2 << 30
"""Bytes in which what is too large must be refused."""


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return run_of_ours(tmp_path, monkeypatch)


def sparse(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(2 << 30)


def filled(text: bytes, size: int) -> Callable[[Path], None]:
    def fill(path: Path) -> None:
        with path.open("ab") as file:
            file.write(b'{"event":"x","y":[')
            for _ in range(size // (1 << 20)):
                file.write(text * ((1 << 20) // len(text)))
            file.write(b"0]}\n")

    return fill


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a line of 2 GB": (sparse, "line 2: longer than 512 MiB"),
    "a file of 1 TB": (lambda path: os.truncate(path, 1 << 40), "more than 8 GiB"),
    "many empty lists": (filled(b"[],", 100 << 20), "line 2: more than 64000000 values up to here"),
    "many numbers": (filled(b"0,", 140 << 20), "line 2: more than 64000000 values up to here"),
}


@pytest.mark.reliability
@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_the_memory_is_refused_soon(name: str, tmp_path: Path, record_property: Property) -> None:
    bad = write(tmp_path / "bad", EVENTS[0])
    make, why = BOMBS[name]
    make(bad / journal.NAME)
    spent = spending.command("report", str(bad))
    assert spent.code == 2 and why in spent.stderr and spent.stderr.count("\n") == 1
    assert spent.seconds < SECONDS and spent.memory_bytes < MEMORY
    took = f"{spent.seconds:.1f} s of processor time and {spent.memory_bytes >> 20} MiB"
    record_property("reliability", f"exit code 2 after {took}")


def test_events_that_nothing_reads_take_no_memory(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", *EVENTS, *[{"event": "x"}] * 30_000)
    tracemalloc.start()
    try:
        assert len(record_of(bad).trials) == 3
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_a_capture_that_unpacks_to_gigabytes_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_folders, "LARGEST_CAPTURE", 1000)
    taker = TrialFolders(tmp_path, shard().spec())
    bomb = b64encode(zlib.compress(bytes(1 << 24))).decode()
    taker.take(PacketsCaptured("x", "proof-0.pcap", bomb))
    assert taker.captures == {"proof-0.pcap": bytes(1000)}


def as_link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def as_pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path, _: Path) -> None:
    path.mkdir()


def as_device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = {"link": as_link, "pipe": as_pipe, "folder": as_folder, "device": as_device}


@pytest.mark.reliability
@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_that_is_no_file_is_not_opened(
    kind: str, good: Path, tmp_path: Path, record_property: Property
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes((good / journal.NAME).read_bytes())
    bad = tmp_path / "bad"
    bad.mkdir()
    KINDS[kind](bad / journal.NAME, secret)
    for arguments in OPENED:
        code, said = told(*arguments, str(bad))
        assert code == 2 and f"{bad} is no run: " in said and said.count("\n") == 1
        assert secret.read_bytes() == (good / journal.NAME).read_bytes()
    record_property(
        "reliability", f"{len(OPENED)} commands: exit code 2; what it leads to is neither shown nor written"
    )


@pytest.mark.timeout(10)
@pytest.mark.parametrize("opens", [files.opened, files.appended])
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    opens: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.touch()
    seen = file.lstat()
    monkeypatch.setattr(Path, "lstat", lambda _: seen)
    with pytest.raises(OSError, match=r"pipe is no regular file|No such device or address"):
        opens(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="pipe is no regular file"):
        opens(pipe)
    os.close(reader)


@pytest.mark.parametrize("goal", ["report.html", "/etc/deep/er/report.html"])
def test_the_links_of_a_page_lead_from_where_it_stands(goal: str, good: Path) -> None:
    (good / "report.html").symlink_to(goal)
    assert told("report", str(good))[0] == 0
    assert 'href="./trials/' in (good / "report.html").read_text()


def test_a_link_to_itself_is_no_run(good: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    code, said = told("report", str(tmp_path / "loop"), str(good))
    assert code == 2 and "loop is no run: " in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arguments", OPENED[-2:])
def test_a_plan_that_is_no_file_is_not_opened(kind: str, arguments: list[str], good: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root:$6$secret")
    KINDS[kind](good / "plan.toml", secret)
    code, said = told(*arguments, str(good))
    assert code == 2 and f"cannot read {good}/plan.toml: " in said and "$6$" not in said


def test_what_stands_there_stays_until_the_new_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            files.write(path, "new and longer")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("report.html", "old")]
    files.write(path, "new and longer")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("report.html", "new and longer")]


@pytest.mark.reliability
def test_what_is_written_does_not_follow_a_link(good: Path, tmp_path: Path, record_property: Property) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    run = tmp_path / "run"
    finished(run)
    for name in ("report.html", "manifest.json", "samples.parquet"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(mine)
    finish(run)
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(mine)
    assert told("report", str(run))[0] == 0
    assert mine.read_text() == "mine"
    assert not any(path.is_symlink() for path in run.iterdir())
    assert len(pl.read_parquet(run / "samples.parquet")) > 0
    record_property(
        "reliability", "report, manifest and Parquet file take the place of three links; their goal is whole"
    )


def test_an_export_into_the_folder_of_a_run_does_not_follow_a_link(good: Path, tmp_path: Path) -> None:
    mine, export = tmp_path / "mine", good / "export"
    mine.write_text("mine")
    assert told("report", str(good), "--export", str(export))[0] == 0
    names = sorted(path.name for path in export.iterdir())
    assert {path.suffix for path in export.iterdir()} == {".csv", ".tex", ".svg", ".pdf"}
    for name in names:
        (export / name).unlink()
        (export / name).symlink_to(mine)
    assert told("report", str(good), "--export", str(export))[0] == 0
    assert mine.read_text() == "mine"
    assert names == sorted(path.name for path in export.iterdir() if not path.is_symlink())


@pytest.mark.reliability
def test_the_folders_of_trials_do_not_follow_a_link(good: Path, tmp_path: Path, record_property: Property) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    order_of = read_order(PLAN, "any.toml", {})
    execution.create(run, order_of)
    (run / "trials").symlink_to(outside)
    with pytest.raises(RunError, match="trials is a link, and may lead out of the folder"):
        execution.go(run, order_of, 1, lambda _: None)
    assert not list(outside.iterdir())
    record_property("reliability", "--resume ends with exit code 2, nothing is written where the link leads")


@pytest.mark.reliability
def test_a_parquet_bomb_is_not_even_looked_at(good: Path, record_property: Property) -> None:
    (good / "samples.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    assert told("samples", str(good))[0] == told("report", str(good))[0] == 0
    # A pipe would block whoever opens it.
    (good / "samples.parquet").unlink()
    os.mkfifo(good / "samples.parquet")
    for arguments in commands(good, good):
        told(*arguments)
    record_property(
        "reliability", f"a torn file, and a pipe in its place: {len(commands(good, good))} commands do not open it"
    )
