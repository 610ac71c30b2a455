"""What is said of a run: who is ahead of whom, who is not, and that there are too few trials."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests.helpers.pages import view_of
from tests.helpers.records import PING, TCP, cell, record, trial
from tunbench.analysis.findings import differences
from tunbench.analysis.findings.findings import Ahead, Alike, Failing, Finding, Leading, TooFew, Uncompared, findings
from tunbench.analysis.findings.questions import asked
from tunbench.journal.record import Record, TrialResult
from tunbench.report.view import View


def speeds(repeats: int = 8, profile: str = "baseline", **levels: float) -> list[TrialResult]:
    """Trials of TCP in which each stack has a level of its own, with a scatter of one percent."""
    rng = random.Random(3)
    return [
        trial(cell(stack, profile, TCP, repeat), [("throughput", "bit/s", level * rng.gauss(1, 0.01), None, "b")])
        for repeat in range(repeats)
        for stack, level in levels.items()
    ]


def said(*trials: TrialResult) -> list[Finding]:
    view = view_of(record(trials))
    return findings(view.runs[0], view.answers[0])


def best(view: View) -> Mapping[Any, tuple[str, ...]]:
    return {key[0]: stacks for key, stacks in view.answers[0].best.items()}


def test_one_that_is_ahead_of_all_others_is_told_with_the_next() -> None:
    [found] = said(*speeds(none=9, wireguard=3, openvpn=1, gre=2))
    assert isinstance(found, Ahead)
    assert (found.best, found.other, found.of) == ("wireguard", "gre", 3)
    assert best(view_of(record(speeds(none=9, wireguard=3, openvpn=1, gre=2)))) == {"baseline": ("wireguard",)}


def test_those_that_are_not_told_from_the_best_are_named_together() -> None:
    trials = speeds(wireguard=3, openvpn=1, gre=3)
    [found] = said(*trials)
    assert isinstance(found, Leading)
    assert (set(found.leading), found.other, found.of) == ({"wireguard", "gre"}, "openvpn", 3)
    [leading] = best(view_of(record(trials))).values()
    assert set(leading) == {"wireguard", "gre"}


def test_where_nobody_is_told_apart_nobody_is_the_best() -> None:
    trials = speeds(wireguard=3, openvpn=3, gre=3)
    [found] = said(*trials)
    assert isinstance(found, Alike) and not found.from_best
    assert best(view_of(record(trials))) == {}


def test_the_bare_underlay_takes_part_where_one_tunnel_is_alone() -> None:
    [found] = said(*speeds(none=9, wireguard=3))
    assert isinstance(found, Ahead) and (found.best, found.other) == ("none", "wireguard")
    assert not [one for one in said(*speeds(none=9, wireguard=3, macvlan=4)) if isinstance(one, Ahead)]


def test_too_few_trials_are_all_that_is_said() -> None:
    assert said(*speeds(repeats=3, wireguard=3, openvpn=1)) == [TooFew(3, 3, 1, 6)]


def test_a_stack_with_too_few_trials_is_said_to_be_compared_with_nobody() -> None:
    """It is not said to be like another one that was never tested against it, however far away it is."""
    trials = [*speeds(6, wireguard=100, gre=100), *speeds(5, openvpn=10)]
    few, alike = said(*trials)
    assert few == Uncompared("openvpn", 5, 5, 1, 1)
    assert isinstance(alike, Alike) and set(alike.stacks) == {"wireguard", "gre"}
    ahead = [*speeds(6, wireguard=100, gre=10), *speeds(5, openvpn=1)]
    few, first = said(*ahead)
    assert few == Uncompared("openvpn", 5, 5, 1, 1)
    assert isinstance(first, Ahead) and (first.best, first.other, first.of) == ("wireguard", "gre", 2)
    assert best(view_of(record(ahead))) == {"baseline": ("wireguard",)}


def test_where_one_stack_is_left_nobody_is_ahead() -> None:
    trials = [*speeds(8, wireguard=3, openvpn=1), *speeds(8, "low", wireguard=3), *speeds(4, "low", openvpn=1)]
    told = said(*trials)
    # What wireguard lacks is not trials, but somebody to be compared with.
    assert told[0] == Uncompared("openvpn", 4, 4, 1, 2)
    assert [type(one) for one in told[1:]] == [Ahead]
    assert list(best(view_of(record(trials)))) == ["baseline"]


def test_a_pair_that_no_test_could_tell_apart_is_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The p of six against six trials is 0.0022 at best, which 0.0015 excludes; that of six against ten is less."""
    monkeypatch.setattr(differences, "LEVEL", 0.0015 * 3)
    found = said(*speeds(6, wireguard=3, gre=3), *speeds(10, openvpn=1))
    assert found == []


