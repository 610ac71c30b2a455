import csv
import io
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.five import five
from tests.helpers.pages import view_of
from tests.helpers.records import PING, TCP, cell, realistic, record, trial
from tunbench.report import units
from tunbench.report.export import files
from tunbench.report.export.latex import COLUMN, escaped, latex, no_formula, spreadsheet
from tunbench.report.sections import Medium, tables_on
from tunbench.report.tables import matrix
from tunbench.report.tables.table import Column, Field, Table, TableRow

GOLDEN = Path(__file__).parents[3] / "golden" / "export"
HOSTILE = "\\input{/etc/passwd}<script>&%$#_^~\"'`{}\n"


def golden(name: str, text: str) -> None:
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_text(text, encoding="utf-8", newline="")
    assert (GOLDEN / name).read_bytes().decode() == text


def test_the_matrix_is_the_golden_one() -> None:
    table = matrix.by_stack(view_of(realistic(6)))
    golden("matrix.tex", latex(table))
    golden("matrix.csv", spreadsheet(table))


@given(st.text())
def test_escaped_text_has_no_command_of_its_own(text: str) -> None:
    left = re.sub(r"\\(text[a-z]+|ldots)\{\}|\\[{}$&#%_,]|\$(-|\\(div|times|rightarrow|infty))\$", "", escaped(text))
    assert not set("\\{}$&#%_^\n\r") & set(left)


def test_a_ratio_to_nothing_is_a_sign_of_mathematics() -> None:
    assert escaped(units.ratio(float("inf"))) == r"$\infty$"


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False)), max_size=5))
def test_a_spreadsheet_gives_back_what_it_was_given(rows: list[tuple[str, float]]) -> None:
    columns = (Column("stack"), Column("speed", True, "bit/s"))
    table = Table("x", "", columns, [TableRow((Field(name), Field("~", value))) for name, value in rows])
    head, *found = csv.reader(io.StringIO(spreadsheet(table), newline=""))
    assert head == ["stack", "speed (bit/s)"]
    assert [(name, float(value)) for name, value in found] == [(no_formula(name), value) for name, value in rows]


def test_a_spreadsheet_has_no_formula() -> None:
    names = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "none", "a=1")
    assert [no_formula(name) for name in names] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "none", "a=1"]
    table = Table("x", "", (Column("stack"), Column("speed", True)), [TableRow((Field("=1"), Field("=2")))])
    assert "'=1,'=2" in spreadsheet(table)


def test_a_long_table_is_parted_so_that_it_can_stand_in_two_columns() -> None:
    table = Table("x", "two\nlines", (Column("stack"),), [TableRow((Field("gre"),))] * 41)
    text = latex(table)
    assert text.startswith("% two lines\n") and "longtable" not in text
    assert _rows_of_parts(text) == [40, 1] and text.count("\\toprule\nstack ") == 2
    assert _rows_of_parts(latex(table._replace(rows=table.rows[:40]))) == [40]


def test_a_row_of_several_lines_takes_the_room_of_several() -> None:
    rows = [TableRow((Field("openvpn:cipher=AES-256-GCM"), Field("1")))] * 40
    text = latex(Table("x", "", (Column("stack"), Column("n", True)), rows))
    assert text.count("shortstack") == 40 and _rows_of_parts(text) == [20, 20]


def _rows_of_parts(text: str) -> list[int]:
    parts = re.findall(r"\\midrule\n(.*?)\\bottomrule", text, re.DOTALL)
    return [part.count(" \\\\\n") for part in parts]


@pytest.mark.parametrize("unit", ["", f"{units.NBSP}ms"])
def test_a_number_its_bounds_and_its_unit_are_in_one_column(unit: str) -> None:
    columns = tuple(Column(name, True) for name in ("median", "low", "high", "CV", "CV low", "CV high", "low"))
    fields = (f"2{units.NBSP}ms", f"1.84{unit}", f"2.11{unit}", "0.1", "", units.NOTHING, "7")
    mixed = (f"3{units.NBSP}s", f"999{units.NBSP}ms", "4", "0.1", "0.05", "0.2", "7")
    rows = [TableRow((Field("gre"), *map(Field, texts))) for texts in (fields, mixed)]
    text = latex(Table("x", "", (Column("stack"), *columns), rows))
    assert "2~ms [1.84, 2.11] &" in text and "3~s [999~ms, 4] &" in text
    assert "& 0.1 & 7" in text and "& 0.1 [0.05, 0.2] & 7" in text
    heading = re.search(r"\\toprule\n(.*)", text)
    assert heading and "CV [low, high] & low" in heading[1] and heading[1].count("high") == 2


def test_no_bound_of_what_was_measured_stands_alone() -> None:
    for table in tables_on(Medium.EXPORT, view_of(five(3))):
        heads = re.findall(r"\\toprule\n(.*?)\\midrule", latex(table), re.DOTALL) if table.rows else []
        alone = [cell for head in heads for cell in re.split(r" & | \\\\\n", head) if re.search(r"low|high", cell)]
        assert all(re.search(r"\[low,.*high\]", cell) for cell in alone), table.id


