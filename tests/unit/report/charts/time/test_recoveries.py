"""What passes around an event: a line a stack, and a rule with the name of what happened."""

import re

import pytest

from tests.helpers.pages import view_of
from tests.helpers.records import cell, record, trial
from tunbench.journal.record import TrialResult
from tunbench.report.charts.time import recoveries
from tunbench.report.charts.time.recoveries import answered

LINK, RESTART = "recover:event=link", "recover"


def endured(stack: str, workload: str, *blocked: float) -> TrialResult:
    samples = [("blocked", "s", seconds, 4.0 * number) for number, seconds in enumerate(blocked)]
    samples += [("outage", "s", 1.0, 4.0 * number) for number in range(len(blocked)) if workload == LINK]
    return trial(cell(stack, workload=workload), samples)


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


def test_workloads_without_events_have_no_picture() -> None:
    assert recoveries.figures(view_of(record([trial(cell("gre", workload="connect"), [("connect", "s", 1.0)])]))) == []
