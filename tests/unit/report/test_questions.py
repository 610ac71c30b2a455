"""Which question of a report each metric answers, and their order."""

import pytest

from tunbench.report import questions
from tunbench.report.sections import SECTIONS
from tunbench.runner.declare.metrics import Question


def test_every_question_is_a_section_in_this_order() -> None:
    names = [section.id for section in SECTIONS]
    assert [name for name in names if name in list(Question)] == list(Question)


@pytest.mark.parametrize(
    ("metric", "unit", "question"),
    [
        ("throughput", "bit/s", Question.FAST),
        ("retransmits", "count", Question.FAST),
        ("rtt-both", "s", Question.LATE),
        ("loss", "ratio", Question.LATE),
        ("process-time", "s", Question.COSTLY),
        ("connect", "s", Question.RECOVERS),
        ("idle-rate", "bit/s", Question.WIRE),
        # Of another version.
        ("speed", "bit/s", Question.FAST),
        ("wait", "s", Question.LATE),
        ("colour", "count", Question.OTHER),
    ],
)
def test_a_metric_answers_the_question_that_it_declares_or_that_of_its_unit(
    metric: str, unit: str, question: Question
) -> None:
    assert questions.question(metric, unit) == question


def test_what_a_question_is_about_is_declared() -> None:
    main = {name for name in ("throughput", "throughput-up", "rtt", "loss", "cost", "speed") if questions.is_main(name)}
    assert main == {"throughput", "throughput-up", "rtt", "cost"}


def test_metrics_stand_in_the_order_of_workloads_as_each_declares_them() -> None:
    measured = [
        ("iperf3-tcp", "speed"),
        ("iperf3-tcp", "cost"),
        ("iperf3-tcp", "tcp-rtt"),
        ("iperf3-tcp", "throughput"),
    ]
    measured += [("ping:count=9", "loss"), ("ping:count=9", "rtt")]
    ranks = questions.ranks(measured, ["ping:count=9", "iperf3-tcp"])
    assert list(ranks) == ["rtt", "loss", "throughput", "tcp-rtt", "cost", "speed"]


def test_what_is_drawn_over_profiles_is_declared() -> None:
    *first, loss, delay = questions.followed()
    assert set(first) == {
        *("throughput", "goodput", "request-rate", "transactions", "duration"),
        *("rtt", "latency", "handshake", "delivered"),
    }
    assert (loss, delay) == ("loss", "one-way-delay")


def test_what_is_drawn_over_options_besides_is_declared() -> None:
    assert questions.followed_over_options() == [*questions.followed(), "jitter", "ipdv", "cost"]


def test_what_a_run_is_summed_up_by_is_declared() -> None:
    shown = {question: questions.at_a_glance(question) for question in Question}
    assert {question: names for question, names in shown.items() if names} == {
        Question.FAST: ["throughput"],
        Question.LATE: ["rtt", "delivered", "loss"],
        Question.COSTLY: ["cost"],
    }


@pytest.mark.parametrize(
    ("measured", "rate"),
    [
        (["goodput", "throughput"], "throughput"),
        (["rtt", "goodput"], "goodput"),
        (["transactions", "rtt"], "transactions"),
        (["rtt"], "throughput"),
    ],
)
def test_without_a_throughput_another_main_metric_tells_how_fast(measured: list[str], rate: str) -> None:
    assert questions.rate(measured) == rate
