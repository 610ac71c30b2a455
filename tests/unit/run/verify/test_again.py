"""Which shards of somebody else's run are executed again, with what of the toolbox, and what is built for them."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import shard
from tests.helpers.packed_runs import change_events, change_manifest, had, whole_run
from tests.helpers.runs import PLAN, ScriptedLab, ordered, runs_here
from tests.helpers.toolboxes import program, user_with_nothing
from tunbench.journal.journal import JournalError
from tunbench.plan.load import reference_of, shipped_studies
from tunbench.run.order import RunError
from tunbench.run.verify import again, their_run
from tunbench.run.verify.again import asked_shards, check_lab, choose, loaded_plan

SHARDS = [shard("none", repeat) for repeat in range(1, 25)]


def test_the_choice_follows_from_the_seed_and_keeps_the_order() -> None:
    chosen = choose(SHARDS, 3, 1)
    assert len(chosen) == 3 and chosen == choose(list(SHARDS), 3, 1)
    assert [SHARDS.index(one) for one in chosen] == sorted(SHARDS.index(one) for one in chosen)
    assert {one.id for one in choose(SHARDS[::-1], 3, 1)} == {one.id for one in chosen}


def test_every_shard_is_chosen_by_some_seed() -> None:
    chosen = {one.id for seed in range(100) for one in choose(SHARDS, 3, seed)}
    assert chosen == {one.id for one in SHARDS}


@pytest.mark.parametrize("count", [None, 24, 100])
def test_all_are_all(count: int | None) -> None:
    assert choose(SHARDS, count, 1) == SHARDS


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return runs_here(monkeypatch, tmp_path)


UNTIL = f"{PLAN}until = {{ width = '1%', max = 10 }}\n".replace("repeats = 2", "repeats = 5")


def test_a_run_with_until_has_the_shards_that_its_answers_asked_for(here: Path) -> None:
    run = whole_run(here / "run", ordered(ScriptedLab(), UNTIL))
    with their_run.opened(run) as their:
        loaded = loaded_plan(their)
        finished = asked_shards(their, loaded).finished
        assert sorted(one.repeat for one in finished) == sorted([*range(1, 11)] * 2)
        order = again.order_of(their, loaded, finished[:1], {})
    # One shard alone is asked for, and no block follows from it.
    assert (order.plan.until, len(order.shards)) == (None, 1)


def test_an_answer_that_does_not_follow_from_the_samples_is_refused(here: Path) -> None:
    run = whole_run(here / "run", ordered(ScriptedLab(), UNTIL))

    def change(event: dict[str, Any]) -> None:
        if event["event"] == "block":
            event["enough"] = not event["enough"]

    change_events(run, change)
    with (
        their_run.opened(run) as their,
        pytest.raises(RunError, match="whether more repeats are needed; one of them was changed"),
    ):
        asked_shards(their, loaded_plan(their))


def test_a_study_needs_no_published_numbers_to_be_verified(here: Path) -> None:
    text = shipped_studies()["openwrt-2016"].read_text().replace("openwrt-2016.csv", "gone.csv")
    with their_run.opened(whole_run(here / "run")) as their:
        loaded = loaded_plan(their._replace(plan=text))
    assert "gone.csv" in loaded.text and loaded.study is None
    assert reference_of(loaded) is None


def test_a_run_of_a_lab_that_is_not_known_is_told(here: Path) -> None:
    run = whole_run(here / "run")

    def change(event: dict[str, Any]) -> None:
        if event["event"] == "run":
            event["manifest"]["lab"] = {"kind": "moon", "clock": "virtual"}

    change_events(run, change)
    change_manifest(run, lambda manifest: manifest.update(lab={"kind": "moon", "clock": "virtual"}))
    with (
        their_run.opened(run) as their,
        pytest.raises(RunError, match=r"is from a lab that this version does not have, moon \(virtual\)"),
    ):
        check_lab(their)


@pytest.mark.parametrize("key", ["addons", "tools", "brought", "plugins"])
@pytest.mark.parametrize("value", [5, ["headscale"], "headscale", None])
def test_what_a_run_had_is_a_table_of_names_and_nothing_else(here: Path, key: str, value: object) -> None:
    run = whole_run(here / "run")
    change_manifest(run, lambda manifest: manifest.update({key: value}))
    with (
        pytest.raises(JournalError, match=f"is damaged: the {key} of the manifest is not sound"),
        their_run.opened(run),
    ):
        pass
    change_events(run, lambda event: event["event"] == "run" and event["manifest"].update({key: value}))
    whole = whole_run(here / "whole")
    (run / "manifest.json").write_bytes((whole / "manifest.json").read_bytes())
    with pytest.raises(JournalError, match=f"the {key} of the manifest is not sound"), their_run.opened(run):
        pass


PROGRAM = {"zerotier-one": {"version": "1.14.2", "digest": "d" * 64, "sha256": "a" * 64}}


def test_only_what_the_author_had_is_taken_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = whole_run(tmp_path / "run", ordered(text=PLAN.replace(', "wireguard"', "")))
    user_with_nothing(monkeypatch, tmp_path)
    mine = program(tmp_path / "bin" / "zerotier-one")
    shards = [shard("wireguard"), shard("ipip")]
    with their_run.opened(run) as their:
        nothing = again.needs_of(their, shards, {})
        assert (nothing.tools, dict(nothing.files)) == ((), {})
        all_of_it = had(their, brought=PROGRAM, tools={"headscale": {}})
        found = again.needs_of(all_of_it, shards, {})
        assert (found.tools, dict(found.files)) == (("headscale",), {"zerotier-one": str(mine)})
        mine.unlink()
        with pytest.raises(RunError, match=r"needs zerotier-one 1.14.2 \(SHA-256 a{64}\), which its author brought"):
            again.needs_of(all_of_it, shards, {})
        given = {"zerotier-one": str(program(tmp_path / "zt"))}
        assert dict(again.needs_of(all_of_it, shards, given).files) == given
        assert again.needs_of(all_of_it, [shard("none")], {}).files == {}
