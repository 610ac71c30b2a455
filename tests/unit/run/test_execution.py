"""What the execution of a run keeps: through interruptions, crashes, full disks and clocks that are set back."""

import errno
import json
import os
import random
import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, cast

import pytest

from tests.helpers.fakes import FakeExecution
from tests.helpers.packed_runs import whole_run
from tests.helpers.runs import PLAN, ScriptedLab, batches, ending_after, events, finished, ordered
from tunbench.executors import pool
from tunbench.executors.pool import ShardEvent
from tunbench.journal import files, journal
from tunbench.journal.journal import NAME, Journal
from tunbench.journal.read import MANIFEST
from tunbench.journal.readers.registry import record_of
from tunbench.plan.shard import Shard
from tunbench.report.conclusion import finish
from tunbench.run import manifest
from tunbench.run import order as run_order
from tunbench.run.execution import create, go
from tunbench.run.order import RunError, default_folder


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "POLL", 0.001)


def fingerprint(folder: Path) -> str:
    return str(record_of(folder).manifest["fingerprint"])


def told(folder: Path, event: str) -> list[dict[str, Any]]:
    return [one for one in journal.events(folder) if one["event"] == event]


def test_a_run_executes_every_shard_and_keeps_all(tmp_path: Path) -> None:
    seen: list[ShardEvent] = []
    order = ordered()
    create(tmp_path, order)
    assert go(tmp_path, order, 2, seen.append) == []
    record = record_of(tmp_path)
    assert [one.verdict for one in record.trials] == ["ok"] * 8
    assert record.interrupted == ()
    assert len(told(tmp_path, "shard")) == 8
    assert [one.line["state"] for one in seen if one.line["event"] == "shard"].count("finished") == 4
    trial = tmp_path / "trials" / "wireguard" / "baseline" / "ping-count=5" / "repeat-2"
    assert (trial / "ping.txt").read_text() == "raw\n"
    assert (trial / "commands.sh").read_text().endswith("ip netns add a\nping\n")
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/cache/acpi"),
            "lab cannot use /cache/acpi: Permission denied; give yourself access to it",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot use its cache: No space left on device; make room"),
    ],
)
def test_a_file_that_the_lab_cannot_have_is_named_and_not_the_folder_of_the_run(
    error: OSError, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ScriptedLab, "check", check)
    with pytest.raises(RunError) as raised:
        create(tmp_path / "run", ordered())
    assert said in str(raised.value)
    assert "--out" not in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_trials_and_ends_of_shards_are_on_the_disk_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    append = Journal.append

    def watched(self: Journal, event: dict[str, Any], sync: bool = False) -> None:
        synced.extend([event["event"]] * sync)
        append(self, event, sync)

    monkeypatch.setattr(Journal, "append", watched)
    finished(tmp_path)
    assert synced.count("trial") == 8
    assert set(synced) == {"run", "trial", "shard"}


def test_the_fingerprint_depends_on_neither_workers_nor_folder(tmp_path: Path) -> None:
    for number in (1, 2, 4):
        finished(tmp_path / str(number), workers=number)
    assert len({fingerprint(tmp_path / str(number)) for number in (1, 2, 4)}) == 1
    finished(tmp_path / "other", ordered(text=PLAN.replace("seed = 5", "seed = 6")))
    assert fingerprint(tmp_path / "other") != fingerprint(tmp_path / "1")


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("what", [KeyboardInterrupt, signal.SIGTERM])
def test_an_interrupted_run_goes_on_to_the_same_fingerprint(count: int, what: Any, tmp_path: Path) -> None:
    finished(tmp_path / "whole")
    order = ordered()
    create(tmp_path / "torn", order)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "torn", order, 2, ending_after(count, what))
    assert signal.getsignal(signal.SIGTERM) is before
    assert all(one.stopped for one in cast("ScriptedLab", order.lab).executions)
    assert list((tmp_path / "torn").glob(".*")) == []
    assert len(told(tmp_path / "torn", "trial")) >= count
    again = ordered()
    assert go(tmp_path / "torn", again, 1, lambda _: None) == []
    assert fingerprint(tmp_path / "torn") == fingerprint(tmp_path / "whole")


def test_finished_shards_are_not_executed_again(tmp_path: Path) -> None:
    finished(tmp_path)
    again = ordered()
    go(tmp_path, again, 1, lambda _: None)
    assert cast("ScriptedLab", again.lab).executions == []


def interrupted(folder: Path) -> None:
    """A run whose first shard has told its trials and was interrupted; the others are done."""
    lab = ScriptedLab(lambda one: FakeExecution(batches(events(one)[: -1 if first(one) else None])))
    finished(folder, ordered(lab))
    assert record_of(folder).interrupted == ("none, baseline, repeat 1",)


def first(one: Shard) -> bool:
    return (one.stack.name, one.repeat) == ("none", 1)


