import itertools
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.pages import HOSTILE, hostile_page, page_of, view_of, write_page
from tests.helpers.records import MANIFEST, PING, TCP, cell, realistic, record, trial
from tunbench.report.page import bounds, html

SECTIONS = (
    *("overview", "fast", "late", "costly", "degrades", "recovers", "everything"),
    *("warnings", "failures", "trials", "method", "impairments", "clock", "manifest"),
)
VOID = {"meta", "input", "wbr", "link", "br", "img"}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects ids, links, texts and elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, attribute: str) -> list[str]:
        return [value for _, attrs in self.elements if (value := attrs.get(attribute)) is not None]


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(realistic(3))


def test_write_makes_one_file_quickly(tmp_path: Path) -> None:
    whole = realistic(3)
    began = time.monotonic()
    write_page(whole, tmp_path / "report.html")
    assert time.monotonic() - began < 10
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").stat().st_size < 500_000


def test_the_page_is_well_formed_and_has_every_section(page: str) -> None:
    ids = Reader(page).all("id")
    assert set(SECTIONS) <= set(ids)
    assert len(ids) == len(set(ids))


def test_links_within_the_page_lead_somewhere(page: str) -> None:
    reader = Reader(page)
    assert {link[1:] for link in reader.all("href") if link.startswith("#")} <= set(reader.all("id"))


def test_nothing_is_fetched(page: str) -> None:
    without_names = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|//[a-z]|@import|src=|url\((?!#)", without_names)
    assert "default-src 'none'" in page
    assert not {"img", "link", "iframe", "object"} & {tag for tag, _ in Reader(page).elements}


def test_each_trial_has_a_relative_link_to_its_commands(page: str) -> None:
    links = [link for link in Reader(page).all("href") if not link.startswith("#")]
    assert all(link.startswith("./trials/") and link.endswith("/commands.sh") for link in links)
    assert len(set(links)) >= len([one for one in realistic(3).trials if one.cell["workload"] != "up"])


def test_charts_are_named_for_those_who_cannot_see_them(page: str) -> None:
    reader = Reader(page)
    charts = [attrs for tag, attrs in reader.elements if tag == "svg"]
    ids = set(reader.all("id"))
    assert len(charts) > 20
    assert all(attrs["role"] == "group" and str(attrs["aria-labelledby"]) in ids for attrs in charts)
    marks = re.findall(r'<(?:a|g)(?: href="[^"]*")? class="m"[^>]*>(.{7})', page)
    assert len(marks) > 100 and set(marks) == {"<title>"}
    text = page.replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"wireguard, baseline\nthroughput: 6\d\d Mbit/s, range \[", text)
    assert "3 trials of iperf3-tcp:duration=2" in text


def test_charts_have_no_colour_that_ignores_the_theme(page: str) -> None:
    assert not re.findall(r'(?:fill|stroke|color)="', page)
    colours = set(re.findall(r'style="color:([^"]*)"', page))
    assert colours and all(re.fullmatch(r"var\(--(s\d|soft)\)", colour) for colour in colours)
    css = page[page.index("<style>") : page.index("</style>")]
    assert not re.findall(r"#[0-9a-f]{3,6}\b", re.sub(r"--[a-z0-9]+:#[0-9a-f]{6}|background:#fff", "", css))


def test_costs_have_a_table_with_the_excess_over_none(page: str) -> None:
    text = page.replace("\N{NO-BREAK SPACE}", " ")
    section = text[text.index('id="costly"') : text.index('id="degrades"')]
    # wireguard: 8 bit / 0.61 Gbit/s and 2 %; none has 12 Gbit/s.
    assert ">13.4 ns/B<" in section and ">12.7 ns/B<" in section
    assert "a nanosecond is an instruction" in section


def test_on_the_real_clock_no_instruction_is_spoken_of() -> None:
    manifest = {**MANIFEST, "lab": {"kind": "native", "clock": "real"}, "fingerprint": "no promise"}
    page = page_of(record(realistic(1).trials, manifest=manifest))
    assert "instruction" not in page[page.index('id="costly"') : page.index('id="degrades"')]


def test_the_fingerprint_names_tools_and_brought_programs() -> None:
    facts = {"version": "0.28.0", "digest": "b" * 64}
    manifest = {**MANIFEST, "tools": {"headscale": facts}, "brought": {"mycelium": {**facts, "version": "0.6"}}}
    page = page_of(record(realistic(1).trials, manifest=manifest))
    assert "headscale <code>0.28.0 (bbbbbbbbbbbb)</code>" in page
    assert "mycelium <code>0.6 (bbbbbbbbbbbb)</code>" in page


def test_a_question_without_an_answer_has_no_section() -> None:
    ids = Reader(page_of(record([trial(cell("none"), [("rtt", "s", 1e-3, 0.0)])]))).all("id")
    assert "late" in ids and not {"fast", "costly", "degrades", "recovers", "wire", "other"} & set(ids)


