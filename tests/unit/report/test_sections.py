"""The list of sections: page, export and terminal show what it says, and nothing that draws is forgotten in it."""

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from tests.helpers.pages import view_of
from tests.helpers.records import realistic
from tunbench.report import charts, sections
from tunbench.report.charts.figure import Figure, Panel
from tunbench.report.export import files
from tunbench.report.page import body, html
from tunbench.report.sections import SECTIONS, Exhibit, Medium, Section, on_medium
from tunbench.report.tables.table import Column, Field, Table, TableRow
from tunbench.report.terminal import run_report
from tunbench.report.view import View


def test_no_two_sections_have_one_name() -> None:
    names = [section.id for section in SECTIONS]
    assert len(names) == len(set(names))


def test_whatever_makes_figures_is_in_a_section() -> None:
    modules = (import_module(one.name) for one in pkgutil.walk_packages(charts.__path__, f"{charts.__name__}."))
    making = {module.__name__ for module in modules if hasattr(module, "figures")}
    listed = {getattr(one.make, "func", one.make).__module__ for section in SECTIONS for one in section.charts}
    assert listed == making


def test_no_chart_is_meant_for_a_terminal_which_draws_none() -> None:
    assert [one.id for one in SECTIONS for chart in one.charts if Medium.TERMINAL in chart.media] == []


def test_tables_and_charts_stand_on_their_media_alone() -> None:
    def table(_: View) -> list[Table]:
        return [Table("x", "", (Column("stack"),), [TableRow((Field("gre"),))])]

    exhibits = (Exhibit(table, Medium.EXPORT), Exhibit(table, Medium.PAGE | Medium.TERMINAL))
    view = view_of(realistic(1))
    assert [len(list(on_medium(exhibits[:1], medium, view))) for medium in Medium] == [0, 1, 0]
    assert [len(list(on_medium(exhibits[1:], medium, view))) for medium in Medium] == [1, 0, 1]


def new_figures(_: View) -> list[Figure]:
    panel = Panel("", -1, lambda: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>new</title></svg>')
    return [Figure("new-figure", "a new chart", "", "", -1, [panel], unfolded=True)]


def new_tables(_: View) -> list[Table]:
    columns = (Column("stack"), Column("profile"), Column("news"))
    return [Table("news", "", columns, [TableRow(tuple(map(Field, ("gre", "medium", "much"))))])]


def list_sections(monkeypatch: pytest.MonkeyPatch, listed: tuple[Section, ...]) -> None:
    for module in (sections, body, files):
        monkeypatch.setattr(module, "SECTIONS", listed)


def test_an_entry_is_all_that_a_chart_and_a_table_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Section("new", "What is new", (Exhibit(new_tables, ~Medium(0)),), (Exhibit(new_figures),))
    list_sections(monkeypatch, (*SECTIONS, added))
    view = view_of(realistic(1))
    page = html.page(view)
    assert '<a href="#new">What is new</a>' in page and "a new chart" in page and ">much</td>" in page
    written = {one.file for one in files.write(view, tmp_path)}
    assert {"table-news.csv", "new-a-new-chart.svg", "new-a-new-chart.pdf"} <= written
    console = Console(width=120, record=True)
    console.print(run_report.rendered(view))
    assert "much" in console.export_text()


@pytest.mark.parametrize("name", [section.id for section in SECTIONS])
def test_whatever_a_section_lists_is_on_the_page_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        one._replace(charts=(*one.charts, Exhibit(new_figures)), long_tables=(*one.long_tables, Exhibit(new_tables)))
        if one.id == name
        else one
        for one in SECTIONS
    ]
    list_sections(monkeypatch, tuple(listed))
    for view in (view_of(realistic(1)), view_of(realistic(1), realistic(2), labels=("old", "new"))):
        page = html.page(view)
        assert (page.count("<title>new</title>"), page.count(">much</td>")) == (1, 1)
