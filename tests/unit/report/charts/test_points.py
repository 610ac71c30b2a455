"""Names and numbers of points: every one is there, near its point, and none hides another."""

import itertools
import random
import re
import time
from collections.abc import Sequence

import pytest

from tunbench.report.charts import labels, legend, numbered_points, points
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.labels import Box
from tunbench.report.charts.numbered_points import NumberBlock
from tunbench.report.charts.points import MedianInterval, StackPoint

WIDTH, HEIGHT = 314, 250


def scattered(count: int, seed: int, within: float = 1.0) -> list[tuple[float, float]]:
    rng = random.Random(seed)
    wide, high = within * (WIDTH - 20), within * (HEIGHT - 20)
    return [(10 + rng.random() * wide, 10 + rng.random() * high) for _ in range(count)]


def texts(blocks: Sequence[NumberBlock], total: int) -> list[Box]:
    """What each number covers."""
    found = []
    for block in blocks:
        for index in block.members:
            x, y = numbered_points.at(block, index, total)
            found.append(Box(x - numbered_points.DIGIT * len(str(index + 1)), y - 6, x, y + 6))
    return found


@pytest.mark.parametrize(("count", "within"), [(1, 1.0), (10, 1.0), (30, 0.5), (40, 0.1), (12, 0.01)])
def test_every_point_has_a_number_that_hides_nothing(count: int, within: float) -> None:
    for seed in range(5):
        places = scattered(count, seed, within)
        blocks = numbered_points.place_blocks(places, WIDTH, HEIGHT, [])
        assert sorted(index for block in blocks for index in block.members) == list(range(count))
        numbers = texts(blocks, count)
        assert all(one.left >= 0 and one.right <= WIDTH and one.top >= 0 and one.bottom <= HEIGHT for one in numbers)
        assert not any(labels.overlap(one, other) for one, other in itertools.combinations(numbers, 2))
        marks = [labels.around(*place) for place in places]
        assert not any(labels.overlap(one, mark) for one in numbers for mark in marks)


def test_points_that_touch_by_way_of_others_are_one_crowd() -> None:
    marks = [labels.around(x, 50.0) for x in (10.0, 100.0, 18.0, 26.0, 108.0)]
    assert sorted(numbered_points.crowds(marks)) == [[0, 2, 3], [1, 4]]


def test_numbers_keep_off_intervals_as_far_as_there_is_room() -> None:
    cross = Box(100, 119, 300, 121)
    (block,) = numbered_points.place_blocks([(150.0, 120.0)], WIDTH, HEIGHT, [cross])
    assert not labels.overlap(block.box, cross)
    (block,) = numbered_points.place_blocks([(150.0, 120.0)], WIDTH, HEIGHT, [Box(0, 0, WIDTH, HEIGHT)])
    assert numbered_points.lead(block) is None


def test_a_number_that_is_far_away_has_a_line_to_its_point() -> None:
    (block,) = numbered_points.place_blocks([(150.0, 120.0)], WIDTH, HEIGHT, [Box(100, 70, 200, 170)])
    assert (numbered_points.lead(block) or ())[2:] == (150.0, 120.0)


def both(name: str, number: int, speed: float, cost: float) -> StackPoint:
    return StackPoint(
        name, Mark("red", 0, number), MedianInterval(speed, speed, speed), MedianInterval(cost, cost, cost), name
    )


def drawn(*stacks: StackPoint) -> str:
    return points.draw(stacks, ("bit/s", "s/B"), ("throughput", "cost"), "front-0", "cost over throughput")


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_names_stand_beside_points_that_are_apart() -> None:
    svg = drawn(both("gre", 0, 1e9, 1e-9), both("wireguard", 1, 2e8, 4e-8))
    assert {"gre", "wireguard"} <= set(words(svg)) and "1  gre" not in words(svg)


def test_where_names_would_hide_each_other_all_have_a_number_and_the_legend_has_the_names() -> None:
    long = "ipsec:daemon=libreswan,mode=transport,cipher=aes256gcm16"
    names = [*(f"{long}+{one}" for one in ("gre", "vxlan", "geneve", "fou")), "openvpn"]
    svg = drawn(*(both(name, number, 1e9 + number, 1e-9) for number, name in enumerate(names)))
    told = words(svg)
    assert {"1", "2", "3", "4", "5"} <= set(told)
    # No name is cut, so that those of a long common beginning differ.
    assert all(name in re.sub(r"\s", "", "".join(told)) for name in names)
    assert "…" not in svg


def test_a_legend_of_long_names_is_as_high_as_its_lines() -> None:
    short, long = "gre", "x" * (2 * legend.WIDE + 1)
    assert legend.height([short, long]) == 2 * legend.ENTRY + 2 * legend.LINE
    made = legend.draw([(long, Mark("red", 0, 0)), (short, Mark("red", 0, 1))], 100)
    heights = [float(y) for y in re.findall(r'<text x="[^"]*" y="([^"]*)"', made)]
    assert heights == [104, 118, 132, 150]


def test_of_more_points_than_have_room_none_has_a_number_but_all_stand_in_the_legend() -> None:
    names = [f"wireguard:mtu={number}" for number in range(points.MAX_NAMED + 1)]
    told = words(drawn(*(both(name, number, 1e9 + 1e6 * number, 1e-9) for number, name in enumerate(names))))
    assert set(names) <= set(told)


def test_many_points_are_drawn_in_bearable_time() -> None:
    rng = random.Random(1)
    for count in (points.MAX_NAMED, 4_000):
        many = [both("x" * 30, number, rng.random(), rng.random()) for number in range(count)]
        began = time.process_time()
        drawn(*many)
        assert time.process_time() - began < 4


def test_the_front_has_what_nothing_is_better_than_and_all_that_are_equal() -> None:
    rng = random.Random(2)
    for _ in range(50):
        some = [both(str(number), number, rng.randrange(6), rng.randrange(6)) for number in range(12)]
        some = [one._replace(front=rng.random() < 0.8) for one in some]
        able = [(one, one.across.median, one.up.median) for one in some if one.front]
        best = [
            (speed, one.name)
            for one, speed, cost in able
            if not any(more >= speed and less <= cost and (more, less) != (speed, cost) for _, more, less in able)
        ]
        assert [one.name for one in points.front(some)] == [name for _, name in sorted(best, key=lambda one: one[0])]
