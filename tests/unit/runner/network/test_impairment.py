import json
from typing import Any

import pytest

from tests.helpers.fakes import captured
from tunbench.journal import validation
from tunbench.plan.axes.profile import read_profile, shipped
from tunbench.runner.declare.netem_terms import TERMS, number
from tunbench.runner.network.impairment import deviations, limit, netem, read_back

# What `tc -s -j qdisc show` printed after `tc qdisc replace … netem` with these words: iproute2 6.1, Linux 6.1.
CAPTURED: dict[str, dict[str, Any]] = {row["netem"]: row["shown"][0] for row in json.loads(captured("tc-netem.json"))}

HIGH = "limit 17500 delay 6000us 15000us loss random 2.5% reorder 5% 50%"
MANY = (
    "limit 1000 delay 10000us 1000us 25% distribution normal loss gemodel 1% 10% 70% 0.1% ecn duplicate 1% 25% "
    "corrupt 1% 50% reorder 25% 50% gap 5 rate 1000000bit 20 53 5 slot 1000000ns 5000000ns packets 10 bytes 3000"
)
OTHERS = (
    "limit 1000 delay 10000us 1000us distribution pareto loss state 1% 10% 5% 50% 1% rate 1000000bit -14 "
    "slot distribution normal 10000000ns 2000000ns packets 5"
)
MANY_TERMS = {
    **{"delay": "10ms", "jitter": "1ms", "delay_correlation": "25%", "distribution": "normal"},
    **{"gemodel_p": "1%", "gemodel_r": "10%", "gemodel_1-h": "70%", "gemodel_1-k": "0.1%", "ecn": "on"},
    **{"duplicate": "1%", "duplicate_correlation": "25%", "corrupt": "1%", "corrupt_correlation": "50%"},
    **{"reorder": "25%", "reorder_correlation": "50%", "gap": "5"},
    **{"rate": "1M", "packetoverhead": "20", "cellsize": "53", "celloverhead": "5"},
    **{"slot_min_delay": "1ms", "slot_max_delay": "5ms", "slot_packets": "10", "slot_bytes": "3000"},
}
OTHER_TERMS = {
    **{"delay": "10ms", "jitter": "1ms", "distribution": "pareto", "rate": "1M", "packetoverhead": "-14"},
    **{"state_p13": "1%", "state_p31": "10%", "state_p32": "5%", "state_p23": "50%", "state_p14": "1%"},
    **{"slot_distribution": "normal", "slot_delay": "10ms", "slot_jitter": "2ms", "slot_packets": "5"},
}
EVERYTHING = "limit 1000 delay 20000us 2000us 25% loss random 0.1% 30% duplicate 1% corrupt 0.5% rate 50000000bit"
ALL_TERMS = {
    "delay": "20ms",
    "jitter": "2ms",
    "delay_correlation": "25%",
    "loss": "0.1%",
    "loss_correlation": "30%",
    "duplicate": "1%",
    "corrupt": "0.5%",
    "rate": "50M",
}


def terms(**written: str) -> dict[str, float | str]:
    return dict(read_profile({"name": "any", **written}).forward)


def test_arguments_of_the_shipped_profiles() -> None:
    assert " ".join(netem(shipped()["high"].forward)) == HIGH
    assert netem(shipped()["baseline"].forward) == ["limit", "1000"]


def test_arguments_of_every_term() -> None:
    assert " ".join(netem(terms(**ALL_TERMS))) == EVERYTHING
    assert " ".join(netem(terms(**MANY_TERMS))) == MANY
    assert " ".join(netem(terms(**OTHER_TERMS))) == OTHERS
    assert {*ALL_TERMS, *MANY_TERMS, *OTHER_TERMS, "limit"} == {*TERMS}


