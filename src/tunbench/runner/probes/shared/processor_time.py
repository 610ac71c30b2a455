"""How long the processors of the machine were busy, and with what."""

import re
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.node.node import Node

PROC = Path("/proc")
STAT = PROC / "stat"

TICK = 0.01
"""Seconds of a tick in /proc/stat: USER_HZ is 100 on all architectures of Linux that Debian has."""

PROCESSOR_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""The columns of /proc/stat: proc(5)."""

NANO = 1e-9
"""Seconds of a nanosecond."""

CORE = re.compile(r"^cpu: (\d+)$", re.ASCII | re.MULTILINE)
IDLE = re.compile(r"\.(?:idle_sleeptime|iowait_sleeptime)\s*: (\d+) nsecs", re.ASCII)
MOMENT = re.compile(r"^now at (\d+) nsecs$", re.ASCII | re.MULTILINE)
# Without ticks while it is idle, a core's idle time is measured, not sampled: `.nohz_mode`, `.nohz` in newer kernels.
UPTIME = re.compile(r"(\d+\.\d\d) ", re.ASCII)
SWITCHES = re.compile(r"^ctxt (\d+)$", re.ASCII | re.MULTILINE)
TICKLESS = re.compile(r"\.nohz(?:_mode)?\s*: [12]$", re.MULTILINE)


class Clock(NamedTuple):
    """A moment, and how long each core had been idle by then, in seconds."""

    at: float
    idle: dict[str, float]


class Busy(NamedTuple):
    """Seconds that passed between two moments, and those in which each core was not idle."""

    elapsed: float
    by_core: dict[str, float]

    @property
    def total(self) -> float:
        """Seconds in which cores were busy, summed over them."""
        return sum(self.by_core.values())


def clock(machine: Node) -> Clock:
    """The machine's idle time, to the nanosecond where the kernel shows that, else to the tick."""
    visited = machine.visit_cores()
    precise = idle_of_timers(machine.read_if_there(PROC / "timer_list"))
    if precise and precise.idle.keys() <= visited:
        return precise
    return idle_of_ticks(machine.read_if_there(PROC / "uptime"), machine.read_if_there(STAT))


def between(before: Clock, after: Clock) -> Busy:
    """What passed between two moments; a core that came or went is left out."""
    elapsed = after.at - before.at
    cores = before.idle.keys() & after.idle.keys()
    busy = {core: elapsed - (after.idle[core] - before.idle[core]) for core in sorted(cores, key=_number)}
    return Busy(elapsed, {core: min(max(0.0, value), elapsed) for core, value in busy.items()})


def idle_of_timers(text: str) -> Clock | None:
    """Reads /proc/timer_list; None where it is not shown, or where this kernel does not keep idle time in it.

    A core's idle time ends as an interrupt comes, and begins anew behind its softirqs: kernel/time/tick-sched.c,
    tick_nohz_irq_enter() and tick_nohz_irq_exit().
    """
    moment = MOMENT.search(text)
    pieces = CORE.split(text)[1:]
    found = {f"cpu{core}": IDLE.findall(piece) for core, piece in zip(pieces[::2], pieces[1::2], strict=True)}
    idle = {core: sum(int(value) for value in values) * NANO for core, values in found.items() if values}
    return Clock(int(moment[1]) * NANO, idle) if moment and idle and TICKLESS.search(text) else None


def idle_of_ticks(uptime: str, stat: str) -> Clock:
    """Reads /proc/uptime and /proc/stat, whose resolution is a tick of 10 ms a core. Raises ValueError."""
    found = UPTIME.match(uptime)
    if uptime and not found:
        raise ValueError(f"/proc/uptime is {uptime[:80]!r}")
    cores = {core: ticks["idle"] + ticks["iowait"] for core, ticks in times(stat).items() if core != "cpu"}
    return Clock(float(found[1]) if found else 0.0, cores)


def times(stat: str) -> dict[str, dict[str, float]]:
    """The seconds of each kind in /proc/stat: of `cpu` and of each core. Raises ValueError."""
    if not stat.isascii():
        raise ValueError("/proc/stat is no ASCII")
    rows = [line.split() for line in stat.splitlines() if re.match(r"cpu\d* ", line)]
    return {
        row[0]: {kind: int(value) * TICK for kind, value in zip(PROCESSOR_TIMES, row[1:9], strict=True)} for row in rows
    }


def switches(stat: str) -> int:
    """The context switches since boot in /proc/stat. Raises ValueError."""
    found = SWITCHES.search(stat)
    if stat and not found:
        raise ValueError("/proc/stat shows no context switches")
    return int(found[1]) if found else 0


def _number(core: str) -> int:
    return int(core.removeprefix("cpu"))
