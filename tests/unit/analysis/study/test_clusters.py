import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.analysis.study.clusters import clusters, rand_index, silhouette

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12)


def times(median: float, seed: int, n: int = 50) -> list[float]:
    """Round-trip times in s around a median."""
    rng = random.Random(seed)
    return [median * math.exp(rng.gauss(0, 0.05)) for _ in range(n)]


SYSTEMS = {
    **{f"kernel-{number}": times(40e-6, number) for number in range(3)},
    **{f"daemon-{number}": times(120e-6, number + 10) for number in range(4)},
    **{f"relay-{number}": times(900e-6, number + 20) for number in range(2)},
}


def test_systems_that_are_alike_are_found_together_the_fastest_first() -> None:
    found = clusters(SYSTEMS)
    assert [one.members for one in found.clusters] == [
        ("kernel-0", "kernel-1", "kernel-2"),
        ("daemon-0", "daemon-1", "daemon-2", "daemon-3"),
        ("relay-0", "relay-1"),
    ]
    assert list(found.silhouettes) == list(range(2, 9))
    assert max(found.silhouettes, key=found.silhouettes.__getitem__) == 3
    assert found.membership["daemon-2"] == 1
    assert rand_index(found.membership, {name: name[0] for name in SYSTEMS}) == 1
    fastest = [value for name in found.clusters[0].members for value in SYSTEMS[name]]
    assert found.clusters[0][1:] == pytest.approx(
        (statistics.median(fastest), statistics.fmean(fastest), statistics.stdev(fastest), 150)
    )


def test_the_order_of_systems_and_the_unit_do_not_matter() -> None:
    found = clusters(SYSTEMS)
    assert clusters(dict(reversed(SYSTEMS.items()))) == found
    scaled = clusters({name: [1000 * value for value in values] for name, values in SYSTEMS.items()})
    assert [one.members for one in scaled.clusters] == [one.members for one in found.clusters]
    assert scaled.silhouettes == pytest.approx(found.silhouettes)


def test_ties_go_to_fewer_clusters() -> None:
    # All are alike: the silhouette of every number is 0.
    found = clusters({name: [1.0, 2.0] for name in "abcde"})
    assert set(found.silhouettes.values()) == {0}
    assert len(found.clusters) == 2


def test_too_few_and_too_many_systems_have_no_clusters_and_a_time_of_zero_none() -> None:
    assert clusters({"a": [1.0], "b": [2.0], "c": []}).reason == (
        "2 systems have round-trip times: clusters need at least 3"
    )
    found = clusters({str(number): [float(number)] for number in range(1, 62)})
    assert found.reason == "61 systems have round-trip times: clusters have at most 60"
    found = clusters({"a": [1.0], "b": [2.0], "c": [0.0]})
    assert (found.clusters, found.reason) == ((), "a round-trip time is not positive: it has no logarithm")


def test_one_time_alone_has_no_deviation() -> None:
    found = clusters({"a": [1.0], "b": [1.1], "c": [9.0]})
    assert [(one.members, one.deviation is None) for one in found.clusters] == [(("a", "b"), False), (("c",), True)]


def test_the_silhouette_is_that_of_its_definition() -> None:
    # Points at 0, 1, 5 and 6: a is 1 for each; b is 5.5 for those outside and 4.5 for those inside.
    points = [0.0, 1.0, 5.0, 6.0]
    distances = [[abs(one - other) for other in points] for one in points]
    assert silhouette(distances, [0, 0, 1, 1]) == pytest.approx((4.5 / 5.5 + 3.5 / 4.5) / 2)
    assert silhouette(distances, [0, 1, 2, 2]) == pytest.approx((3 / 4 * 0 + (4 - 1) / 4 + (5 - 1) / 5) / 4)
    with pytest.raises(ValueError, match="two clusters"):
        silhouette(distances, [0, 0, 0, 0])


# scikit-learn, documentation of adjusted_rand_score: 1.0, 0.57, 0.57, 0.0 and -0.5; its user guide: 0.24.
@pytest.mark.parametrize(
    ("one", "other", "index"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 1, 2], [0, 0, 1, 1], 0.57),
        ([0, 0, 1, 1], [0, 0, 1, 2], 0.57),
        ([0, 0, 0, 0], [0, 1, 2, 3], 0.0),
        ([0, 0, 1, 1], [0, 1, 0, 1], -0.5),
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], 0.24),
        ([0, 0, 0], [1, 1, 1], 1.0),
        ([0, 1, 2], [2, 1, 0], 1.0),
    ],
)
def test_the_adjusted_rand_index_is_as_published(one: list[int], other: list[int], index: float) -> None:
    assert rand_index(dict(enumerate(map(str, one))), dict(enumerate(other))) == pytest.approx(index, abs=5e-3)  # type: ignore[arg-type]


def test_only_common_systems_count_in_the_index() -> None:
    assert rand_index({"a": 1, "b": 1, "c": 2, "d": 3}, {"a": "x", "b": "x", "c": "y", "e": "z"}) == 1
    assert rand_index({"a": 1}, {"a": 1, "b": 2}) is None


@given(labels)
def test_the_index_is_symmetric_at_most_one_and_blind_to_names(pairs: list[tuple[int, int]]) -> None:
    one = {str(place): label for place, (label, _) in enumerate(pairs)}
    other = {str(place): label for place, (_, label) in enumerate(pairs)}
    index = rand_index(one, other)
    assert index is not None
    assert index <= 1
    assert rand_index(other, one) == pytest.approx(index)
    assert rand_index(one, {name: -label for name, label in other.items()}) == pytest.approx(index)
    assert rand_index(one, one) == 1
