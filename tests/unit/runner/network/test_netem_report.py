import json

import pytest
from scipy.stats import binom

from tests.helpers.fakes import captured
from tests.helpers.netem import ALL_TERMS, CAPTURED, EVERYTHING, HIGH, MANY, MANY_TERMS, OTHER_TERMS, OTHERS, terms
from tunbench.journal import validation
from tunbench.plan.axes.profile import shipped
from tunbench.runner.declare.netem_terms import number
from tunbench.runner.network.netem_report import deviations, overflow, read_back
from tunbench.runner.network.qdiscs import counters

LOSS = captured("qdisc-loss.json")


def test_what_the_kernel_installed_is_what_was_asked() -> None:
    assert deviations(shipped()["high"].forward, CAPTURED[HIGH]) == []
    assert deviations(terms(**ALL_TERMS), CAPTURED[EVERYTHING]) == []
    assert deviations(terms(**MANY_TERMS), CAPTURED[MANY]) == []
    assert deviations(terms(**OTHER_TERMS), CAPTURED[OTHERS]) == []
    assert deviations({}, {}) == []


@pytest.mark.parametrize("name", [name for name in MANY_TERMS if name != "distribution"])
def test_every_term_is_compared(name: str) -> None:
    asked = terms(**MANY_TERMS)
    other = {**asked, name: number(asked, name) * 2 + 1e-6}
    assert [one.partition(":")[0] for one in deviations(other, CAPTURED[MANY])] == [name]


@pytest.mark.parametrize("name", [name for name in OTHER_TERMS if "distribution" not in name])
def test_every_other_term_is_compared(name: str) -> None:
    asked = terms(**OTHER_TERMS)
    other = {**asked, name: number(asked, name) * 2}
    assert [one.partition(":")[0] for one in deviations(other, CAPTURED[OTHERS])] == [name]


def test_what_is_rounded_is_read_back_and_is_no_deviation() -> None:
    rounded = {"delay": 100e-6, "jitter": 33e-6}
    assert deviations(rounded, CAPTURED["delay 100us 33us"]) == []
    assert read_back(CAPTURED["delay 100us 33us"])["jitter"] == 32e-6
    model = {"gemodel_p": 0.0123456789, "gemodel_r": 0.1, "gemodel_1-h": 0.666666666}
    assert deviations(model, CAPTURED["loss gemodel 1.23456789% 10% 66.6666666%"]) == []


def test_a_jitter_that_the_kernel_shortens_is_told() -> None:
    asked = {"delay": 10.0, "jitter": 60.0}
    assert deviations(asked, CAPTURED["delay 10s 60s"]) == ["jitter: asked for 60, installed is 2.14748"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delay": 0.006002}, "delay: asked for 0.006002, installed is 0.006"),
        ({"loss": 0.026}, "loss: asked for 0.026, installed is 0.025"),
        ({"reorder_correlation": 0.25}, "reorder_correlation: asked for 0.25, installed is 0.5"),
        ({"duplicate": 0.01}, "duplicate: asked for 0.01, installed is 0"),
        ({"corrupt": 1e-8}, "corrupt: asked for 1e-08, installed is 0"),
        ({"gap": 3}, "gap: asked for 3, installed is 1"),
        ({"ecn": 1}, "ecn: asked for 1, installed is 0"),
    ],
)
def test_a_deviation_is_told(changed: dict[str, float], message: str) -> None:
    assert deviations({**shipped()["high"].forward, **changed}, CAPTURED[HIGH]) == [message]


def test_nothing_installed_deviates_in_every_term() -> None:
    assert len(deviations(shipped()["high"].forward, {})) == 6


@pytest.mark.parametrize("words", CAPTURED)
def test_whatever_the_kernel_installs_may_stand_in_a_journal(words: str) -> None:
    installed = {**CAPTURED[words], "terms": read_back(CAPTURED[words])}
    event = {"event": "impairment", "asked": terms(**MANY_TERMS), "installed": installed}
    validation.check(json.loads(json.dumps(event)), validation.EVENT_CHECKS)


def test_a_full_queue_overflows_and_a_loss_that_was_asked_for_does_not() -> None:
    [full], [lossy] = json.loads(captured("qdisc-full.json")), json.loads(LOSS)
    assert overflow({"delay": 0.05}, full) == (
        "1727 of 1941 packets were dropped, more than a loss of 0.000% explains: there was no room"
    )
    assert overflow({"loss": 0.1}, lossy) == ""
    assert overflow({"loss": 0.001}, lossy) != ""
    assert overflow({}, counters({})) == ""


@pytest.mark.parametrize(("loss", "packets"), [(0.01, 2), (0.01, 100), (0.001, 2000), (0.3, 5000)])
def test_an_unlucky_draw_does_not_overflow(loss: float, packets: int) -> None:
    # The least number of drops that chance exceeds once in 10⁷ times: there are some hundred queues in a run.
    unlucky = int(binom.isf(1e-7, packets, loss))
    assert unlucky > loss * packets
    for drops, warned in ((unlucky, False), (4 * unlucky + 16, True)):
        counted = {"drops": drops, "packets": max(0, packets - drops), "bytes": 0, "qlen": 0}
        assert bool(overflow({"loss": loss}, counted)) == warned


def test_the_mean_loss_of_a_model_is_what_overflow_goes_by() -> None:
    [lossy] = json.loads(LOSS)
    assert overflow({"gemodel_p": 0.01, "gemodel_r": 0.2}, lossy) == ""
    assert "more than a loss of 0.100%" in overflow({"state_p13": 0.001}, lossy)
    assert overflow({"loss": 0.05, "loss_correlation": 0.3}, lossy) == ""
    assert overflow({"loss": 0.9, "loss_correlation": 0.3}, {**lossy, "drops": 10_000}) == ""
