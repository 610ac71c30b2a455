from tests.helpers.pages import view_of
from tests.helpers.records import cell, realistic, record, trial
from tunbench.journal.record import Record, TrialResult
from tunbench.report.charts import metric_strips
from tunbench.report.charts.figure import marks
from tunbench.report.page import html
from tunbench.report.tables import matrix
from tunbench.runner.declare.metrics import Question

BIDIR = "iperf3-tcp:duration=1,bidir=on"


def both_ways(stack: str) -> TrialResult:
    samples = [("throughput", "bit/s", 1e6, None, "b"), ("throughput", "bit/s", 2e6, None, "a")]
    return trial(cell(stack, workload=BIDIR), samples)


def names(whole: Record) -> set[str]:
    return set(view_of(whole).cells["name"].to_list())


def test_directions_pairs_and_nodes_have_rows_of_their_own() -> None:
    assert names(record([both_ways("gre")])) == {"gre, a→b", "gre, b→a"}
    hosts = [("throughput", "bit/s", 1e6, None, node, "host-a-host-b") for node in ("host-a", "host-b")]
    expected = {"gre, host-a→host-b", "gre, host-b→host-a"}
    assert names(record([trial(cell("gre", workload=BIDIR), hosts)])) == expected
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
    table = matrix.by_stack(both)
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


def test_what_nodes_count_is_shown_where_anything_was_counted() -> None:
    def counting(drops: float) -> TrialResult:
        samples = [("rtt", "s", 1.0, None, "a"), ("layer-drops", "count", drops, None, "b")]
        return trial(cell("gre"), [*samples, ("packets-cut", "count", 0.0, None, "b")])

    def shown(whole: Record) -> set[str]:
        return set(view_of(whole).cells["metric"].to_list())

    assert shown(record([counting(0)])) == {"rtt"}
    assert shown(record([counting(2)])) == {"rtt", "layer-drops"}
