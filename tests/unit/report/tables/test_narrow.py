"""What a report and the terminal say of cells that were to become narrow enough."""

from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console

from tests.helpers.pages import page_of, view_of
from tests.helpers.records import MANIFEST, PING, TCP, cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.journal.record import Record
from tunbench.report.tables import narrow
from tunbench.report.terminal import run_report

UNTIL = {"width": 0.1, "confidence": 0.95, "max": 30, "metrics": ["throughput", "rtt"]}

HOSTILE = "<script>alert(1)</script>"


def adaptive(trials: Any) -> Record:
    return record(trials, manifest={**MANIFEST, "plan": {**MANIFEST["plan"], "until": UNTIL}})


def measured(stack: str = "gre") -> Record:
    """A narrow throughput, and a round-trip time that is not."""
    trials = []
    for repeat in range(1, 11):
        trials.append(trial(cell(stack, workload=TCP, repeat=repeat), [("throughput", "bit/s", 1e9 + repeat)]))
        echoes = [("rtt", "s", repeat / 1e3, moment / 10) for moment in range(3)]
        trials.append(trial(cell(stack, workload=PING, repeat=repeat), [*echoes, ("loss", "ratio", repeat / 10)]))
    return adaptive(trials)


def test_every_cell_that_counts_has_a_row_the_widest_first() -> None:
    found = narrow.cells(analyse(measured()))
    assert [(row.workload, row.metric, row.n.text, row.enough) for row in found] == [
        (PING, "rtt median", "10", False),
        (TCP, "throughput", "10", True),
    ]
    assert found[0].width.text == "127\N{NO-BREAK SPACE}%"
    assert found[0].median.text == "5.50\N{NO-BREAK SPACE}ms"


def test_a_cell_without_an_interval_stands_first_and_says_so() -> None:
    whole = measured()
    extra = trial(cell("ipip", workload=TCP), [("throughput", "bit/s", 1e9)])
    first = narrow.cells(analyse(replace(whole, trials=(*whole.trials, extra))))[0]
    assert (first.stack, first.width.text, first.width.key, first.enough) == ("ipip", "no interval", None, False)


def test_cells_without_an_interval_are_counted_and_not_listed() -> None:
    whole = measured()
    extra = [trial(cell(stack, workload=TCP), [("throughput", "bit/s", 1e9)]) for stack in ("ipip", "vxlan")]
    head, without, *named = narrow.lines(analyse(replace(whole, trials=(*whole.trials, *extra))))
    assert head.startswith("narrow enough: 1 of 4 ")
    assert without == "without an interval: 2 of them, as after too few repeats"
    assert len(named) == 1 and "gre" in named[0]


def test_pairs_and_nodes_are_named_where_there_are_several() -> None:
    trials = [
        trial(cell("gre", workload=TCP), [("throughput", "bit/s", 1e9, None, node) for node in ("a", "b")]),
    ]
    assert [row.metric for row in narrow.cells(analyse(adaptive(trials)))] == [
        "throughput (a-b, a)",
        "throughput (a-b, b)",
    ]


def test_without_until_nothing_is_said() -> None:
    plain = analyse(replace(measured(), manifest=MANIFEST))
    assert (narrow.cells(plain), narrow.lines(plain)) == ([], [])


def test_the_section_counts_and_escapes() -> None:
    page = page_of(measured(HOSTILE))
    text = page[page.index('<section id="narrow"') :].partition("</section>")[0]
    assert "1 of 2 cells and metrics were" in text
    assert text.count("<td>no</td>") == text.count("<td>yes</td>") == 1
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text


def test_the_terminal_names_what_was_not_narrow_enough() -> None:
    out = StringIO()
    Console(file=out, width=200).print(run_report.rendered(view_of(measured())))
    text = out.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "narrow enough: 1 of 2 cells and metrics (at most 10 % wide at 95 %, 30 repeats at most)" in text
    assert f"not narrow enough after 10: gre, baseline, {PING}: rtt median 127 %" in text
    assert "throughput 0" not in text


def test_of_many_the_terminal_names_the_widest() -> None:
    trials = [
        trial(cell(f"s{n}", workload=TCP, repeat=repeat), [("throughput", "bit/s", 1e9 * repeat)])
        for n in range(narrow.MAX_NAMED_CELLS + 3)
        for repeat in range(1, 7)
    ]
    lines = narrow.lines(analyse(adaptive(trials)))
    assert len(lines) == narrow.MAX_NAMED_CELLS + 2
    assert lines[-1] == "… and 3 more, which the report names"
