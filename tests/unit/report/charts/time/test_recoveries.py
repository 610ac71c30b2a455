"""What passes around an event: a line a stack, and a rule with the name of what happened."""

import re

import pytest

from tests.helpers.pages import view_of
from tests.helpers.records import cell, record, trial
from tunbench.journal.record import TrialResult
from tunbench.report.charts.time import recoveries
from tunbench.report.charts.time.recoveries import answered

LINK, RESTART = "recover:event=link", "recover"


LINE = re.compile(r'<path class="l" d="M(46[^"]*)"/>')


def endured(stack: str, workload: str, *blocked: float, repeat: int = 1) -> TrialResult:
    samples = [("blocked", "s", seconds, 4.0 * number) for number, seconds in enumerate(blocked)]
    samples += [("outage", "s", 1.0, 4.0 * number) for number in range(len(blocked)) if workload == LINK]
    return trial(cell(stack, workload=workload, repeat=repeat), samples)


def broke(stack: str, workload: str, repeat: int) -> TrialResult:
    return trial(cell(stack, workload=workload, repeat=repeat), verdict="failed", reason="no answer within 60 s")


def heights(line: str) -> list[float]:
    """How high each point of a line is above the level of none, as a share of where it begins."""
    levels = [float(point.split()[1]) for point in line.split("L")]
    floor = max(levels)
    return [(floor - level) / (floor - levels[0]) for level in levels]


def drawn(*trials: TrialResult) -> str:
    [figure] = recoveries.figures(view_of(record(trials)))
    return figure.panels[0].draw()


def test_a_line_falls_with_the_event_and_rises_with_each_that_is_answered() -> None:
    steps = [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)]
    assert answered([3.0, 1.0]) == steps


def test_what_was_never_without_an_answer_does_not_fall() -> None:
    assert answered([0.0, 2.0]) == [(0.0, 1.0), (0.0, 0.5), (2.0, 0.5), (2.0, 1.0)]
    assert answered([0.0]) == [(0.0, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize("number", [1, 7, 119, 5000])
def test_a_line_of_any_number_of_events_ends_at_all_of_them(number: int) -> None:
    line = answered([1.0 + index for index in range(number)])
    assert line[-1] == (float(number), 1.0) and len(line) <= 2 * recoveries.STEPS + 2
    assert [share for _, share in line[1:]] == sorted(share for _, share in line[1:])


def test_each_event_has_a_rule_with_its_name() -> None:
    cut = drawn(endured("gre", LINK, 1.1, 1.2), endured("wireguard", LINK, 1.4))
    assert re.findall(r'class="t"[^>]*>([^<]*link[^<]*)<', cut) == ["a cut of the link", "the link is back"]
    assert cut.count('class="event"') == 2 and cut.count('class="l" d="M46') == 2
    again = drawn(endured("gre", RESTART, 0.3))
    assert "a restart of the peer" in again and "the link is back" not in again


def test_trials_that_failed_never_rise_and_are_told() -> None:
    assert answered([1.0], failed=3) == [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.25)]
    assert answered([], failed=3) == [(0.0, 1.0), (0.0, 0.0)]
    trials = [endured("gre", RESTART, 0.3), *(broke("gre", RESTART, repeat) for repeat in range(2, 11))]
    trials += [endured("ipip", RESTART, 0.3, repeat=repeat) for repeat in range(1, 11)]
    trials += [broke("vxlan", RESTART, repeat) for repeat in range(1, 11)]
    [figure] = recoveries.figures(view_of(record(trials)))
    ends = [round(heights(line)[-1], 2) for line in LINE.findall(figure.panels[0].draw())]
    assert sorted(ends) == [0.0, 0.1, 1.0]
    assert figure.note.endswith("Failed: gre 9 of 10, vxlan 10 of 10.")


def test_where_none_failed_nothing_is_said_of_it() -> None:
    [figure] = recoveries.figures(view_of(record([endured("gre", RESTART, 0.3)])))
    assert "ailed" not in figure.note


def test_each_trial_counts_once_with_the_median_that_the_tables_have() -> None:
    trials = [endured("gre", RESTART, 0.1, 0.1, 0.1, 0.1), endured("gre", RESTART, 1.0, 2.0, 9.0, repeat=2)]
    view = view_of(record(trials))
    [figure] = recoveries.figures(view)
    [line] = LINE.findall(figure.panels[0].draw())
    # Before the event, and at each trial; 2 s is the latest median, and 9 s nobody's.
    assert [round(height, 2) for height in heights(line)] == [1.0, 1.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    [row] = [row for row in view.central[RESTART, "blocked"] if row["stack"] == "gre"]
    assert row["median"] == pytest.approx((0.1 + 2.0) / 2)


def test_workloads_without_events_have_no_picture() -> None:
    assert recoveries.figures(view_of(record([trial(cell("gre", workload="connect"), [("connect", "s", 1.0)])]))) == []