def test_what_comes_out_otherwise_when_executed_again_is_told_and_the_first_is_kept(tmp_path: Path) -> None:
    interrupted(tmp_path)
    before = fingerprint(tmp_path)
    other = ScriptedLab(lambda one: FakeExecution(batches(events(one, factor=2))))
    assert go(tmp_path, ordered(other), 1, lambda _: None) == [
        "none, baseline, up, repeat 1",
        "none, baseline, ping:count=5, repeat 1",
    ]
    assert fingerprint(tmp_path) == before
    assert record_of(tmp_path).interrupted == ()


def test_the_real_clock_may_come_out_otherwise(tmp_path: Path) -> None:
    interrupted(tmp_path)
    other = ScriptedLab(lambda one: FakeExecution(batches(events(one, factor=2))))
    other.clock = "real"
    assert go(tmp_path, ordered(other), 1, lambda _: None) == []


def test_a_torn_last_line_is_repaired_before_going_on(tmp_path: Path) -> None:
    finished(tmp_path)
    path = tmp_path / journal.NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    go(tmp_path, ordered(), 1, lambda _: None)
    assert len(journal.events(tmp_path)) > len(whole.splitlines())
    assert record_of(tmp_path).interrupted == ()


@pytest.mark.reliability
def test_a_journal_torn_at_any_byte_goes_on_to_the_same_fingerprint(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    finished(tmp_path / "whole")
    whole = (tmp_path / "whole" / journal.NAME).read_bytes()
    cuts = random.Random(1).sample(range(len(whole)), 60)
    for cut in cuts:
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "plan.toml").write_text(PLAN)
        (folder / journal.NAME).write_bytes(whole[:cut])
        if not journal.events(folder, 1):
            create(folder, ordered())
        assert go(folder, ordered(), 2, lambda _: None) == []
        assert fingerprint(folder) == fingerprint(tmp_path / "whole")
    record_property("reliability", f"{len(cuts)} cuts at random bytes of {len(whole)}: one fingerprint")


@pytest.mark.reliability
def test_a_clock_that_is_set_back_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    class Back(datetime):
        """Each look at the clock is an hour before the last."""

        looks = 0

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Back":
            cls.looks += 1
            return cls(2026, 1, 1, tzinfo=tz) - timedelta(hours=cls.looks)

    finished(tmp_path / "whole")
    monkeypatch.setattr(run_order, "datetime", Back)
    monkeypatch.setattr(manifest, "datetime", Back)
    monkeypatch.setattr(time, "time", lambda: 2e9 - 3600 * Back.looks)
    order = ordered()
    folder = tmp_path / default_folder("any").name
    create(folder, order)
    with pytest.raises(KeyboardInterrupt):
        go(folder, order, 2, ending_after(2, KeyboardInterrupt))
    assert go(folder, ordered(), 2, lambda _: None) == []
    assert finish(folder).analysis.record.manifest["fingerprint"] == fingerprint(tmp_path / "whole")
    assert Back.looks >= 2
    # An hour that comes twice has a name that is taken: nothing is written over.
    before = (folder / journal.NAME).read_bytes()
    with pytest.raises(RunError, match="is another run"):
        create(folder, ordered())
    assert (folder / journal.NAME).read_bytes() == before
    record_property("reliability", "an hour back at each look: same fingerprint, no folder written over")


def test_a_full_disk_is_a_message_and_what_was_measured_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append

    def full(self: Journal, event: dict[str, Any], sync: bool = False) -> None:
        if len(told(tmp_path, "trial")) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(self, event, sync)

    order = ordered()
    create(tmp_path, order)
    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(RunError) as caught:
        go(tmp_path, order, 1, lambda _: None)
    assert str(caught.value) == (
        f"cannot write to {tmp_path}: No space left on device; what was measured is kept. Make room, then: "
        f"tunbench run --resume {tmp_path}"
    )
    assert len(record_of(tmp_path).trials) == 3
    assert all(one.stopped for one in cast("ScriptedLab", order.lab).executions)


def test_a_finished_run_has_its_derived_files(tmp_path: Path) -> None:
    finished(tmp_path)
    record = finish(tmp_path).analysis.record
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["fingerprint"] == record.manifest["fingerprint"]
    assert (tmp_path / "samples.parquet").read_bytes()[:4] == b"PAR1"
    assert record.manifest["fingerprint"][:12] in (tmp_path / "report.html").read_text()


def test_a_disk_that_is_full_at_the_end_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    finished(tmp_path)
    monkeypatch.setattr(files, "write", full)
    with pytest.raises(RunError, match="No space left on device"):
        finish(tmp_path)


def test_a_run_that_goes_on_has_no_manifest_until_it_comes_to_its_end(tmp_path: Path) -> None:
    """Its fingerprint would be one of fewer trials than the journal has."""
    order = ordered()
    whole_run(tmp_path, order)
    assert go(tmp_path, order, 1, lambda _: None) == []
    assert (tmp_path / MANIFEST).exists(), "nothing was left to do"
    lines = (tmp_path / NAME).read_text().splitlines(keepends=True)
    (tmp_path / NAME).write_text("".join(lines[:-1]))
    assert go(tmp_path, order, 1, lambda _: None) == []
    assert not (tmp_path / MANIFEST).exists()
