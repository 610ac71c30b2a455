"""The labs, by what a plan calls them."""

import pytest

from tunbench.labs import registry as labs
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.model import LAB_CLOCKS


@pytest.mark.parametrize(
    ("kind", "clock", "lab"),
    [("vm", "virtual", VmLab("virtual")), ("vm", "real", VmLab("real")), ("native", "real", NativeLab())],
)
def test_a_lab_is_chosen_by_its_name(kind: str, clock: str, lab: object) -> None:
    assert labs.lab(kind, clock) == lab


def test_every_lab_that_a_plan_may_ask_for_is_there() -> None:
    assert labs.LABS.keys() == LAB_CLOCKS.keys()
    assert all(labs.lab(kind, clock).clock == clock for kind, clocks in LAB_CLOCKS.items() for clock in clocks)
    assert all(labs.lab(kind, clocks[0]).kind == kind for kind, clocks in LAB_CLOCKS.items())
