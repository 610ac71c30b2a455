import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.pages import view_of
from tests.helpers.records import PING, TCP, cell, realistic, record, trial
from tunbench.journal.record import Record, TrialResult
from tunbench.report.charts import degradation, distributions, metric_strips, option_sweeps, pareto_fronts, sweeps
from tunbench.report.charts.figure import marks
from tunbench.report.page import html
from tunbench.report.tables import headline
from tunbench.runner.declare.metrics import Question

BIDIR = "iperf3-tcp:duration=1,bidir=on"


def both_ways(stack: str) -> TrialResult:
    samples = [("throughput", "bit/s", 1e6, None, "b"), ("throughput", "bit/s", 2e6, None, "a")]
    return trial(cell(stack, workload=BIDIR), samples)


def names(whole: Record) -> set[str]:
    return set(view_of(whole).cells["name"].to_list())


def test_directions_pairs_and_nodes_have_rows_of_their_own() -> None:
    assert names(record([both_ways("gre")])) == {"gre, a→b", "gre, b→a"}
    memory = [("memory", "B", 1.0, None, "a"), ("memory", "B", 2.0, None, "b")]
    assert names(record([trial(cell("gre"), memory)])) == {"gre, at a", "gre, at b"}
    pairs = [("rtt", "s", 1.0, 0.0, "a", "a-b"), ("rtt", "s", 1.0, 0.0, "b", "b-c")]
    assert names(record([trial(cell("gre"), pairs)])) == {"gre, a-b", "gre, b-c"}
    assert names(record([trial(cell("gre"), [("rtt", "s", 1.0, 0.0)])])) == {"gre"}


def test_no_two_rows_of_a_chart_have_one_name() -> None:
    whole = view_of(record([both_ways("none"), both_ways("gre")]))
    [figure] = metric_strips.figures(whole, Question.FAST)
    [panel] = figure.panels
    assert all(panel.draw().count(f">{name}</text>") == 1 for name in whole.cells["name"].to_list())


def test_runs_stand_side_by_side() -> None:
    both = view_of(realistic(2), realistic(3, seed=2), labels=("old", "new"), bases=("../old", "."))
    assert len(both.cells) == sum(len(run.cells) for run in both.runs)
    table = headline.table(both)
    first = [row.fields[0].text for row in table.rows[:4]]
    assert first == ["none · old", "none · new", "ipip · old", "ipip · new"]
    page = html.page(both)
    assert "./../old/trials/" in page and "./trials/" in page
    assert 'data-d="r"' in page


def test_colours_of_a_stack_are_the_same_in_every_chart_and_run() -> None:
    both = view_of(realistic(2), realistic(2), labels=("old", "new"))
    drawn = marks(both)
    for stack in both.stacks:
        assert drawn["old", stack].colour == drawn["new", stack].colour
        assert drawn["old", stack].shape != drawn["new", stack].shape
    tunnels = [stack for stack in both.stacks if not stack.startswith("none")]
    assert len({(drawn["old", stack].colour, drawn["old", stack].shape) for stack in tunnels}) == len(tunnels)


def swept(**terms: dict[str, float]) -> Record:
    trials, profiles = [], {}
    for number, (name, one) in enumerate(terms.items()):
        profiles[name] = {"name": name, "forward": one, "reverse": one, "placement": "router"}
        for stack in ("none", "gre"):
            trials.append(trial(cell(stack, name, TCP), [("throughput", "bit/s", 1e9 / (number + 1))]))
    return record(trials, profiles=profiles)


def test_profiles_that_differ_in_one_term_are_a_sweep() -> None:
    whole = view_of(swept(base={}, near={"delay": 0.01}, far={"delay": 0.04}, lossy={"loss": 0.01}))
    [sweep] = sweeps.of_profiles(whole)
    assert (sweep.title, sweep.unit) == ("delay each way", "s")
    assert sweep.members == ((0.0, "base"), (0.01, "near"), (0.04, "far"))
    [figure] = degradation.figures(whole)
    assert [panel.heading for panel in figure.panels] == ["throughput over delay each way"]


def test_a_step_of_a_sweep_that_has_a_second_name_does_not_hide_it() -> None:
    steps = {"near": {"delay": 0.01}, "far": {"delay": 0.04}, "home": {"delay": 0.01}, "mars": {"delay": 1.0}}
    [sweep] = sweeps.of_profiles(view_of(swept(**steps)))
    assert [x for x, _ in sweep.members] == [0.01, 0.04, 1.0]


def test_profiles_without_a_sweep_stand_in_order() -> None:
    whole = view_of(swept(one={"delay": 0.01}, two={"loss": 0.1, "delay": 0.03}))
    assert sweeps.of_profiles(whole) == []
    [figure] = degradation.figures(whole)
    assert [panel.heading for panel in figure.panels] == ["throughput"]
    assert ">one</text>" in figure.panels[0].draw()


def test_workloads_that_differ_in_one_option_are_a_sweep() -> None:
    rates = ["10M", "20M", "40M"]
    trials = [
        trial(cell(stack, workload=f"iperf3-udp:rate={rate}"), [("throughput", "bit/s", 1e7), ("loss", "ratio", 0.1)])
        for rate in rates
        for stack in ("none", "gre")
    ]
    whole = view_of(record(trials))
    [sweep] = sweeps.of_workloads(whole)
    assert (sweep.title, sweep.unit, [x for x, _ in sweep.members]) == ("rate", "bit/s", [1e7, 2e7, 4e7])
    assert [figure.heading for figure in option_sweeps.figures(whole)] == ["throughput", "loss"]


def test_the_front_has_what_none_beats_in_both() -> None:
    whole = view_of(realistic(6))
    [figure] = [one for one in pareto_fronts.figures(whole, "rtt") if one.about == TCP]
    assert 'class="front"' in figure.panels[1].draw()
    assert PING not in figure.about


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_quantiles_are_those_of_the_tables(values: list[float]) -> None:
    series = pl.Series(values)
    expected = [series.quantile(share, "linear") for share in distributions.SHARES]
    assert distributions.quantiles(values) == pytest.approx(expected, rel=1e-9, abs=1e-6)
