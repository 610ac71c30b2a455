"""What `tunbench machine measure` prints where all is there, where something is missing, and where it is broken off."""

import json
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.documentation import json_keys
from tests.helpers.fakes import FakeExecution
from tests.helpers.runs import ScriptedLab, batches, invoke, runs_here
from tunbench.calibrate import host_features, requirements, sides
from tunbench.calibrate.host_features import HostFeatures
from tunbench.calibrate.items import CIPHERS, PATHS, WHOLE_SET
from tunbench.doctor.native_requirements import ROOT, Lack
from tunbench.labs import image, registry
from tunbench.labs.vm import explore, qemu
from tunbench.plan.axes.machine import Machine, read_machines
from tunbench.plan.shard import Shard

CARRIED = {"native": 3e9, "vm": 1e9}
"""What every path carries in each lab, in bit/s."""

CHECK_QEMU = qemu.check_installed

NATIVELY = "".join(f"+F:1:{cipher.algorithm.upper()}:4000.00\n" for cipher in CIPHERS)
IN_VM = "".join(f"+F:1:{cipher.algorithm}:2000.00\n" for cipher in CIPHERS)


class FakeHost:
    """A host on which everything is there: labs that are scripted, openssl here and in the VM."""

    def __init__(self) -> None:
        self.verdicts = dict.fromkeys(CARRIED, "ok")
        self.started: set[tuple[str, Machine]] = set()
        self.in_vm: Callable[[], str] = lambda: IN_VM

    def lab(self, kind: str, clock: str) -> ScriptedLab:
        made = ScriptedLab(lambda shard: FakeExecution(batches(self._told(kind, shard))))
        made.kind, made.clock = kind, clock
        return made

    def script(self, path: Path, seed: int, clock: str, machine: Machine) -> tuple[str, int]:
        assert "openssl speed" in path.read_text()
        self.started.add(("script", machine))
        return self.in_vm(), 0

    def _told(self, kind: str, shard: Shard) -> list[dict[str, Any]]:
        self.started.add((kind, shard.machine))
        verdict = self.verdicts[kind]
        usual = {"event": "trial", "verdict": verdict, "reason": "" if verdict == "ok" else "it broke"}
        carried = CARRIED[kind] * shard.machine.speed / 1000
        whole = ["throughput", "bit/s", carried, None, "a-b", "b"]
        # Of a second within the trial, which does not count.
        second = ["throughput", "bit/s", 7e9, 0.0, "a-b", "b"]
        return [
            {"event": "trial", "workload": "up", "verdict": "ok", "reason": "", "samples": []},
            *(
                {**usual, "workload": one.name, "samples": [whole, second] if verdict == "ok" else []}
                for one in shard.workloads
            ),
            {"event": "phase", "name": "end", "at": 4.0},
        ]


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of temporary files, which is empty in the beginning."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHost:
    runs_here(monkeypatch, tmp_path)
    made = FakeHost()
    monkeypatch.setattr(registry, "lab", made.lab)
    monkeypatch.setattr(explore, "script", made.script)
    monkeypatch.setattr(qemu, "check_installed", lambda: None)
    monkeypatch.setattr(image, "check", lambda definition: {})
    monkeypatch.setattr(requirements, "lacks_of_path", lambda path: [])
    monkeypatch.setattr(requirements, "lacks_openssl", list)
    monkeypatch.setattr(host_features, "of_host", lambda: HostFeatures(("vaes",), ("SHA",)))
    monkeypatch.setattr(sides, "printed_here", lambda script: NATIVELY)
    return made


def test_the_last_line_is_the_table_for_a_plan() -> None:
    result = invoke("machine", "measure")
    assert result.exit_code == 0, result.output
    table = tomllib.loads(result.stdout.splitlines()[-1])["machine"]
    # Three paths at 3000 count, and not three ciphers at 2000.
    assert list(read_machines(table)) == [Machine("this-host", ("vaes",), 3000)]


def test_every_item_is_shown_on_both_sides_with_its_own_speed() -> None:
    lines = invoke("machine", "measure").stdout.splitlines()
    for item in WHOLE_SET:
        [line] = [line for line in lines if line.startswith(f"{item.name} ")]
        assert line.split()[-2:] == (["3000", "1.00"] if item in PATHS else ["2000", "0.667"])