def test_terms_that_are_not_written_are_as_tc_assumes_them() -> None:
    assert " ".join(netem(terms(gemodel_p="1%"))) == "limit 1000 loss gemodel 1% 99% 100% 0%"
    assert " ".join(netem(terms(state_p14="1%"))) == "limit 1000 loss state 0% 100% 0% 100% 1%"
    assert " ".join(netem(terms(slot_min_delay="1ms"))) == "limit 1000 slot 1000000ns 1000000ns"
    assert netem(terms(gemodel_p="1%", **{"gemodel_1-h": "0%"}))[-2:] == ["0%", "0%"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"distribution": "normal"}, "distribution does nothing without jitter: write jitter as well"),
        ({"gemodel_r": "1%"}, "gemodel_r does nothing without gemodel_p"),
        ({"ecn": "on"}, "ecn does nothing without loss or gemodel_p or state_p13 or state_p14"),
        ({"gap": "3"}, "gap does nothing without reorder"),
        ({"slot_bytes": "3"}, "slot_bytes does nothing without slot_min_delay or slot_delay"),
        ({"rate": "1M", "celloverhead": "5"}, "celloverhead does nothing without cellsize"),
        ({"loss": "1%", "gemodel_p": "1%"}, "netem has either loss or gemodel_p: take one of them away"),
        ({"gemodel_p": "1%", "state_p13": "1%"}, "netem has either gemodel_p or state_p13"),
        ({"slot_min_delay": "1ms", "slot_delay": "1ms", "slot_jitter": "1ms"}, "either slot_min_delay or slot_delay"),
        ({"slot_min_delay": "2ms", "slot_max_delay": "1ms"}, "slot_max_delay is less than slot_min_delay"),
        ({"state_p13": "1%", "state_p32": "5%"}, "state_p31 is 1 - state_p13 where it is not written"),
        ({"state_p13": "60%", "state_p14": "50%"}, "state_p13 and state_p14 are more than 100% together$"),
        ({"rate": "1M", "cellsize": "48", "celloverhead": "-48"}, "celloverhead takes away all of cellsize"),
        ({"delay": "10s", "jitter": "3s"}, "out of range: allowed is 0 to 2.147"),
        ({"delay": "1s", "jitter": "1s", "distribution": "gamma"}, "is not one of uniform, normal, pareto"),
    ],
)
def test_what_netem_would_take_another_way_is_refused(written: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        terms(**written)


def test_a_switch_may_be_a_boolean() -> None:
    read = read_profile({"name": "any", "loss": "1%", "ecn": True, "reverse": {"loss": "1%", "ecn": False}})
    assert (read.forward["ecn"], read.reverse["ecn"]) == (1, 0)


def test_jitter_stands_behind_a_delay() -> None:
    assert netem({"jitter": 0.002})[2:] == ["delay", "0us", "2000us"]


@pytest.mark.parametrize(
    ("given", "packets"),
    [
        ({}, 1000),
        ({"delay": 0.001}, 1000),
        ({"delay": 0.006, "jitter": 0.015}, 17500),
        ({"delay": 0.1, "rate": 1e9}, 8334),
        ({"delay": 0.1, "limit": 7}, 7),
        ({"delay": 0.006, "jitter": 0.015, "distribution": "normal"}, 54999),
        ({"slot_min_delay": 0.1, "rate": 1e9}, 8334),
    ],
)
def test_limit_covers_rate_times_longest_delay(given: dict[str, float], packets: int) -> None:
    assert limit(given) == packets


def test_what_the_kernel_installed_is_what_was_asked() -> None:
    assert deviations(shipped()["high"].forward, CAPTURED[HIGH]) == []
    assert deviations(terms(**ALL_TERMS), CAPTURED[EVERYTHING]) == []
    assert deviations(terms(rate="1G"), CAPTURED["limit 1000 rate 1000000000bit"]) == []
    assert deviations(terms(**MANY_TERMS), CAPTURED[MANY]) == []
    assert deviations(terms(**OTHER_TERMS), CAPTURED[OTHERS]) == []
    assert deviations({}, {}) == []


@pytest.mark.parametrize("name", [name for name in MANY_TERMS if name != "distribution"])
def test_every_term_is_compared(name: str) -> None:
    asked = {"limit": 1000.0, **terms(**MANY_TERMS)}
    other = {**asked, name: number(asked, name) * 2 + 1e-6}
    assert [one.partition(":")[0] for one in deviations(other, CAPTURED[MANY])] == [name]


@pytest.mark.parametrize("name", [name for name in OTHER_TERMS if "distribution" not in name])
def test_every_other_term_is_compared(name: str) -> None:
    asked = {"limit": 1000.0, **terms(**OTHER_TERMS)}
    other = {**asked, name: number(asked, name) * 2}
    assert [one.partition(":")[0] for one in deviations(other, CAPTURED[OTHERS])] == [name]


def test_what_is_rounded_is_read_back_and_is_no_deviation() -> None:
    rounded = {"delay": 100e-6, "jitter": 33e-6, "limit": 1000}
    assert deviations(rounded, CAPTURED["delay 100us 33us"]) == []
    assert read_back(CAPTURED["delay 100us 33us"])["jitter"] == 32e-6
    assert deviations({"rate": 1234567.0}, CAPTURED["rate 1234567bit"]) == []
    assert read_back(CAPTURED["rate 1234567bit"])["rate"] == 1234560
    model = {"gemodel_p": 0.0123456789, "gemodel_r": 0.1, "gemodel_1-h": 0.666666666}
    assert deviations(model, CAPTURED["loss gemodel 1.23456789% 10% 66.6666666%"]) == []


def test_a_jitter_that_the_kernel_shortens_is_told() -> None:
    asked = {"delay": 10.0, "jitter": 60.0, "limit": 1000}
    assert deviations(asked, CAPTURED["delay 10s 60s"]) == ["jitter: asked for 60, installed is 2.14748"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delay": 0.006002}, "delay: asked for 0.006002, installed is 0.006"),
        ({"loss": 0.026}, "loss: asked for 0.026, installed is 0.025"),
        ({"reorder_correlation": 0.25}, "reorder_correlation: asked for 0.25, installed is 0.5"),
        ({"duplicate": 0.01}, "duplicate: asked for 0.01, installed is 0"),
        ({"corrupt": 1e-8}, "corrupt: asked for 1e-08, installed is 0"),
        ({"rate": 1e6}, "rate: asked for 1e+06, installed is 0"),
        ({"gap": 3}, "gap: asked for 3, installed is 1"),
        ({"ecn": 1}, "ecn: asked for 1, installed is 0"),
        ({"limit": 7}, "limit: asked for 7, installed is 17500"),
    ],
)
def test_a_deviation_is_told(changed: dict[str, float], message: str) -> None:
    assert deviations({**shipped()["high"].forward, "limit": 17500, **changed}, CAPTURED[HIGH]) == [message]


def test_nothing_installed_deviates_in_every_term() -> None:
    assert len(deviations(shipped()["high"].forward, {})) == 7


@pytest.mark.parametrize("words", CAPTURED)
def test_whatever_the_kernel_installs_may_stand_in_a_journal(words: str) -> None:
    installed = {**CAPTURED[words], "terms": read_back(CAPTURED[words])}
    event = {"event": "impairment", "asked": terms(**MANY_TERMS), "installed": installed}
    validation.check(json.loads(json.dumps(event)), validation.EVENTS)
