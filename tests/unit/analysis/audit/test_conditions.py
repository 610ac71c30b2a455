"""Conditions in which stacks were not judged alike: the report warns, and gives no ratio."""

from typing import Any

import pytest

from tests.helpers.records import cell, record, trial
from tunbench.analysis import missing_ratios
from tunbench.analysis.run_analysis import RunAnalysis, analyse
from tunbench.plan.axes.link import shipped as links
from tunbench.plan.axes.machine import shipped as machines
from tunbench.plan.axes.profile import Profile, shipped
from tunbench.runner.declare.warnings import WarningKind

TCP = "iperf3-tcp"


def analysed(profile: Profile, link: str, compared: str = "wireguard") -> RunAnalysis:
    """`none` and another stack over one link, of which the run tells what it is."""
    specs: dict[str, dict[str, dict[str, Any]]] = {
        "profile": {profile.name: profile.spec()},
        "link": {link: links()[link].spec()},
        "machine": {"full": machines()["full"].spec()},
    }
    trials = [
        trial({**cell(stack, profile.name, TCP, repeat), "link": link}, [("throughput", "bit/s", value)])
        for repeat in (1, 2)
        for stack, value in (("none", 2e8), (compared, 1e8))
    ]
    return analyse(record(trials, specs=specs))


def ratio(analysis: RunAnalysis) -> float | None:
    """The ratio of wireguard's throughput to that of none."""
    [row] = analysis.cells.filter(stack="wireguard", metric="throughput").to_dicts()
    found: float | None = row["ratio_median"]
    return found


def names(analysis: RunAnalysis) -> list[str]:
    return [group.name for group in analysis.warnings]


@pytest.mark.parametrize("profile", ["low", "medium", "high"])
def test_bundles_that_were_lost_as_one_packet_have_no_ratio(profile: str) -> None:
    cut, bundled = (analysed(shipped()[profile], link) for link in ("wire", "aggregates"))
    assert ratio(cut) == 0.5
    assert WarningKind.GSO_AGGREGATES not in names(cut)
    assert ratio(bundled) is None
    assert WarningKind.GSO_AGGREGATES in names(bundled)
    [condition] = bundled.conditions.values()
    reason = missing_ratios.reason(bundled, "wireguard", condition, TCP, "throughput")
    assert reason == "bundles of packets were lost as one packet each: stacks were not judged alike"


def test_without_loss_bundles_may_be_compared() -> None:
    assert ratio(analysed(shipped()["baseline"], "aggregates")) == 0.5


def test_above_the_cut_bundles_are_judged_over_any_link() -> None:
    profile = Profile("above", {"loss": 0.01}, {}, "endpoints")
    assert ratio(analysed(profile, "wire")) is None


def test_each_stack_that_hashes_by_sha_is_named() -> None:
    assert WarningKind.NO_SHA_INSTRUCTIONS not in names(analysed(shipped()["baseline"], "wire"))
    found = analysed(shipped()["baseline"], "wire", "tinc:mode=switch").warnings
    [group] = [group for group in found if group.name == WarningKind.NO_SHA_INSTRUCTIONS]
    assert [one.where for one in group.found] == ["tinc:mode=switch on full"]


def test_what_an_older_record_does_not_tell_is_not_judged() -> None:
    trials = [trial(cell(stack, "low", TCP), [("throughput", "bit/s", 1e8)]) for stack in ("none", "wireguard")]
    assert ratio(analyse(record(trials))) == 1.0
