"""24 virtual hours in one VM: a ping each second, a second of TCP an hour, keys that are renewed, and flat memory."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import linear_regression

import pytest

from tests.helpers.measuring import execute, plan
from tunbench.executors import pool
from tunbench.journal.record import TrialResult
from tunbench.labs import payload

pytestmark = [pytest.mark.vm, pytest.mark.reliability, pytest.mark.long]

# After each hour: what memory there is, what the runner has of it, and what tells one set of keys from another.
LOOKING = b"""

_unwatched = execute


def execute(trial):
    _unwatched(trial)
    words = {line.split(":")[0]: int(line.split()[1]) for line in open("/proc/meminfo")}
    own = {line.split(":")[0]: line.split() for line in open("/proc/self/status")}
    keys = trial.client.ask("sh", "-c", "wg show all latest-handshakes; ip xfrm state | grep spi").stdout
    look = {"available": words["MemAvailable"], "runner": int(own["VmRSS"][1]), "keys": keys}
    trial.outputs["look.json"] = json.dumps(look)


import json
"""

HOURS = 24

DRIFT = 8 << 10
"""KiB by which memory may seem to grow or shrink over all hours: a straight line through the looks."""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("stack", ["wireguard", "ipsec"])
def test_memory_is_flat_over_a_virtual_day(
    stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    files = payload.runner_files()
    files["tunbench/runner/workloads/ping.py"] += LOOKING
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    # 12 min on an idle core, of which there may be none.
    monkeypatch.setattr(pool, "WALL_LIMIT", 7000.0)
    record = execute(tmp_path / "run", plan([stack], '["baseline"]', workloads(HOURS)), workers=1)
    assert {trial.verdict for trial in record.trials} == {"ok"}
    pings = sorted((trial for trial in record.trials if "ping" in trial.cell["workload"]), key=hour)
    looks = [json.loads((tmp_path / "run" / trial.folder / "look.json").read_text()) for trial in pings]
    lost = sum(row["value"] > 0 for trial in pings for row in trial.rows if row["metric"] == "loss")
    keys = [look["keys"] for look in looks]
    assert all(keys)
    assert len(set(keys)) == len(keys) if stack == "wireguard" else len(set(keys)) > HOURS // 6
    available, runner = (drift([look[name] for look in looks]) for name in ("available", "runner"))
    record_property(
        "reliability",
        f"{len(looks)} virtual hours, {sum(map(echoes, pings)):,} echoes ({lost} hours with a loss), keys renewed in "
        f"{len(set(keys))} of them; over a day, available memory {available:+.0f} KiB, the runner's {runner:+.0f} KiB",
    )
    assert abs(available) < DRIFT
    assert abs(runner) < DRIFT


def workloads(hours: int) -> list[str]:
    """An hour each of a ping a second and, behind it, a second of TCP: none is the same as another."""
    each = (
        (f"ping:count={3600 - hour},interval=1", f"iperf3-tcp:duration=1,length={131072 - hour}")
        for hour in range(hours)
    )
    return [one for pair in each for one in pair]


def echoes(trial: TrialResult) -> int:
    """The echo requests of a trial."""
    return int(str(trial.cell["workload"]).partition("count=")[2].partition(",")[0])


def hour(trial: TrialResult) -> int:
    """Which hour of the day a trial was."""
    return 3600 - echoes(trial)


def drift(values: list[int]) -> float:
    """What a straight line through values, one an hour, comes to over a day; the first hour fills caches."""
    return linear_regression(range(len(values) - 1), values[1:]).slope * 24
