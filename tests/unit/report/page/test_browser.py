"""The report in a headless Chromium. Where there is none in PATH, these tests are skipped, and say so."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.helpers import calibrated, journals, studies
from tests.helpers.browser import CONTRAST, Browser, chromium
from tests.helpers.five import five
from tests.helpers.pages import hostile_page, write_page
from tests.helpers.records import realistic
from tunbench.journal.readers.registry import record_of
from tunbench.report.page import html
from tunbench.report.reported_run import ReportedRun

FIRST = "document.querySelector('#figure-0 svg')"
NAMES = f"[...{FIRST}.querySelectorAll('.m:not(.off)')].map(row => row.querySelector('text').textContent)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(realistic(3), path)
    return path.as_uri()


def test_nothing_is_fetched_and_nothing_complains(browser: Browser, page: str) -> None:
    browser.requests.clear()
    browser.errors.clear()
    browser.open(page)
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.requests == [page]
    assert browser.errors == []


def test_the_address_filters_tables_and_charts(browser: Browser, page: str) -> None:
    browser.open(f"{page}#fast&stack=none&stack=wireguard&profile=medium")
    assert browser.ask(NAMES) == ["none", "wireguard"]
    shown = browser.ask(
        "[...document.querySelectorAll('#matrix tbody tr')].filter(row => row.checkVisibility())"
        ".map(row => row.cells[0].textContent + ' ' + row.cells[1].textContent)"
    )
    assert shown == ["none medium", "wireguard medium"]
    assert browser.ask("[...document.querySelectorAll('#figure-0 .panel')].map(one => one.checkVisibility())") == [
        False,
        True,
    ]
    # The rows that are left have moved together.
    assert browser.ask(f"{FIRST}.getAttribute('viewBox')") == "0 0 360 100"
    assert "2 of 9 stacks, 1 of 2 profiles" in browser.ask("document.getElementById('filters-shown').textContent")


def test_a_choice_is_kept_in_the_address_and_can_be_taken_back(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.ask("document.querySelector('[data-none=s]').click()")
    browser.ask("document.querySelectorAll('[data-d=s]')[1].click()")
    assert browser.ask("location.hash") == f"#stack={quote('ipip')}"
    assert browser.ask(NAMES) == ["ipip"]
    browser.ask("document.querySelector('[data-all=s]').click()")
    assert len(browser.ask(NAMES)) == 9
    assert "stack=" not in browser.ask("location.hash")


def test_what_was_hidden_by_an_address_comes_back_with_another(browser: Browser, page: str) -> None:
    browser.open(f"{page}#workload=")
    assert not browser.ask("document.querySelector('#figure-0').checkVisibility()")
    browser.ask("new Promise(done => { addEventListener('hashchange', done, {once: true}); location.hash = '#fast'; })")
    assert browser.ask("document.querySelector('#figure-0').checkVisibility()")


def test_marks_tell_of_themselves_by_keyboard(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.ask(f"{FIRST}.focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowDown", code="ArrowDown")
    told = browser.ask("document.getElementById('tip').textContent").replace("\N{NO-BREAK SPACE}", " ")
    assert told.startswith("none, baseline\nthroughput: 1") and "3 trials" in told
    assert browser.ask("document.activeElement.getAttribute('aria-label')").startswith("none, baseline")
    assert browser.ask("document.activeElement.href.baseVal").endswith("/commands.sh")


def test_a_table_sorts_and_finds(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.ask("document.querySelectorAll('#matrix thead button')[2].click()")
    speeds = browser.ask("[...document.querySelectorAll('#matrix tbody tr')].map(row => row.cells[2].dataset.key)")
    known = [float(speed) for speed in speeds if speed]
    assert known == sorted(known) and len(known) < len(speeds)
    browser.ask(
        "(() => { const field = document.getElementById('search-measured'); field.value = 'gre rtt';"
        "field.dispatchEvent(new Event('input')); })()"
    )
    assert browser.ask("document.getElementById('measured-shown').textContent").startswith("6 of ")


@pytest.fixture(scope="module")
def five_stacks(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("five") / "report.html"
    write_page(five(3), path)
    return path.as_uri()


def test_a_page_of_five_stacks_is_short_with_its_details_folded(browser: Browser, five_stacks: str) -> None:
    browser.open(five_stacks)
    assert browser.ask("document.documentElement.scrollHeight") < 8000


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_of_five_stacks_never_scrolls_sideways(browser: Browser, five_stacks: str, width: int) -> None:
    browser.open(five_stacks, width=width, height=800)
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_sentence_is_on_the_first_screen(browser: Browser, five_stacks: str, width: int) -> None:
    browser.open(five_stacks, width=width, height=800)
    first = "document.querySelector('.sentences li').getBoundingClientRect()"
    assert browser.ask(f"{first}.left") >= 0 and browser.ask(f"{first}.right") <= width
    assert browser.ask(f"{first}.bottom") <= 800


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page whose trials are enough to tell stacks apart, with long sentences."""
    path = tmp_path_factory.mktemp("decided") / "report.html"
    write_page(realistic(8), path)
    return path.as_uri()


