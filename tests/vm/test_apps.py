"""What QUIC and RIST report is what others counted, and the same each time."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal.record import Record
from tunbench.labs import payload
from tunbench.runner.workloads.rist import numbered_stream

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

# Reads the counters of the client's end of the overlay around each download, and how long the server says its packets
# were.
COUNTING = b"""

_uncounted, _unmeasured = _download, _lost


def _download(trial, *arguments, **others):
    def look():
        return trial.client.ask("ip", "-s", "-j", "link", "show", "dev", trial.overlay.interface).stdout

    before = look()
    found = _uncounted(trial, *arguments, **others)
    trial.outputs["counters.json"] = f"[{before},{look()}]"
    return found


def _lost(trial, folder):
    picked = 'grep -h packet_sent "$0"/* | grep -o "length.:[0-9]*}}}" | tr -dc "0-9\\n"'
    sums = picked + " | awk '{ s += $1 } END { print s }'"
    trial.outputs["lengths.txt"] = trial.server.ask("sh", "-c", sums, str(folder)).stdout
    return _unmeasured(trial, folder)
"""

SHORT = ["quic:size=500kB,connections=2", "rist:duration=2"]
SIZE, SENT = 500_000, round(2 * 3.3e6 / (8 * numbered_stream.SIZE))

HEADERS = 20 + 8
"""Bytes of the headers of a UDP datagram over IPv4."""

STACKS = {"none": 14, "wireguard": 16 + 16}
"""What the interface counts of a packet besides: the Ethernet header; the header and tag of WireGuard's message."""

PROBES = 6 * 1500
"""Bytes of packets that the server sent to find the path's MTU, and that did not arrive."""


def folder(run: Path, record: Record, stack: str, workload: str) -> Path:
    [one] = [t for t in record.trials if (t.cell["stack"], t.cell["workload"]) == (stack, workload)]
    return run / one.folder


def test_what_is_reported_is_what_others_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = payload.runner_files()
    files["tunbench/runner/workloads/quic/__init__.py"] += COUNTING
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    record = execute(tmp_path / "run", plan(list(STACKS), '["baseline"]', SHORT), workers=1)
    assert set(verdicts(record).values()) == {("ok", "")}
    for stack, framing in STACKS.items():
        quic, rist = (folder(tmp_path / "run", record, stack, workload) for workload in SHORT)
        [before], [after] = json.loads((quic / "counters.json").read_text())
        size, packets = (after["stats64"]["rx"][key] - before["stats64"]["rx"][key] for key in ("bytes", "packets"))
        # The last download is the logged one.
        arrived, sent = size - packets * (framing + HEADERS), int((quic / "lengths.txt").read_text())
        told = (stack, size, packets, arrived, sent)
        assert SIZE < sent - PROBES <= arrived <= sent + 2000 and sent < 1.1 * SIZE, told
        assert values(record, "retransmits", stack) == [0]
        # Every datagram, by our numbers, and librist's count of them, which begins with the second.
        assert (rist / "viewer.txt").read_text() == f"ready\ngot 1..{SENT}\nend {SENT} 0 0 0\n"
        lines = [line.partition("{")[2] for line in (rist / "ristreceiver.txt").read_text().splitlines()]
        counted = [json.loads("{" + line) for line in lines if line.startswith('"receiver-stats"')]
        received = sum(one["receiver-stats"]["flowinstant"]["stats"]["received"] for one in counted)
        assert received == SENT - 1, stack
        assert values(record, "delivered", stack) == [1.0]


@pytest.mark.long
def test_under_a_bad_network_a_viewer_gets_more_than_quality_says_and_each_run_is_the_same(tmp_path: Path) -> None:
    text = plan(list(STACKS), '["baseline", "high"]', ["quic:size=1MB,connections=3", "rist:duration=5"])
    first, second = (execute(tmp_path / name, text, workers=1) for name in ("first", "second"))
    assert first.fingerprint == second.fingerprint != ""
    assert {(trial.verdict, trial.reason) for trial in first.trials} == {("ok", "")}
    for stack in STACKS:
        [delivered], [quality] = (values(first, name, stack, profile="high") for name in ("delivered", "quality"))
        assert delivered > quality > 0.5


APPLICATIONS = [
    *("quic:size=500kB,connections=2", "quic:size=500kB,connections=2,impl=quinn", "rist:duration=3"),
    *("nix-cache:packages=4,size=20kB", "recover:event=reboot-all,times=1,interval=10ms"),
]
OVER = ["none", "wireguard", "headscale", "nebula", "yggdrasil"]
UNDER = ["baseline", "low", "medium", "high"]


@pytest.mark.long
@pytest.mark.reliability
def test_applications_over_five_stacks_under_all_profiles_are_the_same_each_time(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    text = plan(OVER, json.dumps(UNDER), APPLICATIONS)
    first, second = (execute(tmp_path / name, text) for name in ("first", "second"))
    assert first.fingerprint == second.fingerprint != ""
    measured = [trial for trial in first.trials if trial.cell["workload"] in APPLICATIONS]
    assert len(measured) == len(OVER) * len(UNDER) * len(APPLICATIONS)
    assert {(trial.verdict, trial.reason) for trial in measured} == {("ok", "")}
    record_property("reliability", f"two runs of {len(measured)} trials, all ok: one fingerprint")
