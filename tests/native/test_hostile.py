"""Tunnels and workloads that run wild on this kernel: each fails with its reason, and harms nothing else."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import hostile
from tests.helpers.measuring import execute, native_plan, verdicts
from tests.helpers.traces import traces
from tunbench.runner.node import limits

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.reliability,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

Property = Callable[[str, object], None]

PING, TCP = "ping:count=200,interval=0.01", "iperf3-tcp:duration=1"
LONG = "ping:count=600,interval=0.01"

LATER = pytest.mark.long
"""Of those that fail in a like way, `make test` has time for the quicker ones."""

BOUNDED = pytest.mark.skipif(
    not limits.processes(os.uname().release),
    reason="before Linux 6.14 nothing bounds processes on the native lab (docs/reliability.md), and a fork bomb would "
    "take this machine down; tests/vm/test_hostile.py has one in a VM",
)

SMALL = {"MEMORY = 4 << 30": "MEMORY = 1 << 29", "PROCESSES = 2000": "PROCESSES = 400"}
"""Limits that are reached soon, on a machine that need not have 8 GiB to spare."""


@pytest.mark.parametrize(
    ("tunnel", "reason"),
    [
        pytest.param(hostile.HANGS, "ip netns exec a sleep 1000: did not end in time", id="hangs"),
        pytest.param(hostile.FORKS, "none: its daemon on a ended with status 2", id="forks", marks=[LATER, BOUNDED]),
        pytest.param(
            hostile.FLOODS,
            "none: its daemon on a was ended by SIGXFSZ: it wrote more than 128 MiB into a file",
            id="floods-its-log",
        ),
        pytest.param(hostile.EATS, "none: its daemon on a ended with status 1", id="eats-memory", marks=LATER),
        pytest.param(
            hostile.SHARED_OUT,
            "none: its daemon on a was ended by SIGKILL, as happens where memory has run out",
            id="eats-memory-by-many-processes",
        ),
    ],
)
def test_a_tunnel_that_runs_wild_fails_with_its_reason(
    tunnel: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Property
) -> None:
    before, began = traces(), time.monotonic()
    hostile.smuggle(monkeypatch, {"none": tunnel}, limits=SMALL)
    record = execute(tmp_path / "run", native_plan(["none", "openvpn"], '["baseline"]', [LONG]), workers=1)
    found = verdicts(record)
    assert found["none", LONG][0] == "failed"
    # Either end may be the first.
    assert re.search(re.escape(reason).replace(r"on\ a", "on [ab]"), found["none", LONG][1]), found["none", LONG][1]
    assert found["openvpn", LONG][0] == "ok", "another stack is not concerned"
    assert traces() == before
    record_property("reliability", f"failed: “{reason}”; the other stack ok; {time.monotonic() - began:.0f} s for both")


def test_a_tunnel_that_dies_while_it_is_measured_fails_that_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Property
) -> None:
    hostile.smuggle(monkeypatch, {"none": hostile.DIES})
    found = verdicts(execute(tmp_path / "run", native_plan(["none"], '["baseline"]', [LONG]), workers=1))
    assert found["none", "up"][0] == "ok", "it was there before"
    assert found["none", LONG] == ("failed", "none: its daemon on a ended with status 0")
    record_property("reliability", "failed: “none: its daemon on a ended with status 0”, 4 s after it began")


def test_what_the_daemon_said_last_stands_with_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Property
) -> None:
    hostile.smuggle(monkeypatch, {"none": hostile.EATS}, limits=SMALL)
    record = execute(tmp_path / "run", native_plan(["none"], '["baseline"]', [LONG]), workers=1)
    [trial] = [trial for trial in record.trials if trial.cell["workload"] == LONG]
    assert "memory exhausted" in trial.logs["a/none-0.log"]
    record_property("reliability", trial.logs["a/none-0.log"].strip())


@pytest.mark.parametrize(
    "tunnel",
    [pytest.param(hostile.DEAF, id="ignores-SIGTERM"), pytest.param(hostile.BOMB, id="fork-bomb", marks=BOUNDED)],
)
def test_a_tunnel_that_does_not_want_to_end_is_ended(
    tunnel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Property
) -> None:
    before, began = traces(), time.monotonic()
    hostile.smuggle(monkeypatch, {"none": tunnel}, limits=SMALL)
    record = execute(tmp_path / "run", native_plan(["none"], '["baseline"]', [PING]), workers=1)
    took = time.monotonic() - began
    assert took < 120
    assert record.interrupted == (), "the shard came to its end"
    assert traces() == before
    record_property("reliability", f"{verdicts(record)['none', PING][0]}; nothing left; {took:.0f} s")


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        pytest.param(hostile.NEVER_ENDS, "ip netns exec a sleep 1000: did not end in time", id="never-ends"),
        pytest.param(hostile.LOOPS, "it did not end within ", id="loops-for-ever", marks=LATER),
        pytest.param(hostile.GARBAGE, "ping printed no summary: ", id="prints-garbage"),
        pytest.param(hostile.TOO_MUCH, "was ended by SIGPIPE: it printed more than 64 MiB", id="prints-100-MB"),
        pytest.param(hostile.SILENT, "ping printed no summary: ''", id="exits-0-without-a-result"),
        pytest.param(hostile.NOTHING, "it ended without a result", id="measures-nothing"),
    ],
)
def test_a_workload_that_runs_wild_fails_with_its_reason(
    workload: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Property
) -> None:
    before, began = traces(), time.monotonic()
    hostile.smuggle(monkeypatch, workload=workload, limits={"WORKLOAD_OVERTIME = 600.0": "WORKLOAD_OVERTIME = 1.0"})
    record = execute(tmp_path / "run", native_plan(["none"], '["baseline"]', [PING, TCP]), workers=1)
    found = verdicts(record)
    assert found["none", PING][0] == "failed"
    assert reason in found["none", PING][1]
    assert found["none", TCP][0] == "ok", "another workload is not concerned"
    assert traces() == before
    record_property("reliability", f"failed: “{reason}”; the other workload ok; {time.monotonic() - began:.0f} s")
