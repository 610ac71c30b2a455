"""What disturbed a trial on the real clock: other processes, a hypervisor, a core that was throttled."""

import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tunbench.labs.real_time.core_distance import Cores, first_and_last_core
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.probes.shared.processor_time import TICK, times

PROC = Path("/proc")
SYS = Path("/sys")
"""Where the kernel shows processes and processors."""

NOISY_SHARE = 0.02
"""The part of the machine's processor time that others may have while a trial is measured."""

MIN_TAKEN_SECONDS = 3 * TICK
"""What others take of processor time, at least, before it is said: times of processes are counted in ticks."""

FIRST_CORE_CHARACTERS = 8192
"""They have the first core of /proc/cpuinfo in them: the kernel takes long to write it for hundreds."""

MOVED_APART_RATIO = 1.7
"""A round trip between cores that a hypervisor has moved apart ÷ the shortest one, at least."""

KERNEL_THREAD_FLAG = 0x00200000
"""PF_KTHREAD of include/linux/sched.h: a task of the kernel, which may well work for the lab."""

THROTTLE_COUNTERS = "devices/system/cpu/cpu*/thermal_throttle/*_throttle_count"
"""How often a core or package was too hot: Documentation/ABI/testing/sysfs-devices-system-cpu."""


class Reading(NamedTuple):
    """What there was at a moment: seconds of processor time by other processes and by others of a hypervisor.

    `throttled` counts how often cores were too hot. `apart` is how many seconds a byte took to another core and back,
    0 where nobody looked.
    """

    at: float
    others: float
    stolen: float
    throttled: int
    apart: float = 0.0


class Noise(NamedTuple):
    """What passed between two moments: seconds, and the parts of all processor time that others had.

    `apart` is the longer one of the two.
    """

    seconds: float
    others: float
    stolen: float
    throttled: int
    apart: float = 0.0


@contextmanager
def looking() -> Iterator[Callable[[], Reading]]:
    """What looks at this machine, and at how far its cores are apart where a hypervisor may move them."""
    with Cores(*first_and_last_core()) as cores:
        yield lambda: read(cores.round_trip() if under_hypervisor() else 0.0)


@contextmanager
def watching_noise(clock: str) -> Iterator["NoiseWatch | None"]:
    """What watches the machine while trials execute: nothing on the virtual clock, which nothing disturbs."""
    if clock == "virtual":
        yield None
        return
    with looking() as look:
        yield NoiseWatch(look)


def read(apart: float = 0.0) -> Reading:
    """Looks at all processes of this machine. Those of the run are this one and all that descends from it."""
    stat = times(text_if_there(PROC / "stat"))
    throttled = sum(int(text_if_there(path).strip() or 0) for path in SYS.glob(THROTTLE_COUNTERS))
    stolen = stat.get("cpu", {}).get("steal", 0.0)
    return Reading(time.monotonic(), _others(os.getpid()), stolen, throttled, apart)


def under_hypervisor() -> bool:
    """Whether a flag of the processor says that there is a hypervisor."""
    first_core = text_if_there(PROC / "cpuinfo", FIRST_CORE_CHARACTERS)
    return bool(re.search(r"^flags\s*:.*\bhypervisor\b", first_core, re.MULTILINE))


def between(before: Reading, after: Reading) -> Noise:
    """What passed between two readings."""
    seconds = after.at - before.at
    whole = max(seconds, TICK) * (os.cpu_count() or 1)
    parts = [max(0.0, after.others - before.others), max(0.0, after.stolen - before.stolen)]
    # Below so many seconds the ticks of a short trial would make much of nothing.
    others, stolen = (min(1.0, spent / whole) if sum(parts) >= MIN_TAKEN_SECONDS else 0.0 for spent in parts)
    return Noise(seconds, others, stolen, max(0, after.throttled - before.throttled), max(before.apart, after.apart))


def why_noisy(noise: Noise, nearest: float = math.inf) -> str:
    """What makes a trial noisy; empty where it is not. `nearest` is the least that cores were apart, in seconds."""
    words = []
    if noise.others + noise.stolen > NOISY_SHARE:
        shares = {"other processes": noise.others, "the hypervisor": noise.stolen}
        words += [f"{who} took {100 * share:.1f} % of the processors' time" for who, share in shares.items() if share]
    if noise.throttled:
        words.append(f"cores were throttled {noise.throttled} times because of their heat")
    if noise.apart > MOVED_APART_RATIO * nearest:
        words.append(
            f"a byte took {1e6 * noise.apart:.2f} µs from one core to another and back instead of "
            f"{1e6 * nearest:.2f} µs, as where a hypervisor has moved them apart"
        )
    return ", ".join(words)


class NoiseWatch:
    """Looks at the machine as trials begin and end; a shard has one at a time."""

    def __init__(self, look: Callable[[], Reading]) -> None:
        self.look = look
        self.begun: dict[str, Reading] = {}
        # The first look also starts what later ones only ask.
        self.nearest = look().apart or math.inf

    def begin(self, shard: str) -> None:
        """A trial of the shard begins now."""
        self.begun[shard] = self._read()

    def end(self, shard: str) -> dict[str, Any]:
        """The trial of the shard has ended; what the journal is to say besides."""
        if shard not in self.begun:
            return {}
        noise = between(self.begun.pop(shard), self._read())
        text = why_noisy(noise, self.nearest)
        return {"noise": _rounded(noise)} | ({WarningKind.NOISY: text} if text else {})

    def _read(self) -> Reading:
        reading = self.look()
        self.nearest = min(self.nearest, reading.apart or math.inf)
        return reading


def _rounded(noise: Noise) -> dict[str, float]:
    """What the journal has of it: what cores are apart to a tenth of a nanosecond."""
    return {name: round(value, 10 if name == "apart" else 4) for name, value in noise._asdict().items()}


def _others(own: int) -> float:
    """Seconds of processor time of all processes that do not descend from this one, and are none of the kernel's.

    With those of their children that have ended: a process that ends between two readings leaves its time there.
    """
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for entry in os.scandir(PROC):
        if entry.name.isdigit() and (stat := text_if_there(Path(entry.path, "stat"))):
            # The name before them may have spaces and brackets in it: proc(5).
            fields = stat.rpartition(") ")[2].split()
            number = int(entry.name)
            parents[number] = int(fields[1])
            if not int(fields[6]) & KERNEL_THREAD_FLAG:
                spent[number] = sum(int(ticks) for ticks in fields[11:15]) * TICK
    mine = {own: True}

    def ours(number: int) -> bool:
        if number not in mine:
            # What has no parent is nobody's child; an entry before the answer ends a circle that cannot be.
            mine[number] = False
            mine[number] = ours(parents[number]) if number in parents else False
        return mine[number]

    return sum(seconds for number, seconds in spent.items() if not ours(number))


def text_if_there(path: Path, size: int = -1) -> str:
    """The text of a file, or so many characters of it; empty where it is not there, or its process has ended."""
    try:
        with path.open(errors="replace") as file:
            return file.read(size)
    except OSError:
        return ""
