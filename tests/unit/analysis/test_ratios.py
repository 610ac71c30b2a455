import polars as pl
import pytest

from tests.helpers.records import TCP, cell, record, trial
from tunbench.analysis.cells import per_trial
from tunbench.analysis.ratios import is_baseline, paired, ratios, underlay
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.samples import every_sample
from tunbench.journal.record import TrialResult


def speed(stack: str, repeat: int, value: float, profile: str = "baseline", verdict: str = "ok") -> TrialResult:
    return trial(cell(stack, profile, TCP, repeat), [("throughput", "bit/s", value)], verdict)


def of(*trials: TrialResult) -> dict[str, list[float]]:
    """The ratios of each stack, by repeat."""
    found = paired(per_trial(every_sample(record(trials))))
    return dict(found.group_by("stack", maintain_order=True).agg(pl.col("value").sort_by("repeat")).rows())


def test_ratios_are_taken_within_a_seed_and_then_the_median() -> None:
    bare, tunnel = [1.0, 10.0, 100.0], [0.9, 5.0, 90.0]
    trials = [speed("none", repeat, value) for repeat, value in enumerate(bare)]
    trials += [speed("wireguard", repeat, value) for repeat, value in enumerate(tunnel)]
    assert of(*trials)["wireguard"] == pytest.approx([0.9, 0.5, 0.9])
    found = ratios(per_trial(every_sample(record(trials)))).filter(stack="wireguard").row(0, named=True)
    # The ratio of medians would be 5 / 10.
    assert (found["n"], found["median"], found["low"], found["high"]) == (3, 0.9, 0.5, 0.9)


def test_each_kind_of_underlay_has_its_own_none() -> None:
    stacks = {"none": 10.0, "gre": 5.0, "none:underlay=ethernet": 20.0, "macvlan": 5.0, "macvlan+vxlan": 4.0}
    found = of(*(speed(stack, 1, value) for stack, value in stacks.items()))
    expected = {"none": 1.0, "gre": 0.5, "none:underlay=ethernet": 1.0, "macvlan": 0.25, "macvlan+vxlan": 0.2}
    assert {stack: value for stack, (value,) in found.items()} == expected


def test_a_ratio_needs_the_same_profile_and_the_same_seed() -> None:
    assert of(speed("none", 1, 1.0), speed("gre", 2, 1.0)) == {"none": [1.0]}
    assert of(speed("none", 1, 1.0), speed("gre", 1, 1.0, "low")) == {"none": [1.0]}


def test_a_trial_that_failed_has_no_ratio_and_the_others_keep_theirs() -> None:
    trials = [
        speed("none", 1, 2.0),
        speed("none", 2, 4.0, verdict="failed"),
        speed("gre", 1, 1.0),
        speed("gre", 2, 1.0),
    ]
    cells = analyse(record(trials)).cells.filter(stack="gre").row(0, named=True)
    assert (cells["n"], cells["ratio_n"], cells["ratio_median"]) == (2, 1, 0.5)


def test_where_none_is_zero_under_any_seed_there_is_no_ratio() -> None:
    trials = [speed("none", 1, 0.0), speed("none", 2, 4.0), speed("gre", 1, 1.0), speed("gre", 2, 1.0)]
    assert of(*trials) == {}


def test_without_none_there_is_no_ratio() -> None:
    cells = analyse(record([speed("gre", 1, 1.0)])).cells
    assert cells["ratio_median"].to_list() == [None]


def test_a_stack_that_is_not_known_has_no_ratio() -> None:
    assert of(speed("none", 1, 1.0), speed("<b>", 1, 1.0), speed("tomorrow", 1, 1.0)) == {"none": [1.0]}
    assert [underlay(stack) for stack in ("none", "macvlan", "tomorrow")] == ["ip", "ethernet", ""]
    assert underlay("none:underlay=foo") == underlay("wireguard:underlay=foo") == ""
    assert [is_baseline(stack) for stack in ("none", "none:underlay=ethernet", "gre", "<b>")] == [
        True,
        True,
        False,
        False,
    ]
