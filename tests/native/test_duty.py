"""A shard that measures for a minute does little else, and the harness stays out of the way of what it measures."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.kills import RUN, family
from tests.helpers.measuring import native_plan, values
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.journal.record import Record
from tunbench.report.tables import lab_time
from tunbench.runner.node.shell import wait_until
from tunbench.runner.probes.shared.processor_time import TICK

pytestmark = [
    pytest.mark.native,
    pytest.mark.reliability,
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

MEASURED = 60
"""Seconds of the one workload."""

WINDOW = (5.0, 50.0)
"""Seconds from the beginning of the trial until the processes are looked at, and between the two looks."""

WORKLOAD = f"iperf3-tcp:duration={MEASURED}"
PROGRAM = "iperf3"

STAT = re.compile(r"\d+ \((?P<name>.*)\) \S (?P<fields>[-\d ]+)\n", re.DOTALL)
"""/proc/PID/stat: proc_pid_stat(5)."""

Property = Callable[[str, object], None]


class Minute(NamedTuple):
    """A run whose one shard measured for a minute, the names of the processes beside it, and the seconds they took."""

    record: Record
    wall: float
    command: float
    beside: set[str]
    spent: float


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Minute:
    folder = tmp_path_factory.mktemp("duty")
    run, plan = folder / "run", folder / "plan.toml"
    plan.write_text(native_plan(["none"], '["baseline"]', [WORKLOAD]))
    began = time.monotonic()
    process = subprocess.Popen([*RUN, str(plan), "--out", str(run)], stdout=subprocess.DEVNULL, stderr=sys.stderr)
    assert wait_until(lambda: WORKLOAD in under_way(run), 60, interval=0.2)
    time.sleep(WINDOW[0])
    before = times(process.pid)
    time.sleep(WINDOW[1])
    after = times(process.pid)
    assert PROGRAM in before and PROGRAM in after, "it measured all the time"
    assert process.wait(120) == 0
    command = time.monotonic() - began
    [wall] = [event["wall"] for event in journal.events(run) if event.get("state") == "finished"]
    beside = after.keys() - {PROGRAM}
    spent = sum(after[name] for name in beside) - sum(seconds for name, seconds in before.items() if name in beside)
    return Minute(record_of(run), wall, command, beside, spent)


def under_way(run: Path) -> list[str]:
    """The workloads whose trials have begun."""
    events = journal.events(run) if (run / journal.NAME).exists() else []
    return [event.get("workload", "") for event in events if event["event"] == "phase"]


def times(controller: int) -> dict[str, float]:
    """Seconds of processor time of the controlling process and all that it started, by the name of the program.

    What has ended is counted with the process that waited for it.
    """
    found: dict[str, float] = {}
    for pid in family(controller):
        try:
            stat = STAT.fullmatch(Path(f"/proc/{pid}/stat").read_text())
        except OSError:
            continue
        assert stat
        # utime, stime, cutime and cstime are the fields 14 to 17; those of the expression begin with the fourth.
        spent = sum(map(int, stat["fields"].split()[10:14])) * TICK
        found[stat["name"]] = found.get(stat["name"], 0.0) + spent
    return found


def test_of_a_shard_that_measures_a_minute_85_percent_are_measuring(minute: Minute, record_property: Property) -> None:
    assert {trial.verdict for trial in minute.record.trials} == {"ok"}
    parts = lab_time.parts(minute.record.durations)
    [measuring] = [part.share for part in parts if part.name == "measure"]
    whole = MEASURED / minute.wall
    told = ", ".join(f"{part.name} {part.seconds:.1f} s" for part in parts)
    record_property(
        "reliability",
        f"measuring {measuring:.1%} of the lab's time ({told}); {MEASURED} s of data in {minute.wall:.1f} s of the "
        f"shard's wall clock ({whole:.1%}), and in {minute.command:.1f} s of the whole command",
    )
    assert measuring >= 0.85
    assert whole >= 0.85


def test_while_it_measures_the_harness_takes_less_than_1_percent_of_a_core(
    minute: Minute, record_property: Property
) -> None:
    share = minute.spent / WINDOW[1]
    [rate] = values(minute.record, "throughput", "none")
    record_property(
        "reliability",
        f"{share:.2%} of a core over {WINDOW[1]:.0f} s of {WORKLOAD} at {rate / 1e9:.1f} Gbit/s: the controlling "
        f"process, the runner and all else but {PROGRAM} ({', '.join(sorted(minute.beside))})",
    )
    assert share < 0.01
