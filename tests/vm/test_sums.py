"""The bytes that iperf3 and iperf 2 report are those that the interface of the overlay counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.measuring import execute, plan
from tunbench.labs import payload
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.workloads.shared.iperf import iperf2, iperf3_report

pytestmark = pytest.mark.vm

# Reads the counters of the receiver's end of the overlay before and after each test.
COUNTING = b"""

_uncounted = measure


def measure(trial, *arguments, **others):
    receiver = trial.client if trial.options.get("reverse") else trial.server

    def look():
        interface = trial.overlays[receiver.name].interface
        return receiver.ask("ip", "-s", "-j", "link", "show", "dev", interface).stdout

    before = look()
    found = _uncounted(trial, *arguments, **others)
    trial.outputs["counters.json"] = f"[{before},{look()}]"
    return found
"""

TCP = 20 + 20 + 12
"""Bytes of the headers of a TCP segment over IPv4 with timestamps (RFC 7323)."""

UDP = 20 + 8
"""Bytes of the headers of a UDP datagram over IPv4."""

LINKS = {"none": 14, "wireguard": 16 + 16}
"""What the interface counts of a packet besides: the Ethernet header; the header and tag of WireGuard's message."""

BESIDES_PAYLOAD = 2000
"""Bytes that may have come besides payload and its headers: iperf3's control connection, the options of a SYN, padding,
and what the kernel sends by itself, such as the report of a multicast listener."""

WORKLOADS = {
    # iperf3 ends as soon as one of the two has its bytes; what is still on its way then was counted and not read.
    # The server has sent all of it when the client ends, and less is on its way than in the other direction.
    "iperf3-tcp:bytes=4MB,reverse=on": TCP,
    "iperf2-tcp:bytes=4MB": TCP,
    "iperf3-udp:rate=10M,duration=1": UDP,
    "iperf2-udp:rate=10M,duration=1": UDP,
}


def test_what_is_reported_is_what_the_interface_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = payload.runner_files()
    for name in ("iperf2", "iperf3"):
        files[f"tunbench/runner/workloads/shared/iperf/{name}.py"] += COUNTING
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    record = execute(tmp_path / "run", plan(list(LINKS), '["baseline"]', list(WORKLOADS)))
    seen = set()
    for trial in record.trials:
        stack, workload = trial.cell["stack"], trial.cell["workload"]
        if workload in WORKLOADS:
            assert trial.verdict == Verdict.OK, trial.reason
            folder = tmp_path / "run" / trial.folder
            size, packets = counted(json.loads((folder / "counters.json").read_text()))
            received, sent = reported(folder, workload)
            # Segments that the kernel has joined are counted as one packet with one header, and so they are here.
            arrived = size - packets * (LINKS[stack] + WORKLOADS[workload])
            told = (stack, workload, size, packets, received, sent)
            assert sent > 1_000_000, told
            assert sent * 0.98 <= received <= arrived <= sent + BESIDES_PAYLOAD, told
            seen.add((stack, workload))
    assert len(seen) == len(LINKS) * len(WORKLOADS)


def counted(looks: Any) -> tuple[int, int]:
    """Bytes and packets that came in between two looks."""
    before, after = (look[0]["stats64"]["rx"] for look in looks)
    return after["bytes"] - before["bytes"], after["packets"] - before["packets"]


def reported(folder: Path, workload: str) -> tuple[float, float]:
    """Bytes of payload that the receiver had read, and that the sender had written: the same, but for iperf3's TCP."""
    if workload.startswith("iperf2"):
        [total] = iperf2.read((folder / "iperf-server.txt").read_text()).totals
        return total.size, total.size
    data = iperf3_report.load((folder / "iperf3.json").read_text())
    received, sent = (iperf3_report.number(data, "end", name, "bytes") for name in ("sum_received", "sum_sent"))
    return received, sent
