"""The native lab on a kernel that has WireGuard, VXLAN and netem, whatever this machine's own has: inside a VM."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.measuring import plan, values
from tests.helpers.traces import that_name
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of

pytestmark = [pytest.mark.vm, pytest.mark.long]

SCRIPT = Path(__file__).parents[2] / "scripts" / "native-in-vm"

PLAN = plan(["wireguard", "vxlan"], '["baseline", "medium"]', ["ping:count=20", "iperf3-tcp:duration=2"])

CAN = "yes  native lab: "


def inside(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command of Tunbench inside, in a working folder of this machine; nothing of the VM may be left."""
    temporary = folder / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert list(temporary.iterdir()) == [] and that_name(temporary) == []
    return done


def test_a_plan_runs_on_the_kernel_of_a_vm(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    done = inside(tmp_path, "run", "plan.toml", "--lab", "native", "--out", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    record = record_of(tmp_path / "run")
    assert record.manifest["lab"] == {"kind": "native", "clock": "real"}
    assert record.manifest["host"]["kernel"] != platform.release()
    assert [trial.verdict for trial in record.trials] == ["ok"] * 12
    events = journal.events(tmp_path / "run")
    # The random marker is hidden within WireGuard, and not within VXLAN.
    proofs = [finding for event in events if event["event"] == "proof" for finding in event["findings"]]
    assert {(one["layer"], one["hidden"]) for one in proofs} == {("wireguard", True), ("vxlan", False)}
    assert all(one["evident"] >= 5 for one in proofs)
    assert {event["installed"]["kind"] for event in events if event["event"] == "impairment"} == {"netem"}
    assert len(values(record, "throughput", "wireguard")) == 2
    assert any(warned.name == "virtualised" for warned in record.warnings)
    # What follows from the journal has been made on this machine, and can be made anew.
    assert (tmp_path / "run" / "samples.parquet").exists() and (tmp_path / "run" / "report.html").exists()
    report = [sys.executable, "-m", "tunbench", "report", str(tmp_path / "run")]
    assert subprocess.run(report, capture_output=True).returncode == 0


def test_doctor_finds_what_the_kernel_of_a_vm_has(tmp_path: Path) -> None:
    done = inside(tmp_path, "doctor")
    assert done.returncode == 2, "there is no QEMU inside"
    rows = [row.removeprefix(CAN) for row in done.stdout.splitlines() if row.startswith(CAN)]
    can = {row.split()[0]: row for row in rows}
    # fou, gue, l2tpv3 and pptp have modules that somebody must load.
    assert can.keys() >= {"wireguard", "vxlan", "fou", "gue", "l2tpv3", "pptp", "impairments"}, done.stdout
    assert "encap" not in can["l2tpv3"]