@pytest.mark.parametrize("width", [390, 1280])
def test_every_sentence_of_the_answer_is_whole(browser: Browser, decided: str, width: int) -> None:
    browser.open(decided, width=width, height=800)
    # A range knows where the letters are, also of a word that is wider than its box, or hidden by one around it.
    edges = browser.ask("""[...document.querySelectorAll('.sentences li')].map(one => {
      const letters = document.createRange();
      letters.selectNodeContents(one);
      let left = 0, right = innerWidth;
      for (let box = one; box; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== 'visible') {
          const edge = box.getBoundingClientRect();
          [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
        }
      const there = [...letters.getClientRects()];
      return [Math.min(...there.map(box => box.left)) - left, right - Math.max(...there.map(box => box.right))];
    })""")
    assert len(edges) > 1 and all(left >= 0 and right >= 0 for left, right in edges), edges


def test_no_line_goes_through_a_name_or_a_number_of_a_strip(browser: Browser, five_stacks: str) -> None:
    browser.open(five_stacks)
    through = """[...document.querySelectorAll('svg.strips')].flatMap(chart => {
      const lines = [...chart.querySelectorAll('.g')].map(one => one.getBoundingClientRect().left);
      const texts = [...chart.querySelectorAll('.m text')].map(one => one.getBoundingClientRect());
      return texts.filter(box => lines.some(x => box.width && box.left < x && x < box.right));
    }).length"""
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask("document.querySelectorAll('svg.strips .m text').length") > 100
    assert browser.ask(through) == 0


def test_a_name_its_value_and_its_mark_stand_on_one_line(browser: Browser, five_stacks: str) -> None:
    browser.open(five_stacks)
    apart = f"""[...{FIRST}.querySelectorAll('.m')].map(row => {{
      const middle = one => (box => (box.top + box.bottom) / 2)(one.getBoundingClientRect());
      const texts = [...row.querySelectorAll('text')], value = texts.pop();
      const names = texts.map(middle).reduce((a, b) => a + b) / texts.length;
      return Math.max(names, middle(value), middle(row.querySelector('.k')))
        - Math.min(names, middle(value), middle(row.querySelector('.k')));
    }})"""
    assert max(browser.ask(apart)) < 3


def test_a_link_unfolds_what_it_leads_to(browser: Browser, five_stacks: str) -> None:
    browser.open(f"{five_stacks}#everything")
    assert browser.ask("document.querySelector('#everything > details').open")
    assert not browser.ask("document.querySelector('#trials > details').open")


@pytest.mark.parametrize("dark", [False, True])
def test_a_telephone_scrolls_down_only(browser: Browser, page: str, dark: bool) -> None:
    browser.open(page, width=375, height=800, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 375
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == (
        "rgb(21, 24, 27)" if dark else "rgb(253, 253, 252)"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_a_prediction_can_be_read_on_a_telephone_and_filtered(browser: Browser, tmp_path: Path, dark: bool) -> None:
    run = ReportedRun(studies.found(), assessment=calibrated.assessed(tmp_path))
    html.write(run, tmp_path / "study.html")
    address = (tmp_path / "study.html").as_uri()
    browser.open(address, width=390, height=800, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 390
    assert browser.ask(CONTRAST.read_text()) >= 4.5
    points = "[...document.querySelectorAll('#study svg.points .m:not(.off)')].length"
    # Four systems on the LAN and one on the WAN, and three round trips; then those of GRE alone.
    assert browser.ask(points) == 8
    browser.open(f"{address}?#stack=gre", width=390, height=800, dark=dark)
    assert browser.ask(points) == 1


@pytest.mark.parametrize("dark", [False, True])
def test_texts_can_be_read(browser: Browser, page: str, dark: bool) -> None:
    browser.open(page, dark=dark)
    assert browser.ask(CONTRAST.read_text()) >= 4.5


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(hostile_page(), encoding="utf-8")
    browser.errors.clear()
    browser.open(path.as_uri())
    browser.ask("document.querySelectorAll('.m').forEach(one => one.focus())")
    assert browser.errors == []
    assert browser.ask("document.querySelectorAll('script').length") == 1
    links = browser.ask("[...document.querySelectorAll('a')].map(one => one.href.baseVal ?? one.getAttribute('href'))")
    assert all(link.startswith(("#", "./")) for link in links)


def test_a_hundred_thousand_samples_open_with_little_processor_time(browser: Browser, tmp_path: Path) -> None:
    journals.write(tmp_path, 100_000)
    write_page(record_of(tmp_path), tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 15_000_000
    began = browser.processor_seconds
    browser.open((tmp_path / "report.html").as_uri())
    assert 0 < browser.processor_seconds - began < 1
