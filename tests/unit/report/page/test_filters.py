"""The filters of a page reach the sections that other modules make, and several runs have sections of their own."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import studies
from tests.helpers.browser import Browser, chromium
from tests.helpers.pages import view_of
from tests.helpers.records import MANIFEST, cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.journal.record import Record, TrialResult
from tunbench.report.page import body, html
from tunbench.report.page.filters import NONE, FilterMarks, SectionFrame
from tunbench.report.reported_run import ReportedRun
from tunbench.report.view import side_by_side

WHOLE = ("baseline", "medium")
UNTIL = {"width": 0.1, "confidence": 0.95, "max": 30, "metrics": ["throughput"]}


def broken(stack: str, workload: str, repeat: int = 1, profile: str = "medium") -> TrialResult:
    return trial(cell(stack, profile, workload, repeat), [], verdict="failed", reason=f"{stack} broke")


def measured(profiles: tuple[str, ...] = WHOLE) -> Record:
    """A run of the tiny study: one stack failed in one workload, another in both, and one did not come up."""
    good = [one for one in studies.trials(6, profiles) if one.cell["stack"] != "gre" or one.cell["repeat"] > 1]
    bad = [broken("gre", studies.TCP), broken("vxlan", studies.TCP), broken("vxlan", studies.PING)]
    up = [broken("macsec", "up"), broken("macsec", studies.TCP)]
    plan = {**MANIFEST["plan"], "until": UNTIL, "workloads": [studies.PING, studies.TCP]}
    return record([*good, *bad, *up], manifest={**MANIFEST, "plan": plan})


def page_of(tmp_path: Path, labels: tuple[str, ...] = ("",)) -> str:
    """The page of runs of the tiny study."""
    runs = [replace(measured(), durations={"x": float(number)}) for number, _ in enumerate(labels)]
    loaded, found = studies.loaded(tmp_path), [analyse(run) for run in runs]
    reported = [
        ReportedRun(one, label, ".", studies.assessed(one, loaded)) for one, label in zip(found, labels, strict=True)
    ]
    return html.page(side_by_side(reported))


def test_an_element_has_the_numbers_of_all_that_it_is_about() -> None:
    shown = view_of(measured())
    marks_of = FilterMarks(shown, (0,))
    of = {name: index for index, name in enumerate(shown.stacks)}
    one = marks_of.of_cells([cell("gre", workload=studies.TCP), cell("none", "medium", studies.TCP)])
    assert one == f' data-s="{of["none"]} {of["gre"]}" data-c="0 1" data-w="1" data-r="0"'
    assert marks_of.of_cells([{"stack": "pptp"}]) == f' data-s="{NONE}" data-c="{NONE}" data-w="{NONE}" data-r="0"'
    assert marks_of.of_cells([{"stack": "gre"}]).startswith(f' data-s="{of["gre"]}" data-c="{NONE}"')
    assert marks_of.of_profile("medium") == ' data-c="1" data-r="0"'
    assert SectionFrame("study").marks([cell("gre")]) == ""


def test_a_bring_up_that_failed_is_about_every_workload() -> None:
    shown = view_of(measured())
    marks_of = FilterMarks(shown, (0,))
    marks = {one.stack: marks_of.of_failing(one) for one in shown.runs[0].failing}
    assert 'data-w="1"' in marks["gre"] and 'data-w="0 1"' in marks["vxlan"]
    assert "data-w" not in marks["macsec"]
    assert marks_of.of_workload("up") == ' data-r="0"'


def test_several_runs_have_sections_of_their_own_and_no_id_twice(tmp_path: Path) -> None:
    page = page_of(tmp_path, ("old", "new"))
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert [name for name, number in Counter(ids).items() if number > 1] == []
    assert {"study", "study-2", "narrow", "narrow-2"} <= set(ids)
    assert "Beside the publication: new" in page and "Which cells were narrow enough: old" in page
    named = set(re.findall(r'(?:for|aria-labelledby|data-filters)="([\w -]+)"', page))
    assert {one for names in named for one in names.split()} <= set(ids)


def test_a_report_of_several_runs_makes_the_sections_of_each() -> None:
    made = body.parts(view_of(measured(), measured(), labels=("old", "new")))
    assert [part.id for part in made][:4] == ["compare", "overview", "narrow", "narrow-2"]
    # A row of the comparison is there as long as either run is.
    assert 'data-r="0 1"' in made[0].text


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


def visible(browser: Browser, selector: str) -> int:
    return int(
        browser.ask(f"[...document.querySelectorAll({selector!r})].filter(one => !one.closest('.off,.bare')).length")
    )


def test_filters_reach_the_study_the_widths_and_the_failures(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(tmp_path), encoding="utf-8")
    browser.errors.clear()
    browser.open(path.as_uri())
    rows, items, widths = "#study tbody tr", "#study article li", "#narrow tbody tr"
    failures = "#failures article"
    whole = [visible(browser, one) for one in (rows, items, widths, failures)]
    assert whole == [11, 4, 8, 3]
    browser.open(f"{path.as_uri()}#study&stack=gre")
    # The row of a claim stays where one of its sides is chosen.
    assert [visible(browser, one) for one in (rows, items, widths, failures)] == [1, 1, 2, 1]
    browser.open(f"{path.as_uri()}#study&profile=medium&stack=none")
    assert [visible(browser, one) for one in (rows, items, widths, failures)] == [1, 2, 1, 0]
    assert browser.ask("[...document.querySelectorAll('[data-empty]')].map(one => one.hidden)") == [True, True, False]
    browser.open(f"{path.as_uri()}#failures&workload={studies.PING.replace('=', '%3D')}")
    # What did not come up is about this workload too; of the other, only its own repeats are named.
    shown = browser.ask("[...document.querySelectorAll('#failures article:not(.off) h3')].map(one => one.innerText)")
    assert [one.partition(",")[0] for one in shown] == ["macsec", "vxlan"]
    assert visible(browser, "#failures span[data-w='1']") == 0 < visible(browser, "#failures span[data-w='0']")
    assert browser.errors == []


def test_a_run_that_is_not_chosen_has_no_failures(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(tmp_path, ("old", "new")), encoding="utf-8")
    browser.open(path.as_uri())
    assert visible(browser, "#failures article") == 6
    browser.open(f"{path.as_uri()}#failures&run=new")
    assert visible(browser, "#failures article") == 3
    assert visible(browser, "#study tbody tr") == 0 and visible(browser, "#study-2 tbody tr") == 11
