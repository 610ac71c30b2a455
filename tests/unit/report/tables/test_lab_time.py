"""Where the time went: phases in parts, with their shares."""

import pytest

from tunbench.report.tables import lab_time


def test_phases_are_put_into_parts() -> None:
    found = lab_time.parts({"boot": 6.0, "nodes": 1.0, "prepare": 1.0, "up": 1.0, "proof": 1.0, "trial": 90.0})
    assert [(part.name, part.seconds, round(part.share, 2)) for part in found] == [
        *(("boot", 7.0, 0.07), ("bring-up", 2.0, 0.02), ("proof", 1.0, 0.01), ("measure", 90.0, 0.9)),
    ]
    assert found[-1].text == "measure 1\N{NO-BREAK SPACE}min 30\N{NO-BREAK SPACE}s (90\N{NO-BREAK SPACE}%)"
    assert len({part.colour for part in found}) == 4


def test_a_phase_that_is_not_known_is_not_lost() -> None:
    assert [(part.name, part.share) for part in lab_time.parts({"trial": 3.0, "sleep": 1.0})] == [
        *(("measure", 0.75), ("other", 0.25)),
    ]


@pytest.mark.parametrize("durations", [{}, {"boot": 0.0}])
def test_without_time_there_are_no_parts(durations: dict[str, float]) -> None:
    assert lab_time.parts(durations) == []
