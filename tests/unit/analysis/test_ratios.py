import pytest

from tests.helpers.records import TCP, cell, record, trial
from tunbench.analysis.cells import per_trial
from tunbench.analysis.ratios import is_baseline, ratios, underlay
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.samples import every_sample
from tunbench.journal.record import TrialResult


def speed(stack: str, repeat: int, value: float, profile: str = "baseline", verdict: str = "ok") -> TrialResult:
    return trial(cell(stack, profile, TCP, repeat), [("throughput", "bit/s", value)], verdict)


def of(*trials: TrialResult) -> dict[str, float]:
    """The ratio of each stack."""
    found = ratios(per_trial(every_sample(record(trials))))
    return dict(found.select("stack", "median").iter_rows())


def test_a_ratio_is_that_of_the_medians() -> None:
    bare, tunnel = [1.0, 10.0, 100.0], [0.9, 5.0, 90.0]
    trials = [speed("none", repeat, value) for repeat, value in enumerate(bare)]
    trials += [speed("wireguard", repeat, value) for repeat, value in enumerate(tunnel)]
    found = ratios(per_trial(every_sample(record(trials)))).filter(stack="wireguard").row(0, named=True)
    # The median of ratios would be 0.9. Three trials have no interval: it is the range of all ratios.
    assert (found["n"], found["median"], found["kind"], found["paired"]) == (3, 0.5, "range", False)
    assert (found["low"], found["high"]) == (pytest.approx(0.009), pytest.approx(90))


def test_each_kind_of_underlay_has_its_own_none() -> None:
    stacks = {"none": 10.0, "gre": 5.0, "none:underlay=ethernet": 20.0, "macvlan": 5.0, "macvlan+vxlan": 4.0}
    found = of(*(speed(stack, 1, value) for stack, value in stacks.items()))
    expected = {"none": 1.0, "gre": 0.5, "none:underlay=ethernet": 1.0, "macvlan": 0.25, "macvlan+vxlan": 0.2}
    assert found == pytest.approx(expected)


def test_a_ratio_needs_the_same_profile_and_no_seed() -> None:
    assert of(speed("none", 1, 1.0), speed("gre", 2, 3.0)) == {"none": 1.0, "gre": pytest.approx(3.0)}
    assert of(speed("none", 1, 1.0), speed("gre", 1, 1.0, "low")) == {"none": 1.0}


def test_a_trial_that_failed_has_no_ratio_and_the_others_keep_theirs() -> None:
    trials = [
        speed("none", 1, 2.0),
        speed("none", 2, 4.0, verdict="failed"),
        speed("gre", 1, 1.0),
        speed("gre", 2, 1.0),
    ]
    cells = analyse(record(trials)).cells.filter(stack="gre").row(0, named=True)
    assert (cells["n"], cells["ratio_n"], cells["ratio_median"]) == (2, 1, pytest.approx(0.5))


def test_where_none_is_zero_in_any_trial_there_is_no_ratio() -> None:
    trials = [speed("none", 1, 0.0), speed("none", 2, 4.0), speed("gre", 1, 1.0), speed("gre", 2, 1.0)]
    assert of(*trials) == {}


def test_without_none_there_is_no_ratio() -> None:
    cells = analyse(record([speed("gre", 1, 1.0)])).cells
    assert cells["ratio_median"].to_list() == [None]


def test_a_stack_that_is_not_known_has_no_ratio() -> None:
    assert of(speed("none", 1, 1.0), speed("<b>", 1, 1.0), speed("tomorrow", 1, 1.0)) == {"none": 1.0}
    assert [underlay(stack) for stack in ("none", "macvlan", "tomorrow")] == ["ip", "ethernet", ""]
    assert underlay("none:underlay=foo") == underlay("wireguard:underlay=foo") == ""
    assert [is_baseline(stack) for stack in ("none", "none:underlay=ethernet", "gre", "<b>")] == [
        True,
        True,
        False,
        False,
    ]