def test_an_interval_stands_below_its_number_where_there_is_no_room_beside_it() -> None:
    names = ("stack", "profile", "workload", "metric")
    columns = (*map(Column, names), Column("median", True), Column("low", True), Column("high", True))
    places = [[f"{name}-{number}" for name in names] for number in (1, 2)]
    texts = ((f"2{units.NBSP}ms", "1.84", "2.11"), (f"3{units.NBSP}Mbit/s", "2.84", "3.11"))
    rows = [TableRow(tuple(map(Field, (*where, *some)))) for where, some in zip(places, texts, strict=True)]
    text = latex(Table("x", "", columns, rows))
    assert r"\shortstack[r]{2~ms\\{}[1.84, 2.11]}" in text and r"\shortstack[r]{3~Mbit/s\\{}[2.84, 3.11]}" in text


def test_whole_numbers_are_whole_in_a_spreadsheet() -> None:
    values = (12.0, 12.5, 0.0, -3.0, 7, 1e30, float("inf"))
    rows = [TableRow((Field("~", value),)) for value in values]
    found = spreadsheet(Table("x", "", (Column("n", True),), rows)).split()[1:]
    assert found == ["12", "12.5", "0", "-3", "7", "1e+30", "inf"]


def test_no_table_is_wider_than_a_column_of_a_paper() -> None:
    made = {table.id: latex(table) for table in tables_on(Medium.EXPORT, view_of(five(3))) if table.rows}
    assert {"matrix", "measured", "costs"} <= set(made)
    words = tuple(Field("words of a sentence that says much") for _ in range(7))
    columns = (*(Column(name) for name in "abcdefg"), Column("n", True))
    made["words"] = latex(Table("words", "", columns, [TableRow((*words, Field("2", 2)))]))
    for text in made.values():
        for part in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL):
            rows = [row.split(" & ") for row in part.replace("\\midrule\n", "").split(" \\\\\n") if "&" in row]
            widths = [max(map(_characters, cells)) for cells in zip(*rows, strict=True)]
            assert sum(widths) + len(widths) <= COLUMN


def _characters(cell: str) -> int:
    """The characters of the longest line of a cell, as a paper shows it."""
    body = re.sub(r"^\\shortstack\[.\]\{(.*)\}$", r"\1", cell)
    shown = (re.sub(r"\$?\\[a-z]+(\{\}|\$)", "x", line) for line in body.split(r"\\"))
    return max(len(line.replace("\\", "").replace("{}", "").replace("$-$", "-")) for line in shown)


def test_a_unit_stands_once_where_all_of_a_column_have_it() -> None:
    fields = (f"40{units.NBSP}ms [38, 42]", f"★ 41{units.NBSP}ms", units.NOTHING)
    rows = [TableRow((Field(f"s{number}"), Field(text))) for number, text in enumerate(fields)]
    columns = (Column("stack"), Column("delay", True))
    text = latex(Table("x", "", columns, rows))
    assert "delay (ms)" in text and "40 [38, 42]" in text and text.count("ms") == 1
    other = TableRow((Field("s3"), Field(f"1.2{units.NBSP}s")))
    assert latex(Table("x", "", columns, [*rows, other])).count("~ms") == 2


def test_what_is_the_same_in_all_rows_is_said_once() -> None:
    columns = (Column("stack"), Column("profile"), Column("n", True))
    rows = [TableRow((Field(name), Field("wan"), Field("6"))) for name in ("none", "gre")]
    text = latex(Table("x", "", columns, rows))
    assert text.count("wan") == 1 and "% profile: wan\n" in text


@pytest.mark.parametrize("name", ["[1cm] x", "*x", "\n[x"])
def test_no_row_begins_with_what_the_end_of_the_one_before_takes(name: str) -> None:
    table = Table("x", "", (Column(name),), [TableRow((Field("gre"),)), TableRow((Field(name),))])
    assert latex(table).count(f"\n{{}}{escaped(name)} \\\\\n") == 2
    assert "\ngre \\\\\n" in latex(table)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "made"
    samples: dict[str, list[tuple[Any, ...]]] = {
        TCP: [("throughput", "bit/s", 1e6), ("cost", "s/B", 1e-9, None, "lab")],
        PING: [("rtt", "s", 1e-3, 0.0)],
    }
    trials = [
        trial(cell(stack, "../../x", workload), some)
        for stack in ("none", HOSTILE)
        for workload, some in samples.items()
    ]
    files.write(view_of(record(trials)), folder)
    return folder


def test_every_file_is_in_the_index(exported: Path) -> None:
    with (exported / files.INDEX).open(newline="") as file:
        listed = [row["file"] for row in csv.DictReader(file)]
    assert sorted([*listed, files.INDEX]) == sorted(path.name for path in exported.iterdir())
    assert {"table-matrix.csv", "table-measured.tex"} <= set(listed)
    assert sum(name.endswith(".svg") for name in listed) == sum(name.endswith(".pdf") for name in listed) > 3
    assert [path.name for path in exported.parent.iterdir()] == ["made"]


def test_charts_stand_alone(exported: Path) -> None:
    for path in exported.glob("*.svg"):
        tree = ElementTree.parse(path)
        assert not [one for one in tree.iter() if one.tag.endswith(("}a", "}script"))]
        assert "var(--" not in path.read_text() and "currentColor" in path.read_text()
        assert '<rect x="-8" y="-8" width="100%" height="100%" fill="#ffffff"/>' in path.read_text()
    for path in exported.glob("*.pdf"):
        assert path.read_bytes().startswith(b"%PDF")
