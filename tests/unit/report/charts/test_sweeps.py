"""What profiles and workloads vary by one number, and the curves over it."""

import pytest

from tests.helpers.pages import view_of
from tests.helpers.records import TCP, cell, record, trial
from tunbench.journal.record import Record
from tunbench.report.charts import degradation, option_sweeps, sweeps
from tunbench.runner.declare import axes


def swept(**terms: dict[str, float]) -> Record:
    trials, profiles = [], {}
    for number, (name, one) in enumerate(terms.items()):
        profiles[name] = {"name": name, "forward": one, "reverse": one, "placement": "router"}
        for stack in ("none", "gre"):
            trials.append(trial(cell(stack, name, TCP), [("throughput", "bit/s", 1e9 / (number + 1))]))
    return record(trials, specs={"profile": profiles})


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


@pytest.mark.parametrize("axis", [name for name in axes.CONDITION if name != "profile"])
def test_conditions_that_differ_in_another_axis_have_sweeps_of_their_own(axis: str) -> None:
    terms = {"near": {"delay": 0.01}, "mid": {"delay": 0.02}, "far": {"delay": 0.04}}
    profiles = {
        name: {"name": name, "forward": one, "reverse": one, "placement": "router"} for name, one in terms.items()
    }
    trials = [
        trial(cell(stack, name, TCP) | {axis: other}, [("throughput", "bit/s", 1e9)])
        for stack in ("none", "gre")
        for name in terms
        for other in ("fast", "slow")
        if (name, other) != ("near", "fast")
    ]
    [sweep] = sweeps.of_profiles(view_of(record(trials, specs={"profile": profiles})))
    assert [x for x, _ in sweep.members] == [0.01, 0.02, 0.04]
    assert sweep.where == "slow"


def test_profiles_of_two_placements_are_two_sweeps() -> None:
    delays, places = {"near": 0.01, "mid": 0.02, "far": 0.04}, ("router", "endpoints")
    profiles = {
        f"{place}-{name}": {
            "name": f"{place}-{name}",
            "forward": {"delay": delay},
            "reverse": {},
            "placement": place,
        }
        for name, delay in delays.items()
        for place in places
    }
    trials = [trial(cell("none", name, TCP), [("throughput", "bit/s", 1e9)]) for name in profiles]
    found = sweeps.of_profiles(view_of(record(trials, specs={"profile": profiles})))
    assert sorted(one.where for one in found) == ["at endpoints", "at router"]
    assert [len(one.members) for one in found] == [3, 3]


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
