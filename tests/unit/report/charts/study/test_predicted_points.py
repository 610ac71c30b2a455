import re

import pytest

from tunbench.report.charts.axes import Span
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.points import MedianInterval
from tunbench.report.charts.study import predicted_points
from tunbench.report.charts.study.predicted_points import LEFT, SIDE, TOP, PredictedPoint

MARK = Mark("var(--s0)", 1, 0)


def point(published: float, measured: float, calibrates: bool = False) -> PredictedPoint:
    around = MedianInterval(measured, measured * 0.9, measured * 1.1)
    return PredictedPoint("IPIP", MARK, published, around, "IPIP, LAN", calibrates)


def places(svg: str, kind: str) -> list[tuple[float, float]]:
    """The middles of the squares of a class."""
    found = re.findall(rf'<path class="{kind}" d="M([\d.]+) ([\d.]+)h10v10h-10Z"', svg)
    return [(float(x) + 5, float(y) + 5) for x, y in found]


def drawn(*points: PredictedPoint, **models: float) -> str:
    return predicted_points.draw(points, models, "bit/s", "name", "heading")


def test_equal_numbers_lie_on_the_diagonal() -> None:
    svg = drawn(point(1e6, 1e6), point(1e7, 1e7), point(1e8, 1e8))
    for x, y in places(svg, "k"):
        assert x - LEFT == pytest.approx(TOP + SIDE - y, abs=0.2)
    assert f'class="level" d="M{LEFT} {TOP + SIDE}L{LEFT + SIDE} {TOP}"' in svg


def test_what_is_measured_too_large_lies_above_it() -> None:
    (_, low), (_, high) = places(drawn(point(1e7, 5e6), point(1e7, 2e7)), "k")
    assert high < low


def test_the_band_ends_where_a_quarter_is_missed() -> None:
    span = Span(1e6, 1e8, True)
    for share, x, y in ((1.25, 1e7, 1.25e7), (0.75, 1e7, 0.75e7)):
        corners = predicted_points._band(span)
        ends = corners[1:3] if share > 1 else corners[4:]
        place = predicted_points._place(span.share(x), span.share(y))
        (x0, y0), (x1, y1) = ends
        # The point lies on the edge: it is as far right of its one end as it is above it.
        assert place[0] - x0 == pytest.approx(y0 - place[1], abs=1e-6)
        assert x1 - x0 == pytest.approx(y0 - y1, abs=1e-6)


def test_a_narrow_span_has_a_band_that_stays_in_the_plot() -> None:
    for x, y in predicted_points._band(Span(100, 101, True)):
        assert LEFT <= x <= LEFT + SIDE and TOP <= y <= TOP + SIDE


def test_the_number_that_calibrates_is_hollow() -> None:
    svg = drawn(point(1e6, 1e6, calibrates=True), point(1e7, 1e7))
    assert (len(places(svg, "o")), len(places(svg, "k"))) == (1, 1)


def test_a_model_is_a_line_where_the_plot_has_its_number() -> None:
    svg = drawn(point(1e6, 1e6), point(1e8, 1e8), near=1e7, far=1e12)
    assert "near" in svg and "far" not in svg
    x, y = map(float, re.findall(r'class="none" d="M([\d.]+) ([\d.]+)', svg)[0])
    assert x == LEFT and y == pytest.approx(TOP + SIDE / 2, abs=0.2)


def test_an_interval_that_reaches_0_stays_in_the_plot() -> None:
    svg = drawn(PredictedPoint("IPIP", MARK, 1e6, MedianInterval(1e6, 0, 1e9), "x"), point(1e7, 1e7))
    y, to_y = map(float, re.findall(r'class="w" d="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)"', svg)[0])
    assert (y, to_y) == (TOP + SIDE, TOP)


def test_a_system_stands_once_below_it() -> None:
    svg = drawn(point(1e6, 1e6), point(1e7, 1e7))
    assert svg.count(">IPIP</text>") == 1
