"""2,000 trials in one run: the controlling process keeps no file open and no memory."""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from statistics import linear_regression

import pytest

from tests.helpers.measuring import native_plan
from tests.helpers.traces import traces
from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import ShardEnded
from tunbench.journal.readers.registry import record_of
from tunbench.run import execution
from tunbench.run.order import read_order

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

WORKLOADS = ["ping:count=2", "ping:count=3", "ping:count=4"]

GROWTH = 8 << 20
"""Bytes by which the memory may seem to grow: a straight line through what it was at each shard's end."""

Property = Callable[[str, object], None]


def soaked(trials: int, folder: Path, record_property: Property) -> None:
    """Executes so many trials, four in each shard, and looks at the end of each shard."""
    files: list[int] = []
    memory: list[int] = []

    def look(told: ShardEvent) -> None:
        if isinstance(told.event, ShardEnded) and told.event.finished:
            files.append(len(list(Path("/proc/self/fd").iterdir())))
            memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())

    before = traces()
    text = native_plan(["none"], '["baseline"]', WORKLOADS).replace("repeats = 1", f"repeats = {trials // 4}")
    order = read_order(text, "soak.toml", {})
    execution.create(folder, order)
    execution.go(folder, order, 1, look)
    record = record_of(folder)
    assert len(record.trials) == trials
    assert {trial.verdict for trial in record.trials} == {"ok"}
    # The first shards fill what is filled once.
    settled = len(memory) // 10
    grown = linear_regression(range(len(memory) - settled), memory[settled:]).slope * len(memory)
    record_property(
        "reliability",
        f"{trials} trials: {min(files[1:])} to {max(files[1:])} open files, memory {grown / 2**20:+.2f} MiB "
        f"at {memory[-1] / 2**20:.0f} MiB",
    )
    # One file left open by each shard would show: what comes and goes, such as the two pipes to the program that
    # looks how far the cores are apart and ends where one of them is busy, does not.
    half = len(files) // 2
    assert max(files[half:]) <= max(files[1:half])
    assert grown < GROWTH
    assert traces() == before


def test_40_trials_leave_no_file_open(tmp_path: Path, record_property: Property) -> None:
    soaked(40, tmp_path / "run", record_property)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_2000_trials_leave_no_file_open_and_take_no_memory(tmp_path: Path, record_property: Property) -> None:
    soaked(2000, tmp_path / "run", record_property)