def test_the_last_is_said_of_the_last_of_all_alone() -> None:
    """One that scatters is behind the last that can be told from the best, and cannot be told from it itself."""
    [found] = said(*speeds(wireguard=3, openvpn=1, gre=3))
    assert isinstance(found, Leading) and found.last
    scattered = [*speeds(3, gre=5), *(one for one in speeds(8, gre=0.5) if one.cell["repeat"] >= 3)]
    [found] = said(*speeds(wireguard=3, openvpn=1), *scattered)
    assert isinstance(found, Leading)
    assert (found.leading, found.other, found.last) == (("wireguard", "gre"), "openvpn", False)


def test_trials_that_failed_are_said_first() -> None:
    broken = trial(cell("openvpn", workload=TCP, repeat=9), verdict="failed", reason="it broke")
    first, second = said(*speeds(wireguard=3, openvpn=1), broken)
    assert first == Failing("openvpn", "failed", 1, 9) and isinstance(second, Ahead)


def test_where_stacks_were_not_judged_alike_nothing_is_compared() -> None:
    view = view_of(record(speeds(wireguard=3, openvpn=1)))
    assert best(view)
    view.runs[0].__dict__["not_comparable"] = {"baseline"}
    del view.__dict__["answers"]
    assert best(view) == {}


def test_the_first_answer_to_what_is_asked_comes_before_the_second_to_any() -> None:
    fast = [*speeds(wireguard=3, openvpn=1), *speeds(profile="low", wireguard=3, openvpn=1)]
    late = [
        trial(cell(stack, workload=PING, repeat=repeat), [("rtt", "s", level + repeat / 1e6, 0.0)])
        for repeat in range(8)
        for stack, level in (("wireguard", 1e-3), ("openvpn", 2e-3))
    ]
    told = [one.contest.asked.metric for one in said(*fast, *late) if isinstance(one, Ahead)]
    assert told == ["throughput", "rtt", "throughput"]


def test_what_is_constant_is_not_worth_a_word() -> None:
    trials = [
        trial(cell(stack, workload=PING, repeat=repeat), [("loss", "ratio", 0.0)])
        for repeat in range(8)
        for stack in ("wireguard", "openvpn")
    ]
    assert said(*trials) == []


def test_a_yes_or_no_gets_no_sentence() -> None:
    trials = [
        trial(cell(stack, workload="pmtu", repeat=repeat), [("black-hole", "", value), ("pmtu", "B", size)])
        for repeat in range(8)
        for stack, value, size in (("wireguard", 0.0, 1420.0), ("openvpn", 1.0, 1300.0))
    ]
    told = [one.contest.asked.metric for one in said(*trials) if isinstance(one, Ahead)]
    assert told == ["pmtu"]


def questions(whole: Record) -> list[tuple[str, str]]:
    view = view_of(whole)
    return [(one.workload, one.metric) for one in asked(view.cells, view.workloads)]


def test_every_workload_has_a_question_of_its_own() -> None:
    trials = [
        trial(cell("gre", workload="goodput"), [("goodput", "bit/s", 1e6), ("trial-rate", "bit/s", 1e6, 0.0)]),
        trial(cell("gre", workload="pmtu"), [("pmtu", "B", 1400.0), ("mss", "B", 1360.0)]),
        trial(cell("gre", workload="recover:event=reboot"), [("blocked", "s", 2.0, 0.0), ("lost", "count", 9.0, 0.0)]),
        trial(cell("gre", workload="of-another-version"), [("speed", "m/s", 1.0)]),
        trial(cell("gre", workload=PING), [("rtt", "s", 1.0, 0.0), ("cost", "s/B", 1e-7, None, "lab")]),
        trial(cell("gre", workload=TCP), [("throughput", "bit/s", 1.0), ("cost", "s/B", 1e-7, None, "lab")]),
    ]
    assert questions(record(trials)) == [
        *((TCP, "throughput"), ("goodput", "goodput"), (PING, "rtt"), ("pmtu", "pmtu"), (TCP, "cost")),
        *(("recover:event=reboot", "blocked"), ("of-another-version", "speed")),
    ]
