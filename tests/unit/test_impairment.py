import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.plan.profile import read_profile, shipped
from tunbench.runner.impairment import deviations, echo_loss, limit, mean_delay, netem

# What `tc -s -j qdisc show` printed after `tc qdisc replace … netem` with these words: iproute2 6.1, Linux 6.1.
CAPTURED: dict[str, dict[str, Any]] = {
    row["netem"]: row["shown"][0]
    for row in json.loads((Path(__file__).parent / "captured" / "tc-netem.json").read_text())
}

HIGH = "limit 17500 delay 6000us 15000us loss random 2.5% reorder 5% 50%"
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


def terms(**written: str) -> dict[str, float]:
    return dict(read_profile({"name": "any", **written}).forward)


def test_arguments_of_the_shipped_profiles() -> None:
    assert " ".join(netem(shipped()["high"].forward)) == HIGH
    assert netem(shipped()["baseline"].forward) == ["limit", "1000"]


def test_arguments_of_every_term() -> None:
    assert " ".join(netem(terms(**ALL_TERMS))) == EVERYTHING


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
    ],
)
def test_limit_covers_rate_times_longest_delay(given: dict[str, float], packets: int) -> None:
    assert limit(given) == packets


def test_what_the_kernel_installed_is_what_was_asked() -> None:
    assert deviations(shipped()["high"].forward, CAPTURED[HIGH]) == []
    assert deviations(terms(**ALL_TERMS), CAPTURED[EVERYTHING]) == []
    assert deviations(terms(rate="1G"), CAPTURED["limit 1000 rate 1000000000bit"]) == []
    assert deviations({}, {}) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delay": 0.007}, "delay: asked for 0.007, installed is 0.006"),
        ({"loss": 0.026}, "loss: asked for 0.026, installed is 0.025"),
        ({"reorder_correlation": 0.25}, "reorder_correlation: asked for 0.25, installed is 0.5"),
        ({"duplicate": 0.01}, "duplicate: asked for 0.01, installed is 0"),
        ({"rate": 1e6}, "rate: asked for 1e+06, installed is 0"),
    ],
)
def test_a_deviation_is_told(changed: dict[str, float], message: str) -> None:
    assert deviations({**shipped()["high"].forward, **changed}, CAPTURED[HIGH]) == [message]


def test_nothing_installed_deviates_in_every_term() -> None:
    assert len(deviations(shipped()["high"].forward, {})) == 5


@pytest.mark.parametrize(
    ("delay", "jitter", "mean"),
    [(0.004, 0.007, 0.00432), (0.006, 0.015, 0.00735), (0.002, 0.002, 0.002), (0.02, 0, 0.02), (0, 0.002, 0.0005)],
)
def test_mean_delay(delay: float, jitter: float, mean: float) -> None:
    assert mean_delay(delay, jitter) == pytest.approx(mean, abs=5e-6)


def test_mean_delay_agrees_with_a_simulation() -> None:
    dice = random.Random(1)
    drawn = [max(0.0, dice.uniform(0.006 - 0.015, 0.006 + 0.015)) for _ in range(200_000)]
    assert mean_delay(0.006, 0.015) == pytest.approx(sum(drawn) / len(drawn), rel=0.01)


@given(delay=st.floats(0, 10), jitter=st.floats(0, 10))
def test_clipping_never_shortens_the_mean(delay: float, jitter: float) -> None:
    assert mean_delay(delay, jitter) >= delay * (1 - 1e-12)


def test_an_echo_is_lost_on_either_way() -> None:
    assert echo_loss(0.01, 0.01) == pytest.approx(1 - 0.99**2)
    assert echo_loss(0, 0.5) == 0.5
    assert echo_loss(0, 0) == 0
    assert echo_loss(1, 0) == 1
