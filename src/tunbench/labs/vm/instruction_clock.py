"""Any speed of a model machine from two numbers: QEMU's shift, and the rate at which the kernel thinks its TSC counts.

QEMU lets an instruction take 2 ** shift ns of its clock, which the time stamp counter (TSC) counts as well: powers of
two below a billion instructions a second. The kernel takes its time from the TSC. Where it is told that the TSC counts
more than a billion times a second, its second is longer than QEMU's by as much, and has as many more instructions.
HPET, which counts by QEMU's clock, would fire its timers early: such a machine has the APIC's (apic_timer.py).
"""

from typing import NamedTuple

from tunbench.plan.axes.machine import FULL_SPEED

TSC_KHZ = 1_000_000
"""Thousand times a second of QEMU's clock that the TSC counts: it counts ns."""

DOUBTED_KHZ = range(TSC_KHZ + 1, TSC_KHZ * 100 // 99 + 1)
"""Rates that the kernel does not keep: a second after its boot it measures the TSC against HPET, and believes that
where it differs by 1 % of what it was told, at most (`tsc_refine_calibration_work` of arch/x86/kernel/tsc.c)."""


class InstructionClock(NamedTuple):
    """`-icount shift=` of QEMU, and `tsc_early_khz=` of the kernel: thousand counts in a second of the kernel's."""

    shift: int
    tsc_early_khz: int

    @property
    def is_qemus(self) -> bool:
        """Whether a second of the kernel is one of QEMU's."""
        return self.tsc_early_khz == TSC_KHZ


def instruction_clock(speed: int) -> InstructionClock:
    """The clock of a machine of so many million instructions a second.

    The power of two at or below it by the shift, FULL_SPEED at most; the rest by the TSC, so that it only speeds up.
    Where the kernel would not believe the rest, half the power of two and twice the rest.
    """
    shift = 0
    while _told_khz(speed, shift) < TSC_KHZ or _told_khz(speed, shift) in DOUBTED_KHZ:
        shift += 1
    return InstructionClock(shift, _told_khz(speed, shift))


def _told_khz(speed: int, shift: int) -> int:
    return (speed << shift) * TSC_KHZ // FULL_SPEED
