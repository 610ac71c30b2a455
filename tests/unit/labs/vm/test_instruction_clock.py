"""A speed is QEMU's shift times what the kernel is told of its clock."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.labs.vm.instruction_clock import InstructionClock, instruction_clock
from tunbench.plan.axes.machine import MAX_SPEED, MIN_SPEED


@given(st.integers(MIN_SPEED, MAX_SPEED))
def test_both_together_are_the_speed(speed: int) -> None:
    clock = instruction_clock(speed)
    assert Fraction(1000, 2**clock.shift) * Fraction(clock.tsc_early_khz, 1_000_000) == speed


@given(st.integers(MIN_SPEED, MAX_SPEED))
def test_a_second_of_the_kernel_is_never_shorter_than_one_of_qemu(speed: int) -> None:
    # Its timers would come late. Nor is it twice as long where a smaller shift would do.
    clock = instruction_clock(speed)
    assert clock.tsc_early_khz >= 1_000_000
    assert clock.shift == 0 or clock.tsc_early_khz < 2_000_000


@pytest.mark.parametrize(
    ("speed", "clock"),
    [
        (1000, (0, 1_000_000)),
        (500, (1, 1_000_000)),
        (250, (2, 1_000_000)),
        (125, (3, 1_000_000)),
        (600, (1, 1_200_000)),
        (290, (2, 1_160_000)),
        (50, (5, 1_600_000)),
        (4000, (0, 4_000_000)),
        (20_000, (0, 20_000_000)),
    ],
)
def test_known_speeds(speed: int, clock: tuple[int, int]) -> None:
    assert instruction_clock(speed) == InstructionClock(*clock)
