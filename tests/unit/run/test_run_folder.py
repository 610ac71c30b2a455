"""The folder of a new run: what is written into it, and what keeps it from being one."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.runs import FACTS, PLAN, ScriptedLab, ordered
from tunbench.journal import journal
from tunbench.labs.lab import LabError
from tunbench.run import manifest
from tunbench.run.execution import create
from tunbench.run.order import RunError, default_folder


def test_a_new_run_has_its_plan_and_the_head_of_its_journal(tmp_path: Path) -> None:
    lab = ScriptedLab()
    create(tmp_path / "deep" / "run", ordered(lab))
    assert lab.checked == {"none", "wireguard"}
    folder = tmp_path / "deep" / "run"
    assert (folder / "plan.toml").read_text() == PLAN
    [head] = journal.events(folder)
    assert (head["event"], head["journal"], head["overrides"]) == ("run", journal.VERSION, {})
    assert head["planned"] == 4 * 2, "each shard has a trial for its bringing up"
    manifest = head["manifest"]
    assert {name: manifest[name] for name in FACTS} == FACTS
    assert {name: manifest["plan"][name] for name in ("name", "seed", "repeats")} == {
        "name": "any",
        "seed": 5,
        "repeats": 2,
    }
    assert manifest["lab"] == {"kind": "vm", "clock": "virtual"}
    assert set(manifest) >= {"tunbench", "host", "began", "runner"}
    assert manifest["host"]["cores"] == os.cpu_count()


def test_an_empty_folder_can_become_a_run(tmp_path: Path) -> None:
    create(tmp_path, ordered())
    assert journal.events(tmp_path)


def test_a_folder_that_is_another_run_is_not_touched(tmp_path: Path) -> None:
    create(tmp_path, ordered())
    before = (tmp_path / journal.NAME).read_bytes()
    with pytest.raises(RunError, match=r"is another run; name a new folder with --out, or go on with: .* --resume"):
        create(tmp_path, ordered())
    assert (tmp_path / journal.NAME).read_bytes() == before


def test_a_folder_that_holds_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="is not empty and no run; name a new folder with --out"):
        create(tmp_path, ordered())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_written_is_a_message() -> None:
    with pytest.raises(
        RunError, match="cannot write to /dev/null/run: Not a directory; name another folder with --out"
    ):
        create(Path("/dev/null/run"), ordered())


def test_a_folder_that_leads_nowhere_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    native = ScriptedLab()
    native.kind = "native"
    for folder in (tmp_path / "loop", tmp_path / "loop" / "x"):
        with pytest.raises(RunError, match=r"cannot write to .*; name another folder with --out"):
            create(folder, ordered(native))


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file"):
        create(tmp_path / "file", ordered())


def test_nothing_is_made_where_the_lab_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: ScriptedLab, stacks: Iterable[str], machines: object, accesses: object) -> dict[str, Any]:
        raise LabError("no qemu")

    monkeypatch.setattr(ScriptedLab, "check", refuse)
    with pytest.raises(LabError, match="no qemu"):
        create(tmp_path / "run", ordered())
    assert not (tmp_path / "run").exists()


def test_a_machine_without_git_does_not_know_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert manifest.describe(ordered())["tunbench"]["commit"] == "unknown"


def test_a_default_folder_has_time_and_plan() -> None:
    assert default_folder("quick").match("runs/20??????T??????Z-quick")