def test_hostile_names_stay_text() -> None:
    page = hostile_page()
    reader = Reader(page)
    assert sum(tag == "script" for tag, _ in reader.elements) == 1
    assert not [attrs for _, attrs in reader.elements if any(name.startswith("on") for name in attrs)]
    assert not [link for link in reader.all("href") if not link.startswith(("#", "./"))]
    assert HOSTILE in "".join(reader.texts)


def test_failures_have_their_reason_and_logs(page: str) -> None:
    assert "iperf3 did not end within 20 s" in page
    assert "Inactivity timeout, restarting" in page
    assert "Unknown device type" in page


def test_a_long_log_is_cut_at_its_beginning() -> None:
    log = "begin" + "x" * 100_000 + "the end"
    page = page_of(record([trial(cell("none"), verdict="failed", reason="?", logs={"a": log})]))
    assert "the end" in page and "begin" not in page.partition("<pre")[2]
    assert len(page) < 120_000


def test_netem_is_explained_by_its_arithmetic(page: str) -> None:
    text = page.replace("\N{NO-BREAK SPACE}", " ")
    assert "4 ms ± 7 ms has a mean of 4.32 ms" in text
    assert ">8.64 ms<" in text
    assert ">1.99 %<" in text
    assert "nearly never happens" in text


def test_profiles_written_in_a_plan_are_explained_too() -> None:
    wan = {"name": "wan", "forward": {"delay": 0.02, "loss": 0.1}, "reverse": {"delay": 0.04}, "placement": "router"}
    trials = [trial(cell("none", "wan"), [("rtt", "s", 0.0601, 0.0), ("loss", "ratio", 0.1)])]
    page = page_of(record(trials, manifest={**MANIFEST, "plan": {"name": "x", "profiles": [wan]}}))
    text = page.replace("\N{NO-BREAK SPACE}", " ")
    assert "delay 20 ms, loss 10 %" in text and "delay 40 ms" in text and ">60.0 ms<" in text
    assert "nearly never happens" not in text and "clipped" not in text


def test_the_real_clock_promises_nothing() -> None:
    manifest = {**MANIFEST, "lab": {"kind": "native", "clock": "real"}, "fingerprint": "no promise"}
    page = page_of(record(realistic(1).trials, manifest=manifest))
    assert "no promise" in page and 'id="clock"' not in page


def test_an_unimpaired_run_says_nothing_of_impairments() -> None:
    assert 'id="impairments"' not in page_of(record([trial(cell("none"), [("rtt", "s", 1e-3, 0.0)])]))


@pytest.mark.parametrize("manifest", [{}, {"plan": None, "lab": "?", "image": [], "programs": {}, "fingerprint": None}])
def test_an_empty_run_and_a_poor_manifest_have_a_report(manifest: dict[str, object]) -> None:
    assert "Nothing: every trial" in page_of(record([], manifest=manifest))


def test_zeros_can_be_drawn() -> None:
    samples: dict[str, list[tuple[Any, ...]]] = {
        TCP: [("throughput", "bit/s", 0.0)],
        PING: [("rtt", "s", 0.0, 0.0)],
    }
    page = page_of(record([trial(cell("none", workload=name), some) for name, some in samples.items()]))
    assert page.count("<svg") == 2 and not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', page)


def test_a_stack_without_a_ratio_may_come_before_one_that_has_one() -> None:
    trials = [
        trial(cell("none", workload=TCP), [("throughput", "bit/s", 1e9)]),
        trial(cell("gre", workload=TCP), verdict="failed", reason="?"),
        trial(cell("vxlan", workload=TCP), [("throughput", "bit/s", 1e8)]),
    ]
    assert ">0.100<" in page_of(record(trials))


def test_a_comparison_of_two_runs_comes_first() -> None:
    page = html.page(view_of(realistic(1), realistic(1, seed=2), labels=("old", "new")))
    assert '<a href="#compare">old compared with new</a>' in page
    assert page.index('id="compare"') < page.index('id="overview"') < page.index('id="fast"')


def test_headings_go_down_one_step_at_a_time(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Reader(page).elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels))


def test_every_table_has_a_caption(page: str) -> None:
    assert page.count("<table") == page.count("<caption") > 4


def test_a_page_that_would_be_too_large_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_ROWS_OF_A_TABLE", 5)
    monkeypatch.setattr(bounds, "MAX_TRIAL_LINKS", 4)
    monkeypatch.setattr(bounds, "MAX_ROWS_OF_CHARTS", 5)
    page = page_of(realistic(1))
    assert re.search(r"These are 5 of \d+ rows", page)
    assert re.search(r"The trials of \d+ more cells are left out", page)
    assert re.search(r"\d further charts are not in this page", page)
    assert 'id="fast"' in page and "<svg" in page


def test_unfolded_charts_stay_where_not_all_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_CHARACTERS_OF_CHARTS", 60_000)
    page = page_of(realistic(1))
    assert page.count("<svg") > 1 and "throughput" in page[page.index('id="fast"') : page.index('id="everything"')]
    assert re.search(r"\d+ further charts are not in this page", page)
