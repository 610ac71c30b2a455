"""How values grow with the number of nodes, and how wide the exponent's interval is."""

import pytest

from tests.helpers.records import cell, record, trial
from tunbench.analysis.growth import Growth, growths, nodes_of
from tunbench.analysis.run_analysis import analyse

SIZES = (2, 4, 8, 16, 32)


def grown(exponent: float, sizes: tuple[int, ...] = SIZES, scatter: float = 0.0, repeats: int = 3) -> list[Growth]:
    """The growth of a stack whose chatter at rest is 100 bit/s by the power of the nodes, and scatters by a share."""
    trials = []
    for n in sizes:
        for repeat in range(1, repeats + 1):
            value = 100 * n**exponent * (1 + scatter * ((n * 7 + repeat * 13) % 5 - 2))
            here = {**cell("nebula", "baseline", "idle:duration=60", repeat), "topology": f"mesh:nodes={n}"}
            trials.append(trial(here, [("idle-rate", "bit/s", value), ("memory", "B", 1e6, None, "a")]))
    return growths(analyse(record(trials)).values)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_a_power_has_its_exponent(exponent: float) -> None:
    chatter, memory = grown(exponent)
    assert (chatter.metric, chatter.stack, chatter.condition.partition(",")[0]) == ("idle-rate", "nebula", "mesh")
    assert chatter.exponent == pytest.approx(exponent)
    assert chatter.sizes == pytest.approx({n: 100 * n**exponent for n in SIZES})
    assert memory.exponent == pytest.approx(0)


METRICS = {
    "connect": ("up", "s", 0.5),
    "idle-rate": ("idle:duration=60", "bit/s", 1.0),
    "idle-cpu": ("idle:duration=60", "ratio", 0.25),
    "memory": ("idle:duration=60", "B", 0.75),
    "join": ("join:times=1", "s", 1.25),
    "join-bytes": ("join:times=1", "B", 2.0),
    "join-cpu": ("join:times=1", "s", 1.5),
}
"""Each metric that may grow, in the order in which they are shown: its workload, unit, and an exponent of its own."""


def test_each_metric_that_grows_is_found_by_its_exponent_and_no_other() -> None:
    trials = []
    for n in SIZES:
        for workload in dict.fromkeys(workload for workload, _, _ in METRICS.values()):
            here = {**cell("nebula", "baseline", workload), "topology": f"mesh:nodes={n}"}
            samples = [(name, unit, 0.01 * n**k) for name, (of, unit, k) in METRICS.items() if of == workload]
            trials.append(trial(here, [*samples, ("duration", "s", float(n))]))
    found = growths(analyse(record(trials)).values)
    assert [(one.metric, one.workload, one.unit) for one in found] == [
        (name, workload, unit) for name, (workload, unit, _) in METRICS.items()
    ]
    assert [one.exponent for one in found] == pytest.approx([k for _, _, k in METRICS.values()])


def test_where_each_node_has_a_value_that_of_the_first_one_counts() -> None:
    trials = []
    for n in SIZES:
        here = {**cell("nebula", "baseline", "idle:duration=60"), "topology": f"mesh:nodes={n}"}
        nodes = [("memory", "B", 1e6 * n, None, "a"), ("memory", "B", 1e6 * n**2, None, "b")]
        trials.append(trial(here, [*nodes, ("memory", "B", 5e8, None, "control")]))
    [found] = growths(analyse(record(trials)).values)
    assert found.sizes == {n: 1e6 * n for n in SIZES} and found.exponent == pytest.approx(1)


def test_what_scatters_more_has_a_wider_interval() -> None:
    calm, wild = grown(1.0, scatter=0.02)[0], grown(1.0, scatter=0.2)[0]
    for one in (calm, wild):
        assert one.low is not None and one.high is not None and one.low <= 1.0 <= one.high
    assert calm.low and calm.high and wild.low and wild.high
    assert calm.high - calm.low < wild.high - wild.low


def test_two_sizes_have_no_exponent_and_one_no_growth() -> None:
    [two, _] = grown(1.0, (2, 4))
    assert two.exponent is None and two.why == "2 sizes: an exponent needs 3"
    assert grown(1.0, (4,)) == []


def test_nothing_has_no_logarithm() -> None:
    zero = {**cell("nebula", "baseline", "idle:duration=60", 1)}
    trials = [trial({**zero, "topology": f"mesh:nodes={n}"}, [("idle-rate", "bit/s", 0.0)]) for n in SIZES]
    [found] = growths(analyse(record(trials)).values)
    assert found.exponent is None and "no logarithm" in found.why


def test_the_nodes_of_a_topology() -> None:
    assert [nodes_of(one) for one in ("pair", "ring", "mesh:nodes=16", "hub-spoke:nodes=5")] == [2, 3, 16, 5]
