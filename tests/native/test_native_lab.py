"""The same runner in namespaces on this kernel: it measures what the kernel has, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, native_plan, values, verdicts
from tests.helpers.traces import traces
from tunbench.journal import journal
from tunbench.runner.declare.verdicts import Verdict

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

STACKS = ["none", "vxlan", "openvpn", "openvpn+vxlan", "macvlan"]
WORKLOADS = ["ping:count=10", "iperf3-tcp:duration=1", "iperf3-udp:duration=1"]


def test_what_the_kernel_has_is_measured_and_nothing_is_left(tmp_path: Path) -> None:
    before = traces()
    record = execute(tmp_path / "run", native_plan(STACKS, '["baseline"]', WORKLOADS), workers=1)
    missing = {stack for (stack, _), (verdict, _) in verdicts(record).items() if verdict == Verdict.UNSUPPORTED}
    assert missing <= {"macvlan", "vxlan", "openvpn+vxlan"}, "a kernel may lack these interfaces, and nothing else"
    assert {verdict for verdict, _ in verdicts(record).values()} <= {"ok", "unsupported"}
    assert values(record, "throughput", "none")[0] > 1e8
    assert record.manifest["fingerprint"] == "no promise"
    assert traces() == before


def test_a_kernel_without_wireguard_says_so(tmp_path: Path) -> None:
    has = subprocess.run(["unshare", "--net", "ip", "link", "add", "probe", "type", "wireguard"], capture_output=True)
    record = execute(tmp_path / "run", native_plan(["wireguard"], '["baseline"]', ["ping:count=10"]), workers=1)
    for verdict, reason in verdicts(record).values():
        assert verdict == ("ok" if has.returncode == 0 else "unsupported")
        assert has.returncode == 0 or "wireguard" in reason


def test_a_kernel_without_netem_says_so(tmp_path: Path) -> None:
    has = subprocess.run(
        ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"], capture_output=True
    )
    record = execute(tmp_path / "run", native_plan(["none"], '["low"]', ["ping:count=10"]), workers=1)
    verdict, reason = verdicts(record)["none", "ping:count=10"]
    assert verdict == ("ok" if has.returncode == 0 else "unsupported")
    assert has.returncode == 0 or "netem" in reason


@pytest.mark.reliability
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_controlling_process_dies(
    tmp_path: Path, number: signal.Signals, record_property: Callable[[str, object], None]
) -> None:
    before = traces()
    file = tmp_path / "plan.toml"
    file.write_text(native_plan(["openvpn"], '["baseline"]', ["ping:count=1000,interval=0.01"]))
    process = subprocess.Popen(
        [sys.executable, "-m", "tunbench", "run", str(file), "--out", str(tmp_path / "run")], stderr=subprocess.DEVNULL
    )
    _wait_for_phase(tmp_path / "run", "trial")
    process.send_signal(number)
    process.wait(10)
    time.sleep(0.5)
    assert traces() == before
    record_property("reliability", f"{number.name} in the middle of a trial of openvpn, nothing resumed: nothing left")


def _wait_for_phase(folder: Path, name: str) -> None:
    # A machine that has other work to do takes a while: openvpn makes its keys first.
    for _ in range(1200):
        if (folder / journal.NAME).exists():
            phases = [event for event in journal.events(folder) if event["event"] == "phase"]
            if any(event["name"] == name for event in phases):
                return
        time.sleep(0.05)
    raise AssertionError(f"the shard never came to the phase {name}")
