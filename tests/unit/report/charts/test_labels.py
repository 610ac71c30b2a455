"""Long names in lines, and labels that hide nothing."""

import itertools

from tunbench.report.charts import labels


def test_long_names_are_broken_and_nothing_is_lost() -> None:
    name = "ipsec:mode=transport,cipher=aes128gcm16+vxlan+averyverylongnameindeedwithoutabreak"
    lines = labels.wrapped(name, 24).split("\n")
    assert "".join(lines) == name
    assert max(len(line) for line in lines) <= 24


def test_labels_of_points_close_together_do_not_cover_each_other() -> None:
    points = [(100.0 + 4 * index, 100.0 + 8 * index) for index in range(4)]
    texts = [f"stack-{index}" for index in range(4)]
    placed = labels.place_labels(points, texts, 330, 264)
    boxes = [label.box(text) for label, text in zip(placed, texts, strict=True) if label]
    assert len(boxes) == 4
    assert all(one.left >= 0 and one.right <= 330 for one in boxes)
    assert not any(labels.overlap(one, other) for one, other in itertools.combinations(boxes, 2))


def test_a_label_does_not_stand_on_an_interval() -> None:
    (free,) = labels.place_labels([(100.0, 100.0)], ["stack"], 330, 264)
    cross = labels.Box(50, 99, 200, 101)
    (beside,) = labels.place_labels([(100.0, 100.0)], ["stack"], 330, 264, [cross])
    assert free and labels.overlap(free.box("stack"), cross)
    assert beside and not labels.overlap(beside.box("stack"), cross)


def test_labels_that_have_no_room_are_left_to_the_legend() -> None:
    placed = labels.place_labels([(100.0, 100.0)] * 30, ["stack"] * 30, 330, 264)
    assert None in placed and placed[0] is not None
