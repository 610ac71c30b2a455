"""Throughput and delay in one picture: a line a stack above and below, over one time."""

import re
from collections.abc import Sequence
from typing import Any

from tests.helpers.pages import view_of
from tests.helpers.records import PING, TCP, cell, record, trial
from tunbench.journal.record import TrialResult
from tunbench.report.charts.figure import Figure
from tunbench.report.charts.time import over_time

LOADED = "loaded-latency:duration=1s"
LINE = re.compile(r'<g style="[^"]*" data-s="(\d+)"><path class="l" d="M([^"]*)"/></g>')


def flow(stack: str, seconds: int, delayed: bool = True, repeat: int = 1) -> TrialResult:
    carried = [("throughput", "bit/s", 1e6 * (second + repeat), float(second)) for second in range(seconds)]
    late = [("tcp-rtt", "s", 0.01, float(second)) for second in range(seconds)]
    return trial(cell(stack, workload=TCP, repeat=repeat), [*carried, *(late if delayed else [])])


def loaded(stack: str) -> TrialResult:
    samples: list[tuple[Any, ...]] = [("throughput-up", "bit/s", 5e6)]
    samples += [
        (f"rtt-{phase}", "s", 0.01, start + at / 10) for phase, start in (("idle", 0), ("up", 2)) for at in range(9)
    ]
    return trial(cell(stack, workload=LOADED), samples)


def made(*trials: TrialResult) -> Sequence[Figure]:
    return over_time.figures(view_of(record(trials)))


def lines(figure: Figure) -> list[tuple[str, list[str]]]:
    """The lines of the first panel: the number of the stack, and the points of each."""
    return [(stack, points.split("L")) for stack, points in LINE.findall(figure.panels[0].draw())]


def test_a_flow_has_a_line_above_and_one_below_for_each_stack() -> None:
    [figure] = made(flow("none", 8), flow("gre", 8))
    assert [(stack, len(points)) for stack, points in lines(figure)] == [("0", 8), ("1", 8), ("0", 8), ("1", 8)]
    assert "throughput, Mbit/s" in figure.panels[0].draw() and "delay, ms" in figure.panels[0].draw()


def test_a_line_is_the_median_over_trials() -> None:
    one, three = (lines(made(*(flow("gre", 8, repeat=n) for n in repeats))[0]) for repeats in ([2], [1, 2, 3]))
    assert one == three


def test_what_a_phase_carried_is_as_long_as_the_phase() -> None:
    [figure] = made(loaded("gre"))
    [(_, carried), (_, idle), (_, up)] = lines(figure)
    assert [point.split()[0] for point in carried] == [up[0].split()[0], up[-1].split()[0]]
    assert float(idle[-1].split()[0]) < float(up[0].split()[0])


def test_a_flow_without_delays_has_its_throughput_alone() -> None:
    [figure] = made(flow("gre", 8, delayed=False))
    assert [len(points) for _, points in lines(figure)] == [8]
    assert "delay" not in figure.panels[0].draw()
    assert figure.heading == "throughput over time"
    assert made(flow("gre", 8))[0].heading == "throughput and delay over time"


def test_a_phase_has_its_name_where_it_begins() -> None:
    drawn = made(loaded("gre"))[0].panels[0].draw()
    # Each through both plots.
    assert drawn.count('class="event"') == 4 and ">idle<" in drawn and ">load up<" in drawn


def test_the_picture_with_phases_is_the_one_that_is_unfolded() -> None:
    figures = made(flow("gre", 8), loaded("gre"))
    assert [one.about for one in figures if one.unfolded] == [LOADED]
    assert [one.unfolded for one in made(flow("gre", 8))] == [True]


def test_what_is_short_or_carries_nothing_has_no_picture() -> None:
    assert made(flow("gre", 4)) == []
    assert made(trial(cell("gre", workload=PING), [("rtt", "s", 0.01, at / 10) for at in range(50)])) == []
