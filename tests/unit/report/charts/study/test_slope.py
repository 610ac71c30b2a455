"""Slopes of ranks: each system has a line, which tells whether it rose or fell."""

import re

from tunbench.report.charts.canvas import WIDTH, standalone
from tunbench.report.charts.study import slope
from tunbench.report.charts.study.slope import Slope

SOME = [
    Slope("WireGuard", 1, 1, "900 Mbit/s", "800 Mbit/s"),
    Slope("<b>OpenVPN, with the longest name of all</b>", 2, 3, "500 Mbit/s", "100 Mbit/s"),
    Slope("IPsec", 3, 2, "400 Mbit/s", "300 Mbit/s"),
]


def test_a_line_is_level_rises_or_falls() -> None:
    drawn = slope.draw(SOME, "name", "Ranks")
    assert re.findall(r'class="(level|rise|fall)"', drawn) == ["level", "fall", "rise"]


def test_a_long_name_is_cut_in_the_chart_and_whole_in_what_it_tells() -> None:
    drawn = slope.draw(SOME, "name", "Ranks")
    assert "<b>" not in drawn and "…" in drawn
    assert "&lt;b&gt;OpenVPN, with the longest name of all&lt;/b&gt;\npublished 500 Mbit/s, rank 2" in drawn


def test_a_slope_is_as_wide_as_every_chart_and_stands_alone() -> None:
    drawn = slope.draw(SOME, "name", "Ranks")
    assert f'viewBox="0 0 {WIDTH} ' in drawn
    assert "var(--" not in standalone(drawn)


def test_a_rank_that_others_share_agrees_with_each_that_they_share() -> None:
    # Three tie on the ranks 1 to 3, so that each has rank 2; the fourth rank is none of theirs.
    shared = [Slope(name, 2, rank, "900 Mbit/s", "800 Mbit/s", 2) for name, rank in (("a", 1), ("b", 3), ("c", 4))]
    drawn = slope.draw(shared, "name", "Ranks")
    assert re.findall(r'class="(level|rise|fall)"', drawn) == ["level", "level", "fall"]
