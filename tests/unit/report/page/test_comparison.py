import re
from html.parser import HTMLParser

from tests.helpers.comparisons import OTHER_MANIFEST, analysis_of, failures, speeds, spread
from tunbench.analysis.compare.runs import compare
from tunbench.analysis.compare.selection import Selection
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.report import change_wording
from tunbench.report.charts import forest
from tunbench.report.page.comparison import rendered
from tunbench.report.page.figures import drawn
from tunbench.report.page.filters import SectionFrame
from tunbench.report.page.template import text

A = analysis_of(
    [
        *speeds("none", spread(1e9, 1)),
        *speeds("gre", spread(1e9, 2)),
        *speeds("wireguard+vxlan", spread(1e9, 3)),
        *speeds("ipip", spread(1e9, 4)),
    ]
)
B = analysis_of(
    [
        *speeds("none", spread(1e9, 5)),
        *speeds("gre", spread(0.9e9, 6)),
        *speeds("wireguard+vxlan", spread(1.2e9, 7)),
        *failures("ipip", range(1, 11), "<script>alert(1)</script>"),
    ],
    {**OTHER_MANIFEST, "runner": "<i>changed</i>"},
)


ALL = Selection()


def section(a: RunAnalysis, b: RunAnalysis, names: tuple[str, str] = ("A", "B"), choice: Selection = ALL) -> str:
    compared = compare(a, b, choice)
    return rendered(compared, names, SectionFrame("compare"), [drawn(one) for one in forest.plots(compared, names)])


class Page(HTMLParser):
    """What stands open at each moment, and every id, class and reference."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.classes: set[str] = set()
        self.named: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("input", "br", "wbr", "path", "line"):
            self.open.append(tag)
        for name, value in attrs:
            self.ids += [value or ""] if name == "id" else []
            self.classes |= set((value or "").split()) if name == "class" else set()
            self.named |= set((value or "").split()) if name in ("for", "aria-labelledby", "data-filters") else set()
            self.addresses += [value or ""] if name in ("src", "href") else []

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "line", "br"):
            assert self.open.pop() == tag


def test_the_section_is_whole_and_names_what_is_there() -> None:
    page = Page(section(A, B, ("before", "after")))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.named <= set(page.ids)
    assert all(one.startswith("compare") for one in page.ids)
    assert page.addresses == []


def test_its_classes_are_those_of_the_style() -> None:
    style = text("style.css")
    page = Page(re.sub(r"<svg.*?</svg>", "", section(A, B), flags=re.DOTALL))
    # The script looks for the class sortable; it has no style.
    assert all(f".{name}" in style for name in page.classes - {"sortable"})


def test_texts_of_runs_are_escaped() -> None:
    text = section(A, B, ("<b>before</b>", "after & on"))
    assert "<script" not in text
    assert "<i>" not in text
    assert "<b>" not in text
    assert "10 of 10 trials failed: &lt;script&gt;" in text
    assert "&lt;b&gt;before&lt;/b&gt; compared with after &amp; on" in text


def test_every_cell_has_a_row_the_worst_first() -> None:
    text = section(A, B)
    rows = re.findall(r'<th scope="row" class="stack">(.*?)</th>.*?<td class="(\w*)">([^<]*)</td>', text)
    assert rows == [
        ("ipip", "failed", "failed in B"),
        ("gre", "failed", "worse"),
        ("none", "", "no difference shown"),
        ("wireguard+<wbr>vxlan", "ok", "better"),
    ]
    assert "<dt>runner</dt>" in text


def test_what_differs_of_the_runs_stands_above_the_verdicts() -> None:
    text = section(A, B)
    named = "The runs also differ in: "
    assert text.index(named) < text.index("<svg") < text.index("<table") < text.index("<dt>runner</dt>")
    told = text.partition(named)[2].partition("; what each")[0]
    assert told.split(", ") == re.findall(r"<dt>(.*?)</dt>", text)
    assert named not in section(A, A)


def test_of_much_that_differs_the_first_is_named_and_the_rest_counted() -> None:
    packages = {f"package-{number}": "1" for number in range(20)}
    text = section(A, analysis_of(speeds("gre", spread(1e9, 1)), {**OTHER_MANIFEST, "programs": packages}))
    assert text.partition("also differ in: ")[2].partition("; what each")[0].count(",") == change_wording.MAX_NAMED - 1
    assert re.search(r" and \d+ more; what each", text)


def test_the_forest_has_a_mark_for_each_cell_with_a_shift() -> None:
    text = section(A, B)
    assert text.count("<svg") == 1
    assert 'aria-label="worse"' not in text
    drawn = re.search(r"<svg.*?</svg>", text, re.DOTALL)
    assert drawn
    assert all(name in drawn[0] for name in ("gre", "none", "wireguard", "worse", "better"))
    assert "ipip" not in drawn[0].partition("</desc>")[2]


def test_a_long_comparison_draws_the_worst_and_says_so() -> None:
    names = [f"iperf3-tcp:duration={number}" for number in range(1, forest.MAX_CELLS + 3)]
    a, b = (
        analysis_of([one for name in names for one in speeds("gre", spread(1e9, seed, 8), name)]) for seed in (1, 2)
    )
    b.record.manifest["fingerprint"] = "another"
    text = section(a, b)
    assert f"The {forest.MAX_CELLS} worst are drawn" in text
    assert text.count('scope="row"') == forest.MAX_CELLS + 2


def test_equal_runs_have_no_plot() -> None:
    text = section(A, A, choice=Selection(stack="gre"))
    assert "<svg" not in text
    assert "identical: both runs have the same fingerprint (1 cell)" in text
