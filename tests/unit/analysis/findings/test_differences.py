"""The rule by which stacks are told apart: seldom by chance, and where there is a difference."""

import random
from collections.abc import Sequence

import pytest

from tunbench.analysis.compare.two_samples import mann_whitney
from tunbench.analysis.findings import differences
from tunbench.analysis.findings.differences import LEVEL, needed_for, told_apart
from tunbench.analysis.findings.questions import Asked, Contest

STACKS = ("wireguard", "openvpn", "ipsec")
METRICS = (
    ("iperf3-tcp", "throughput", "bit/s"),
    ("ping", "rtt", "s"),
    ("ping", "loss", "ratio"),
    ("up", "connect", "s"),
)
RUNS = 2000


def contest(values: Sequence[Sequence[float]], number: int = 0) -> Contest:
    """A question with these values of each stack."""
    asked = Asked(*METRICS[number], "a-b", "b")
    trials = [{(place, place): value for place, value in enumerate(own)} for own in values]
    return Contest("low", "ip", asked, dict(zip(STACKS, trials, strict=False)))


def alike(rng: random.Random, repeats: int) -> list[Contest]:
    """A run in which no stack differs from another: each value scatters by a fifth."""
    return [
        contest([[rng.lognormvariate(0, 0.2) for _ in range(repeats)] for _ in STACKS], number)
        for number in range(len(METRICS))
    ]


def test_of_2000_runs_without_a_difference_one_in_twenty_has_a_winner_at_most() -> None:
    rng = random.Random(31)
    simulated = [alike(rng, repeats=8) for _ in range(RUNS)]
    winners = sum(bool(told_apart(one).differences) for one in simulated)
    assert winners <= LEVEL * RUNS
    # The runs would have winners without the correction: it is what keeps them away.
    first = [list(one[0].trials.values()) for one in simulated]
    uncorrected = sum(
        any(
            (mann_whitney(list(a.values()), list(b.values())).p or 0) < LEVEL
            for a, b in ((own[0], own[1]), (own[0], own[2]), (own[1], own[2]))
        )
        for own in first
    )
    assert uncorrected > 2 * LEVEL * RUNS


def shifted(factor: float, repeats: int = 8, scatter: float = 0.01) -> list[Contest]:
    rng = random.Random(1)
    own = [[level * rng.gauss(1, scatter) for _ in range(repeats)] for level in (factor, 1.0)]
    return [contest(own)]


def test_a_difference_is_found_and_has_who_is_ahead_first() -> None:
    [(key, found)] = told_apart(shifted(1.2)).differences.items()
    assert key == (0, "wireguard", "openvpn")
    assert found.ratio and found.ratio.median == pytest.approx(1.2, rel=0.02) and found.trials == (8, 8)
    [key] = told_apart(shifted(0.8)).differences
    assert key == (0, "openvpn", "wireguard")


def test_what_is_within_three_percent_is_no_difference() -> None:
    # So little scatters that the test is sure of 2 %; nobody chooses by it.
    close = shifted(1.02, scatter=0.001)
    a, b = (list(own.values()) for own in close[0].trials.values())
    assert (mann_whitney(a, b).p or 1) < LEVEL
    assert not told_apart(close).differences
    assert told_apart(shifted(1.04, scatter=0.001)).differences


def test_where_less_is_better_who_has_less_is_ahead() -> None:
    late = [contest([[2.0, 2.1, 2.2, 2.0, 2.1, 2.3], [1.0, 1.1, 1.2, 1.0, 1.1, 1.3]], number=1)]
    assert list(told_apart(late).differences) == [(0, "openvpn", "wireguard")]


def test_losses_of_nothing_are_compared_by_their_shift() -> None:
    lossy = [contest([[0.0] * 8, [0.04, 0.05, 0.05, 0.06, 0.04, 0.05, 0.07, 0.05]], number=2)]
    [(key, found)] = told_apart(lossy).differences.items()
    assert key == (0, "wireguard", "openvpn") and found.ratio is None
    assert found.shift.value == pytest.approx(-0.05)


@pytest.mark.parametrize(("repeats", "tests", "needed"), [(5, 1, 6), (6, 12, 0), (3, 12, 6)])
def test_too_few_trials_tell_nobody_apart_and_say_how_many_would(repeats: int, tests: int, needed: int) -> None:
    runs = [contest([[1.0] * repeats, [9.0] * repeats], number % 4) for number in range(tests)]
    told = told_apart(runs)
    assert (told.tests, told.needed) == (tests, needed)
    assert bool(told.differences) == (not needed)


@pytest.mark.parametrize(
    ("tests", "needed"), [(1, 6), (23, 6), (24, 7), (85, 7), (321, 8), (1215, 9), (4618, 10), (4619, 11)]
)
def test_how_many_trials_would_do_is_what_the_smallest_p_can_reach(tests: int, needed: int) -> None:
    assert needed_for(tests) == needed


def test_more_tests_than_are_made_in_bearable_time_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_TESTS", 0)
    told = told_apart(shifted(2))
    assert (told.differences, told.tests, told.needed) == ({}, 1, 0)