def test_how_well_one_speed_fits_is_said_in_a_sentence() -> None:
    printed = invoke("machine", "measure").stdout
    assert "One speed fits all 6 items within a factor of 1.50" in printed
    assert "QEMU has no instructions for SHA" in printed


def test_the_vm_lacks_what_this_host_lacks(host: FakeHost) -> None:
    invoke("machine", "measure")
    lacking = Machine("lacking", ("vaes",), 1000)
    assert host.started == {("native", Machine("full")), ("vm", lacking), ("script", lacking)}


def test_every_number_is_there_as_json() -> None:
    told = json.loads(invoke("machine", "measure", "--json").stdout)
    assert set(told) == json_keys("machine measure")[0]
    assert told["machine"] == {"name": "this-host", "speed": 3000, "without": ["vaes"]}
    assert [one["speed"] for one in told["items"]] == [3000] * 3 + [2000] * 3
    assert told["missing"] == []


def test_the_machine_is_checked_where_that_is_asked_for(host: FakeHost) -> None:
    result = invoke("machine", "measure", "--check")
    assert ("vm", Machine("this-host", ("vaes",), 3000)) in host.started
    for path in PATHS:
        assert f"\n{path.name} " in result.stdout
        [line] = [line for line in result.stdout.splitlines() if line.startswith(f"{path.name} ")]
        assert line.split("  ")[-1].strip() == "3.00\N{NO-BREAK SPACE}Gbit/s"
    told = json.loads(invoke("machine", "measure", "--check", "--json").stdout)
    assert [one["checked"] for one in told["items"]] == [3e9] * 3 + [None] * 3


def test_what_the_host_lacks_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "lacks_of_path", lambda path: [ROOT])
    result = invoke("machine", "measure", "--json")
    assert result.exit_code == 0, result.output
    assert f"left out: {PATHS[0].name}: root. run it with sudo" in result.stderr
    told = json.loads(result.stdout)
    assert told["machine"]["speed"] == 2000
    assert [(one["item"], one["mend"]) for one in told["missing"]] == [(path.name, ROOT.mend) for path in PATHS]


def test_where_nothing_can_run_nothing_is_started(monkeypatch: pytest.MonkeyPatch, host: FakeHost) -> None:
    monkeypatch.setattr(requirements, "lacks_of_path", lambda path: [ROOT])
    monkeypatch.setattr(requirements, "lacks_openssl", lambda: [Lack("the program openssl", "apt-get install openssl")])
    result = invoke("machine", "measure")
    assert result.exit_code == 2
    assert "root: run it with sudo; the program openssl: apt-get install openssl" in result.stderr
    assert not host.started


def test_without_qemu_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, host: FakeHost) -> None:
    monkeypatch.setattr(qemu, "check_installed", CHECK_QEMU)
    monkeypatch.setenv("PATH", "/nonexistent")
    result = invoke("machine", "measure")
    assert result.exit_code == 2
    assert qemu.MEND in result.stderr
    assert not host.started


@pytest.mark.parametrize(("lab", "where"), [("native", "natively"), ("vm", "in the VM")])
def test_what_fails_on_a_side_is_told_and_the_rest_is_fitted(host: FakeHost, lab: str, where: str) -> None:
    host.verdicts[lab] = "failed"
    result = invoke("machine", "measure")
    assert result.exit_code == 0, result.output
    assert f"not measured: {PATHS[0].name}: {where}: it broke" in result.stdout
    assert "cpu.speed = 2000" in result.stdout
    # What has nothing natively to compare it with is not run in the VM at all.
    assert ("vm" in {kind for kind, _ in host.started}) == (lab == "vm")


def test_openssl_that_tells_nothing_in_the_vm_is_a_broken_image(host: FakeHost) -> None:
    host.in_vm = lambda: "sh: openssl: not found"
    result = invoke("machine", "measure")
    assert result.exit_code == 2
    assert "tunbench lab build --force" in result.stderr


def test_nothing_is_kept(temporary: Path) -> None:
    invoke("machine", "measure")
    assert not list(temporary.iterdir())
    assert not Path("runs").exists()


def test_ctrl_c_leaves_nothing(host: FakeHost, temporary: Path) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    host.in_vm = interrupted
    result = invoke("machine", "measure")
    assert result.exit_code == 130
    assert "Interrupted; nothing is kept." in result.stderr
    assert not list(temporary.iterdir())
