import pytest

from tests.helpers.records import TCP, cell, record, trial
from tunbench.analysis.cells import per_trial
from tunbench.analysis.costs import excesses
from tunbench.analysis.run_analysis import RunAnalysis, analyse
from tunbench.analysis.samples import every_sample
from tunbench.journal.record import TrialResult
from tunbench.report.charts import metric_strips
from tunbench.report.reported_run import ReportedRun
from tunbench.report.tables import costs as cost_table
from tunbench.report.tables import every_cell
from tunbench.report.tables.table import Table
from tunbench.report.view import side_by_side
from tunbench.runner.declare.metrics import Question


def cost(stack: str, repeat: int, value: float, profile: str = "baseline") -> TrialResult:
    samples = [
        ("cost", "s/B", value, None, "lab"),
        ("cost-packet", "s", 1000 * value, None, "lab"),
        ("throughput", "bit/s", 8 / value),
        ("memory", "B", 7e6, None, "a"),
        ("memory", "B", 8e6, None, "b"),
    ]
    return trial(cell(stack, profile, TCP, repeat), samples)


def found(*trials: TrialResult) -> RunAnalysis:
    return analyse(record(trials))


def column(table: Table, heading: str) -> list[str]:
    at = [one.heading for one in table.columns].index(heading)
    return [row.fields[at].text for row in table.rows]


def costs(analysis: RunAnalysis) -> Table:
    return cost_table.table(side_by_side([ReportedRun(analysis)]))


def test_an_excess_is_taken_within_a_seed_and_then_the_median() -> None:
    bare, tunnel = [1e-9, 5e-9, 9e-9], [2e-9, 20e-9, 13e-9]
    trials = [cost("none", repeat, value) for repeat, value in enumerate(bare)]
    trials += [cost("gre", repeat, value) for repeat, value in enumerate(tunnel)]
    row = found(*trials).costs.filter(stack="gre", metric="cost").row(0, named=True)
    # The difference of medians would be 8e-9.
    assert (row["excess_n"], row["excess_median"]) == (3, pytest.approx(4e-9))
    assert (row["excess_low"], row["excess_high"]) == (pytest.approx(1e-9), pytest.approx(15e-9))
    # The ratio is that of the medians.
    assert row["median"] == 13e-9 and row["ratio_median"] == pytest.approx(2.6)


def test_only_costs_have_an_excess() -> None:
    values = per_trial(every_sample(record([cost("none", 1, 1e-9), cost("gre", 1, 3e-9)])))
    assert set(excesses(values)["metric"]) == {"cost", "cost-packet"}
    packet = excesses(values).filter(stack="gre", metric="cost-packet")["value"].to_list()
    assert packet == [pytest.approx(2e-6)]


def test_each_kind_of_underlay_has_its_own_none() -> None:
    stacks = {"none": 1e-9, "none:underlay=ethernet": 2e-9, "macvlan": 5e-9, "gre": 5e-9}
    values = per_trial(every_sample(record([cost(stack, 1, value) for stack, value in stacks.items()])))
    excess = dict(excesses(values).filter(metric="cost").select("stack", "value").iter_rows())
    assert excess == pytest.approx({"none": 0, "none:underlay=ethernet": 0, "macvlan": 3e-9, "gre": 4e-9})


def test_without_none_a_cost_has_no_excess() -> None:
    assert found(cost("gre", 1, 1e-9)).costs["excess_median"].to_list() == [None, None]
    table = costs(found(cost("gre", 1, 1e-9)))
    assert column(table, "a byte") == ["1.00\N{NO-BREAK SPACE}ns/B"]
    assert (column(table, "excess"), column(table, "excess low")) == (["–"], [""])


def test_a_run_without_probes_has_no_costs() -> None:
    without = found(trial(cell("none", workload=TCP), [("throughput", "bit/s", 1e9)]))
    assert costs(without).rows == []
    assert metric_strips.figures(side_by_side([ReportedRun(without)]), Question.COSTLY) == []


def test_a_stack_can_cost_less_than_none() -> None:
    table = costs(found(cost("none", 1, 2e-9), cost("gre", 1, 1.5e-9)))
    assert column(table, "excess") == ["0\N{NO-BREAK SPACE}ns/B", "−0.500\N{NO-BREAK SPACE}ns/B"]


def test_the_table_puts_the_stacks_of_a_workload_together() -> None:
    def other(stack: str) -> TrialResult:
        samples = [("cost", "s/B", 1e-7, None, "lab"), ("cost-packet", "s", 1e-5, None, "lab")]
        return trial(cell(stack, workload="ping"), samples)

    table = costs(found(cost("none", 1, 2e-9), cost("gre", 1, 3e-9), other("none"), other("gre")))
    assert list(zip(column(table, "workload"), column(table, "stack"), strict=True)) == [
        *((TCP, "none"), (TCP, "gre"), ("ping", "none"), ("ping", "gre"))
    ]


def test_values_of_several_nodes_are_told_apart() -> None:
    table = every_cell.table(side_by_side([ReportedRun(found(cost("none", 1, 1e-9)))]))
    names = list(zip(column(table, "metric"), column(table, "stack"), strict=True))
    assert sorted(names) == [
        *(("cost", "none"), ("cost-packet", "none"), ("memory", "none, at a"), ("memory", "none, at b")),
        ("throughput", "none"),
    ]


def test_the_cost_of_workloads_with_a_throughput_is_shown_first() -> None:
    only_cost = trial(cell("none", workload="ping"), [("cost", "s/B", 1e-7, None, "lab")])
    some = found(cost("none", 1, 1e-9), only_cost)
    drawn = metric_strips.figures(side_by_side([ReportedRun(some)]), Question.COSTLY)
    assert [figure.about for figure in drawn if figure.heading == "cost"] == [TCP, "ping"]
