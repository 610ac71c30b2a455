"""Curves over the number of nodes, and the table of exponents beside them."""

from tests.helpers.pages import view_of
from tests.helpers.records import cell, record, trial
from tunbench.journal.record import Record
from tunbench.report.charts import growth as charts
from tunbench.report.tables import growth as tables
from tunbench.report.view import View

NBSP = "\N{NO-BREAK SPACE}"


def of_meshes(*sizes: int) -> Record:
    trials = []
    for n in sizes:
        for stack, power in (("nebula", 1), ("wireguard", 2)):
            here = {**cell(stack, "baseline", "idle:duration=60"), "topology": f"mesh:nodes={n}"}
            trials.append(trial(here, [("idle-rate", "bit/s", 100.0 * n**power)]))
    return record(trials)


def meshes(*sizes: int) -> View:
    return view_of(of_meshes(*sizes))


def test_each_stack_has_a_curve_with_its_exponent() -> None:
    [figure] = charts.figures(meshes(2, 4, 8, 16))
    assert (figure.heading, figure.about) == ("idle-rate", "over the number of nodes")
    [panel] = figure.panels
    drawn = panel.draw()
    assert panel.heading.startswith("idle:duration=60, mesh, baseline")
    for words in ("nebula: n^1.00", "wireguard: n^2.00", ">nodes</text>"):
        assert words in drawn


def test_the_table_has_sizes_and_exponents() -> None:
    [table] = tables.tables(meshes(2, 4, 8, 16))
    rows = [[field.text.replace(NBSP, " ") for field in row.fields] for row in table.rows]
    assert sorted(row[0] for row in rows) == ["nebula", "wireguard"]
    assert next(row for row in rows if row[0] == "nebula")[4:8] == ["2, 4, 8, 16", "200 bit/s", "1.60 kbit/s", "1.00"]


def test_an_exponent_is_shown_with_its_interval_in_the_chart_and_in_the_table() -> None:
    # The slopes of 1, 2, 8 and 16 between each two sizes are 1, 1, 4/3, 3/2, 3/2 and 2; four points have all of them
    # for their interval.
    values = {2: 1.0, 4: 2.0, 8: 8.0, 16: 16.0}
    cells = [{**cell("nebula", "baseline", "idle:duration=60"), "topology": f"mesh:nodes={n}"} for n in values]
    grown = zip(cells, values.values(), strict=True)
    view = view_of(record([trial(here, [("idle-rate", "bit/s", value)]) for here, value in grown]))
    [figure] = charts.figures(view)
    assert "nebula: n^1.42 [1.00, 2.00]" in figure.panels[0].draw()
    [table] = tables.tables(view)
    named = zip((column.heading for column in table.columns), table.rows[0].fields, strict=True)
    shown = {name: field.text for name, field in named}
    assert (shown["exponent"], shown["low"], shown["high"]) == ("1.42", "1.00", "2.00")


def test_of_several_runs_each_row_and_curve_says_which_one_it_is_of() -> None:
    view = view_of(of_meshes(2, 4, 8), of_meshes(2, 4, 8), labels=("old", "new"))
    [table] = tables.tables(view)
    assert [row.fields[0].text for row in table.rows if row.run == 1] == ["wireguard · new", "nebula · new"]
    assert {row.stack for row in table.rows} == {view.places.stacks[name] for name in ("nebula", "wireguard")}
    [figure] = charts.figures(view)
    assert "nebula · old: n^1.00" in figure.panels[0].draw()


def test_a_run_of_one_size_has_no_growth() -> None:
    one = meshes(4)
    assert charts.figures(one) == [] and tables.tables(one) == []
