"""Whether a run that was begun may go on: with nothing that its numbers depend on having changed."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.packed_runs import change_sample, whole_run
from tests.helpers.runs import PLAN, ScriptedLab, ordered
from tunbench.journal.journal import JournalError
from tunbench.journal.read import MANIFEST
from tunbench.labs import image, payload
from tunbench.labs import registry as labs
from tunbench.labs.vm.image_definition import BASE
from tunbench.plan.load import PlanError
from tunbench.run.execution import create
from tunbench.run.manifest import CACHED_FACTS
from tunbench.run.order import RunError, read_order
from tunbench.run.resume import reopen


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> ScriptedLab:
    """The lab that every run is in."""
    lab = ScriptedLab()
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)
    return lab


def test_a_run_goes_on_as_it_was_begun(tmp_path: Path, lab: ScriptedLab) -> None:
    order = read_order(PLAN, "any.toml", {"seed": 9})
    create(tmp_path, order)
    again = reopen(tmp_path)
    assert (again.loaded.text, again.overrides, again.plan.seed) == (PLAN, {"seed": 9}, 9)
    assert again.shards == order.shards


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("image", {"digest": "xyz", "packages": {}}),
        ("addons", {"tshark": "new"}),
        ("qemu", "QEMU 9"),
        ("command", ["qemu", "-x"]),
        ("start", "fresh boot"),
    ],
)
def test_a_run_does_not_go_on_with_another_machine(name: str, value: Any, tmp_path: Path, lab: ScriptedLab) -> None:
    create(tmp_path, ordered(lab))
    lab.facts[name] = value
    with pytest.raises(
        RunError,
        match=f"the {re.escape(lab.deciding_facts[name])} is not the one that .* was begun with; .*begin a new run",
    ) as refused:
        reopen(tmp_path)
    # What lies in the cache may be another one because the cache is.
    assert ("XDG_CACHE_HOME" in str(refused.value)) == (name in CACHED_FACTS)


def test_a_run_whose_image_is_not_here_is_told_of_another_cache(
    tmp_path: Path, lab: ScriptedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path, ordered(lab))
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    monkeypatch.setattr(ScriptedLab, "check", lambda *_: image.check(BASE))
    with pytest.raises(image.ImageError, match=r"is not built; .*this cache is /elsewhere/tunbench: .* XDG_CACHE_H"):
        reopen(tmp_path)


def test_a_run_does_not_go_on_with_another_runner(
    tmp_path: Path, lab: ScriptedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path, ordered(lab))
    monkeypatch.setattr(payload, "digest", lambda: "another")
    with pytest.raises(RunError, match="the runner is not the one"):
        reopen(tmp_path)


def test_a_run_that_was_changed_after_its_end_gets_no_manifest_of_that(tmp_path: Path, lab: ScriptedLab) -> None:
    run = whole_run(tmp_path / "run", ordered(lab))
    reopen(run)
    change_sample(run)
    with pytest.raises(RunError, match=r"run was changed after it had come to its end: .* take the folder once more"):
        reopen(run)
    (run / MANIFEST).write_text("{")
    reopen(run)


def test_what_is_no_run_does_not_go_on(tmp_path: Path, lab: ScriptedLab) -> None:
    with pytest.raises(JournalError, match="is no run"):
        reopen(tmp_path)
    create(tmp_path, ordered(lab))
    (tmp_path / "plan.toml").write_text("name = ")
    with pytest.raises(PlanError, match="is not TOML"):
        reopen(tmp_path)
    (tmp_path / "plan.toml").unlink()
    with pytest.raises(JournalError, match=r"cannot read .*plan\.toml: No such file or directory"):
        reopen(tmp_path)


def test_a_run_does_not_go_on_with_another_plan(tmp_path: Path, lab: ScriptedLab) -> None:
    create(tmp_path, ordered(lab))
    (tmp_path / "plan.toml").write_text(PLAN.replace("count=5", "count=6"))
    with pytest.raises(RunError, match="plan"):
        reopen(tmp_path)
