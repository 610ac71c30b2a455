"""The E-model against the numbers that ITU-T has published of it."""

import pytest

from tunbench.analysis import e_model
from tunbench.analysis.e_model import opinion, rating


def test_without_impairment_r_is_what_all_defaults_come_to() -> None:
    """ITU-T G.107, section 7.7: 93.2. Others who made a program of it have 93.206208."""
    assert rating(0.0, 0.0) == pytest.approx(93.206208, abs=1e-6)


@pytest.mark.parametrize(("r", "mos"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_opinions_are_those_of_the_table(r: float, mos: float) -> None:
    """ITU-T G.107, table B.1."""
    assert opinion(r) == pytest.approx(mos, abs=0.0065)


@pytest.mark.parametrize(("r", "mos"), [(-10, 1), (0, 1), (100, 4.5), (120, 4.5)])
def test_opinions_end_at_1_and_4_and_a_half(r: float, mos: float) -> None:
    assert opinion(r) == mos


def test_half_of_what_a_codec_can_lose_is_lost_where_as_much_as_its_robustness_is() -> None:
    """Ie,eff = 95 Ppl ÷ (Ppl + Bpl), 7-29: at Ppl = Bpl it is 47.5."""
    assert rating(0.0, 0.0) - rating(0.0, e_model.ROBUSTNESS / 100) == pytest.approx(95 / 2)
    assert rating(0.0, 0.0) - rating(0.0, 1.0) == pytest.approx(95 * 100 / 125.1)


def test_a_delay_beyond_100_ms_costs_what_7_27_says_besides_its_echoes() -> None:
    """At 200 ms X is 1, so that Idd is 25 (2^(1/6) − 3 (1 + 3^−6)^(1/6) + 2) = 3.05."""
    assert late(200) == pytest.approx(25 * (2 ** (1 / 6) - 3 * (1 + 3**-6) ** (1 / 6) + 2))
    assert late(100) == 0


def late(milliseconds: float) -> float:
    """What Id has of a conversation that comes late: with echoes that are as long as if nobody minded a delay."""
    noise = e_model._noise()
    signal = 15 - 1.5 * (e_model.LOUDNESS_SEND + noise)
    with pytest.MonkeyPatch.context() as patch:
        whole = e_model._delayed(signal, noise, milliseconds)
        patch.setattr(e_model, "FREE_DELAY", float("inf"))
        return whole - e_model._delayed(signal, noise, milliseconds)


def test_longer_and_lossier_is_worse() -> None:
    by_delay = [rating(ms / 1000, 0) for ms in range(0, 1000, 10)]
    by_loss = [rating(0.05, share / 100) for share in range(101)]
    assert by_delay == sorted(by_delay, reverse=True) and by_loss == sorted(by_loss, reverse=True)
