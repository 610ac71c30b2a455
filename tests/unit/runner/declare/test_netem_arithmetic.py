"""netem's arithmetic, against simulations of what the kernel does."""

import math
import random
import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.runner.declare.netem_arithmetic import (
    chain,
    echo_loss,
    longest_delay,
    loss_deviation,
    mean_delay,
    mean_loss,
    reordered,
    table,
)

GEMODEL = {"gemodel_p": 0.01, "gemodel_r": 0.2, "gemodel_1-h": 0.9, "gemodel_1-k": 0.001}
STATE = {"state_p13": 0.01, "state_p31": 0.3, "state_p32": 0.2, "state_p23": 0.5, "state_p14": 0.005}
MOMENTS = {"normal": (-0.00078, 1.00005), "pareto": (-0.03349, 0.81968), "paretonormal": (-0.02530, 0.83394)}
"""Mean and standard deviation of iproute2 6.1's own tables, divided by 8192."""
EDGES = {"normal": (-32768, 28858), "pareto": (-5461, 32767), "paretonormal": (-12305, 31789)}
"""First and last entry of the same."""


@pytest.mark.parametrize(
    ("delay", "jitter", "mean"),
    [(0.004, 0.007, 0.00432), (0.006, 0.015, 0.00735), (0.002, 0.002, 0.002), (0.02, 0, 0.02), (0, 0.002, 0.0005)],
)
def test_mean_delay(delay: float, jitter: float, mean: float) -> None:
    assert mean_delay(delay, jitter) == pytest.approx(mean, abs=5e-6)


def test_mean_delay_agrees_with_a_simulation() -> None:
    dice = random.Random(1)
    drawn = [max(0.0, dice.uniform(0.006 - 0.015, 0.006 + 0.015)) for _ in range(200_000)]
    assert mean_delay(0.006, 0.015) == pytest.approx(sum(drawn) / len(drawn), rel=0.01)


@given(delay=st.floats(0, 10), jitter=st.floats(0, 10))
def test_clipping_never_shortens_the_mean(delay: float, jitter: float) -> None:
    assert mean_delay(delay, jitter) >= delay * (1 - 1e-12)


@pytest.mark.parametrize("name", MOMENTS)
def test_the_tables_are_iproute2s(name: str) -> None:
    entries = table(name)
    assert len(entries) == 4096
    assert statistics.fmean(entries) == pytest.approx(MOMENTS[name][0], abs=3e-4)
    assert statistics.pstdev(entries) == pytest.approx(MOMENTS[name][1], abs=3e-4)
    # iproute2 sums the normal distribution in steps, and its outermost entries differ a little from the quantiles.
    assert (min(entries) * 8192, max(entries) * 8192) == pytest.approx(EDGES[name], rel=0.011)


def test_mean_delay_by_a_table() -> None:
    normal = statistics.NormalDist(0.004, 0.007)
    clipped = 0.004 * (1 - normal.cdf(0)) + 0.007**2 * normal.pdf(0)
    assert mean_delay(0.004, 0.007, "normal") == pytest.approx(clipped, rel=1e-3)
    assert mean_delay(0.02, 0.005, "normal") == pytest.approx(0.02, rel=1e-3)
    assert mean_delay(0.02, 0.005, "pareto") == pytest.approx(0.02 - 0.03349 * 0.005, rel=1e-4)


def test_an_echo_is_lost_on_either_way() -> None:
    assert echo_loss(0.01, 0.01) == pytest.approx(1 - 0.99**2)
    assert echo_loss(0, 0.5) == 0.5
    assert echo_loss(0, 0) == 0
    assert echo_loss(1, 0) == 1


@pytest.mark.parametrize(
    ("terms", "mean"),
    [
        ({}, 0),
        ({"loss": 0.03}, 0.03),
        ({"loss": 0.03, "loss_correlation": 0.25}, None),
        ({"gemodel_p": 0.01}, 0.01),
        ({"gemodel_p": 0.01, "gemodel_r": 0.09}, 0.1),
        ({"gemodel_p": 0.01, "gemodel_r": 0.09, "gemodel_1-h": 0.0}, 0),
        (GEMODEL, (0.2 * 0.001 + 0.01 * 0.9) / 0.21),
        ({"state_p14": 0.25}, 0.2),
        ({"state_p13": 0.25}, 0.25 / (0.25 + 0.75)),
        ({"state_p13": 0.1, "state_p31": 0.0, "state_p32": 0.1, "state_p23": 0.3}, 0.75),
        ({"state_p13": 0.1, "state_p31": 0.0, "state_p32": 0.1, "state_p23": 0.0}, 0),
        ({"state_p13": 0.1, "state_p31": 0.0, "state_p32": 0.0, "state_p23": 0.0}, 1),
    ],
)
def test_mean_loss(terms: dict[str, float], mean: float | None) -> None:
    assert mean_loss(terms) == (mean if mean is None else pytest.approx(mean))


