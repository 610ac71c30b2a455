"""Tables on terminals of any width: nothing is dropped, and no word, number or heading is broken."""

import io
import re

import pytest
from rich.console import Console
from rich.text import Text

from tests.helpers.pages import view_of
from tests.helpers.records import realistic
from tunbench.report.terminal import run_report
from tunbench.report.terminal.grid import Grid, GridColumn, GridRow, rows_of

COLUMNS = [
    *(GridColumn(name, place=True) for name in ("stack", "profile", "workload")),
    *(GridColumn(name, number=True) for name in ("throughput [low, high]", "p")),
    GridColumn("verdict"),
]

ROWS = rows_of(
    [
        (
            *("wireguard:impl=boringtun+vxlan", "home-dsl", "iperf3-tcp:duration=10,parallel=4"),
            *("940\N{NO-BREAK SPACE}Mbit/s [932, 951]", "0.012", "nothing shown"),
        ),
        *[("none", "baseline", "ping:count=5", "1.00\N{NO-BREAK SPACE}Gbit/s [0.990, 1.01]", "", "ok")] * 2,
    ]
)


def lines_of(grid: Grid, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(grid)
    return out.getvalue().splitlines()


def words(text: str) -> set[str]:
    """The words of a text, as the seams of a spelling part them."""
    return {word for word in re.split(r"[\s,+:/]+", text) if word}


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_every_word_of_every_field_and_heading_is_whole_at_every_width(width: int) -> None:
    lines = lines_of(Grid(COLUMNS, ROWS), width)
    assert max(map(len, lines)) <= width
    shown = words(" ".join(lines))
    assert words(" ".join(field.plain for row in ROWS for field in row.fields)) <= shown
    # Of a paragraph, what a row is of has no heading.
    assert {"throughput", "[low", "high]", "verdict"} <= shown


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_an_interval_stays_in_one_piece(width: int) -> None:
    lines = lines_of(Grid(COLUMNS, ROWS), width)
    assert sum("[932, 951]" in line for line in lines) == 1
    assert sum("[0.990, 1.01]" in line for line in lines) == 2


def test_a_wide_terminal_has_a_line_for_each_row_and_a_narrow_one_a_paragraph() -> None:
    assert len(lines_of(Grid(COLUMNS, ROWS), 200)) == 2 + len(ROWS)
    narrow = lines_of(Grid(COLUMNS, ROWS), 60)
    assert "throughput [low, high] 940\N{NO-BREAK SPACE}Mbit/s [932, 951]" in "\n".join(narrow)
    assert narrow.count("") == len(ROWS) - 1


def test_what_goes_on_of_a_first_field_is_no_row_of_its_own() -> None:
    lines = lines_of(Grid([GridColumn("name"), GridColumn("is")], rows_of([("a+" * 20 + "b", "x")])), 30)
    assert [line.startswith(" ") for line in lines[2:]] == [False, *[True] * (len(lines) - 3)]


def test_what_is_longer_than_the_terminal_is_cut_by_nobody_else() -> None:
    lines = lines_of(Grid([GridColumn("name")], rows_of([("x" * 50,)])), 20)
    assert max(map(len, lines)) <= 20 and sum(line.count("x") for line in lines) == 50


def test_what_is_said_below_a_row_has_the_whole_width() -> None:
    grid = Grid([GridColumn("name")], [GridRow([Text("none")], "because of something that is told at length")])
    assert lines_of(grid, 80)[-1] == "  because of something that is told at length"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_end_of_a_run_loses_no_interval(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(run_report.rendered(view_of(realistic(3))))
    text = out.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert max(map(len, text.rpartition("too-few-trials")[0].splitlines())) <= width
    for interval in ("[11.8, 12.1]", "[610, 624]", "[178, 183]", "[11.5, 14.3]"):
        assert interval in text
    assert "…" not in text.rpartition("too-few-trials")[0]
