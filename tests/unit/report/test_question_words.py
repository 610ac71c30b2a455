"""Whatever stands on the first screen has a name in words."""

import pytest

from tunbench.analysis import metrics
from tunbench.analysis.findings.questions import ASKED, Asked
from tunbench.report.question_words import EVENTS, NAMES, name
from tunbench.runner import registry
from tunbench.runner.catalogue import metrics_by_name
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.workloads import recover


@pytest.mark.parametrize("workload", [*registry.workload_names(), BRING_UP])
def test_every_workload_has_a_question_and_each_of_its_questions_a_name(workload: str) -> None:
    shown = [metric for metric in ASKED if metric in metrics.declared(workload)]
    assert shown
    assert [metric for metric in shown if (workload, metric) not in NAMES] == []


def test_no_name_is_of_what_is_not_there() -> None:
    assert set(ASKED) <= set(metrics_by_name())
    assert {metric for _, metric in NAMES} == set(ASKED)
    assert len(set(NAMES.values())) == len(NAMES)


def test_every_event_is_in_words() -> None:
    assert set(EVENTS) == set(recover.EVENTS)


@pytest.mark.parametrize(
    ("pair", "words"),
    [("a-b", "TCP throughput a→b"), ("host-a-host-b", "TCP throughput host-a→host-b"), ("", "TCP throughput")],
)
def test_a_throughput_says_from_where_to_where(pair: str, words: str) -> None:
    asked = Asked("iperf3-tcp", "throughput", "bit/s", pair, "host-b")
    assert name(asked, [asked]) == words


def test_a_cost_says_which_way_where_both_were_measured() -> None:
    there, back = (Asked(workload, "cost", "s/B", "a-b", "lab") for workload in ("iperf3-tcp", "iperf3-tcp:reverse=on"))
    assert [name(one, [there, back]) for one in (there, back)] == [
        "cost of a byte of TCP a→b",
        "cost of a byte of TCP b→a",
    ]
    assert name(there, [there]) == "cost of a byte of TCP"
