"""The table of paths: what was found between two accesses, how long it took, and what was expected instead."""

from dataclasses import replace

from tests.helpers.pages import page_of, view_of
from tests.helpers.records import cell, record, trial
from tunbench.journal.record import Record, TrialResult
from tunbench.report.tables import paths
from tunbench.runner.declare.verdicts import Verdict


def came_up(
    stack: str, access: str, path: str, verdict: Verdict = Verdict.OK, repeat: int = 1, reason: str = ""
) -> TrialResult:
    samples = [("connect", "s", 1.5)] if verdict == Verdict.OK else []
    at = {**cell(stack, workload="up", repeat=repeat), "access": access}
    return replace(trial(at, samples), path=path, verdict=verdict, reason=reason)


def some() -> Record:
    return record(
        [
            came_up("headscale", "home-fibre", "direct"),
            came_up("headscale", "lte", "direct"),
            came_up("tinc", "home-fibre", "", Verdict.FAILED),
            came_up("tinc", "lte", "direct"),
        ]
    )


def test_a_difference_is_named_with_its_source() -> None:
    [table] = paths.tables(view_of(some()))
    assert [column.heading for column in table.columns] == ["profile", "headscale", "tinc"]
    texts = [[field.text for field in row.fields[1:]] for row in table.rows]
    assert texts[0] == ["direct, 1.50\N{NO-BREAK SPACE}s", "failed"]
    assert texts[1][0].startswith("direct, 1.50\N{NO-BREAK SPACE}s; expected derp (Ford, Srisuresh, Kegel: ")
    assert texts[1][1].startswith("direct, 1.50\N{NO-BREAK SPACE}s; expected failed (")
    assert [row.fields[1].kind for row in table.rows] == ["", "failed"]


def test_a_repeat_that_differs_is_named_and_a_failure_has_its_reason() -> None:
    trials = [
        came_up("headscale", "home-fibre", "direct"),
        came_up("headscale", "lte", "derp"),
        came_up("headscale", "home-fibre", "derp", repeat=2),
        came_up("tinc", "home-fibre", "", Verdict.FAILED, reason="tinc: its daemon on a ended"),
    ]
    [table] = paths.tables(view_of(record(trials)))
    [headscale, tinc] = table.rows[0].fields[1:]
    assert headscale.text.startswith("direct in 1 of 2, derp in 1 of 2, 1.50\N{NO-BREAK SPACE}s; expected direct (")
    assert headscale.kind == "failed"
    assert (tinc.text, tinc.why) == ("failed", "tinc: its daemon on a ended")


def test_it_is_there_where_there_are_paths_and_several_accesses_alone() -> None:
    one = record([came_up("headscale", "lte", "derp")])
    assert paths.tables(view_of(one)) == []
    assert paths.tables(view_of(record([came_up("gre", access, "") for access in ("lte", "cloud")]))) == []


def test_the_page_says_beside_each_trial_which_path_it_took() -> None:
    assert '<span class="path">direct</span>' in page_of(some())
