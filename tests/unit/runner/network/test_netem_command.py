import pytest

from tests.helpers.netem import ALL_TERMS, EVERYTHING, HIGH, MANY, MANY_TERMS, OTHER_TERMS, OTHERS, terms
from tunbench.plan.axes.profile import read_profile, shipped
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.network.netem_command import arguments, limit


def test_arguments_of_the_shipped_profiles() -> None:
    assert " ".join(arguments(shipped()["high"].forward)) == f"limit 17500 {HIGH}"
    assert arguments(shipped()["baseline"].forward) == ["limit", "1000"]


def test_arguments_of_every_term() -> None:
    assert " ".join(arguments(terms(**ALL_TERMS))) == f"limit 18334 {EVERYTHING}"
    assert " ".join(arguments(terms(**MANY_TERMS))) == f"limit 15834 {MANY}"
    assert " ".join(arguments(terms(**OTHER_TERMS))) == f"limit 26667 {OTHERS}"
    assert {*ALL_TERMS, *MANY_TERMS, *OTHER_TERMS} == {*TERMS}


def test_terms_that_are_not_written_are_as_tc_assumes_them() -> None:
    assert " ".join(arguments(terms(gemodel_p="1%"))) == "limit 1000 loss gemodel 1% 99% 100% 0%"
    assert " ".join(arguments(terms(state_p14="1%"))) == "limit 1000 loss state 0% 100% 0% 100% 1%"
    assert " ".join(arguments(terms(slot_min_delay="1ms"))) == "limit 1000 slot 1000000ns 1000000ns"
    assert arguments(terms(gemodel_p="1%", **{"gemodel_1-h": "0%"}))[-2:] == ["0%", "0%"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"distribution": "normal"}, "distribution does nothing without jitter: write jitter as well"),
        ({"gemodel_r": "1%"}, "gemodel_r does nothing without gemodel_p"),
        ({"ecn": "on"}, "ecn does nothing without loss or gemodel_p or state_p13 or state_p14"),
        ({"gap": "3"}, "gap does nothing without reorder"),
        ({"slot_bytes": "3"}, "slot_bytes does nothing without slot_min_delay or slot_delay"),
        ({"loss": "1%", "gemodel_p": "1%"}, "netem has either loss or gemodel_p: take one of them away"),
        ({"gemodel_p": "1%", "state_p13": "1%"}, "netem has either gemodel_p or state_p13"),
        ({"slot_min_delay": "1ms", "slot_delay": "1ms", "slot_jitter": "1ms"}, "either slot_min_delay or slot_delay"),
        ({"slot_min_delay": "2ms", "slot_max_delay": "1ms"}, "slot_max_delay is less than slot_min_delay"),
        ({"state_p13": "1%", "state_p32": "5%"}, "state_p31 is 1 - state_p13 where it is not written"),
        ({"state_p13": "60%", "state_p14": "50%"}, "state_p13 and state_p14 are more than 100% together$"),
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
    assert arguments({"jitter": 0.002})[2:] == ["delay", "0us", "2000us"]


@pytest.mark.parametrize(
    ("given", "packets"),
    [
        ({}, 1000),
        ({"delay": 0.001}, 1000),
        ({"delay": 0.006, "jitter": 0.015}, 17500),
        ({"delay": 0.1}, 83334),
        ({"delay": 0.006, "jitter": 0.015, "distribution": "normal"}, 54999),
        ({"slot_min_delay": 0.1}, 83334),
    ],
)
def test_the_packets_that_come_together_in_the_longest_delay_have_room(given: dict[str, float], packets: int) -> None:
    assert limit(given) == packets
