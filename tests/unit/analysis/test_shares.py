import math
import random

import pytest

from tunbench.analysis.compare.two_samples import relative
from tunbench.analysis.shares import move_together, ratio

SEEDS = [(repeat, 100 + repeat) for repeat in range(10)]


def trials(values: list[float]) -> dict[tuple[int, int], float]:
    return dict(zip(SEEDS, values, strict=False))


def drawn(seed: int, count: int = 10) -> list[float]:
    rng = random.Random(seed)
    return [rng.lognormvariate(0, 0.2) for _ in range(count)]


def test_seeds_that_have_nothing_in_common_are_no_pairs() -> None:
    a, b = drawn(1), drawn(5)
    found, moved = ratio(trials(b), trials(a)), relative(a, b)
    assert found and moved and not found.paired
    assert found.median == pytest.approx((sorted(b)[4] + sorted(b)[5]) / (sorted(a)[4] + sorted(a)[5]))
    assert [found.low, found.high] == pytest.approx([1 + moved.low, 1 + moved.high])
    assert found.kind == "95 % interval"


def test_seeds_that_move_both_are_pairs() -> None:
    bare = drawn(1)
    found = ratio(trials([value * (0.9 + 0.001 * place) for place, value in enumerate(bare)]), trials(bare))
    assert found and found.paired and found.n == 10
    # Far narrower than what scatters from seed to seed.
    assert 0.9 < found.low < found.median < found.high < 0.91


def test_below_six_trials_there_are_neither_pairs_nor_an_interval() -> None:
    found = ratio(trials([2.0, 4.0, 6.0, 8.0, 10.0]), trials([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found and (found.n, found.median, found.kind, found.paired) == (5, 2.0, "range", False)
    assert [found.low, found.high] == pytest.approx([0.4, 10])


def test_few_trials_beside_many_have_the_range_of_all_ratios() -> None:
    many = {(repeat, repeat): 1.0 + repeat / 100 for repeat in range(60)}
    few = {(repeat, 100 + repeat): 2.0 for repeat in range(3)}
    up, down = ratio(few, many), ratio(many, few)
    assert up and (up.n, up.kind) == (3, "range") and [up.low, up.high] == pytest.approx([2 / 1.59, 2])
    assert down and (down.n, down.kind) == (3, "range") and [down.low, down.high] == pytest.approx([0.5, 1.59 / 2])
    assert up.coverage == down.coverage == pytest.approx(1 - 2 / math.comb(63, 3))


def test_the_interval_reaches_to_the_ratio_of_the_medians() -> None:
    a, b = [1.0] * 4 + [9.0] * 4, [1.0] * 3 + [9.0] * 5
    found = ratio(trials(b), trials(a))
    assert found and found.low <= found.median <= found.high


def test_none_of_it_has_no_ratio_and_nothing_arrived_has_one() -> None:
    assert ratio(trials([1.0] * 6), trials([1.0] * 5 + [0.0])) is None
    assert ratio(trials([-1.0] * 6), trials([1.0] * 6)) is None
    nothing = ratio(trials([0.0] * 6), trials([2.0] * 6))
    assert nothing and (nothing.median, nothing.low, nothing.high) == (0, 0, 0)


def test_tau_of_a_half_is_the_least_that_moves_together() -> None:
    assert move_together([1, 2, 3, 4], [1, 3, 4, 2]) is False  # tau 1/3
    assert move_together([1, 2, 3, 4], [1, 2, 4, 3]) is True  # tau 2/3
    assert move_together([1, 1, 1, 1], [1, 2, 4, 3]) is False