def kernels_gemodel(dice: random.Random, packets: int) -> list[bool]:
    """As `loss_gilb_ell`: the state moves first, and the state before decides on the packet."""
    lost, bad = [], False
    for _ in range(packets):
        before = bad
        if dice.random() < GEMODEL["gemodel_r" if bad else "gemodel_p"]:
            bad = not bad
        lost.append(dice.random() < GEMODEL["gemodel_1-h" if before else "gemodel_1-k"])
    return lost


def kernels_state(dice: random.Random, packets: int) -> list[bool]:
    """As `loss_4state`."""
    lost, state = [], 1
    for _ in range(packets):
        draw = dice.random()
        if state == 1:
            state = 4 if draw < STATE["state_p14"] else 3 if draw < STATE["state_p14"] + STATE["state_p13"] else 1
        elif state == 2:
            state = 3 if draw < STATE["state_p23"] else 2
        elif state == 3:
            state = 2 if draw < STATE["state_p32"] else 1 if draw < STATE["state_p32"] + STATE["state_p31"] else 3
        else:
            state = 1
        lost.append(state in (3, 4))
    return lost


@pytest.mark.parametrize(("terms", "simulated"), [(GEMODEL, kernels_gemodel), (STATE, kernels_state)])
def test_mean_and_deviation_of_a_chain_are_those_of_the_kernels_code(terms, simulated) -> None:  # type: ignore[no-untyped-def]
    dice = random.Random(1)
    counts = [sum(simulated(dice, 1000)) for _ in range(300)]
    spread = loss_deviation(terms, 1000)
    assert statistics.fmean(counts) == pytest.approx(1000 * (mean_loss(terms) or 0), abs=4 * spread / math.sqrt(300))
    assert statistics.stdev(counts) == pytest.approx(spread, rel=4 / math.sqrt(2 * 300))
    # Far more widely spread than losses that know nothing of each other.
    mean = mean_loss(terms) or 0
    assert spread > 1.2 * math.sqrt(1000 * mean * (1 - mean))


def test_a_chain_without_memory_is_as_random_loss() -> None:
    assert loss_deviation({"gemodel_p": 0.01}, 1000) == pytest.approx(loss_deviation({"loss": 0.01}, 1000))
    assert loss_deviation({"loss": 0.01}, 1000) == pytest.approx(math.sqrt(1000 * 0.01 * 0.99))
    assert loss_deviation({"loss": 0.01, "loss_correlation": 0.5}, 1000) == pytest.approx(math.sqrt(3 * 9.9))


def test_the_chains_shares_are_stationary() -> None:
    for terms in (GEMODEL, STATE):
        model = chain(terms)
        assert model
        after = [
            sum(share * row[state] for share, row in zip(model.shares, model.moves, strict=True))
            for state in range(len(model.shares))
        ]
        assert after == pytest.approx(list(model.shares))


def test_reordering_with_a_gap() -> None:
    assert reordered({}) == 0
    assert reordered({"reorder": 0.25}) == 0.25
    assert reordered({"reorder": 1.0, "gap": 5}) == pytest.approx(1 / 5)
    assert reordered({"reorder": 0.25, "gap": 5}) == pytest.approx(1 / 8)
    assert reordered({"reorder": 0.25, "reorder_correlation": 0.5}) is None


def test_the_longest_delay_has_the_tables_width_and_the_slots() -> None:
    assert longest_delay({"delay": 0.01, "jitter": 0.001}) == pytest.approx(0.011)
    assert longest_delay({"delay": 0.01, "jitter": 0.001, "distribution": "pareto"}) == pytest.approx(0.014, rel=1e-3)
    assert longest_delay({"slot_min_delay": 0.01, "slot_max_delay": 0.02}) == 0.02
    assert longest_delay({"slot_delay": 0.01, "slot_jitter": 0.002}) == pytest.approx(0.018, rel=1e-3)


def test_wider_tables_have_longer_tails() -> None:
    for narrow, wide in pairwise(("normal", "paretonormal", "pareto")):
        assert sum(one > 3 for one in table(narrow)) < sum(one > 3 for one in table(wide))
