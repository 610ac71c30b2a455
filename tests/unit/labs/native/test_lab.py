"""What the native lab starts, without starting it, and what is checked before."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.helpers.fakes import shard
from tests.helpers.labs import started
from tunbench.labs.lab import LabError
from tunbench.labs.native.lab import NativeLab
from tunbench.plan.axes.stack import parse


def test_the_native_runner_is_the_first_process_of_its_namespaces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    execution = started(monkeypatch, NativeLab(), tmp_path)
    assert execution.argv[0] == "unshare"
    assert {"--net", "--mount", "--pid", "--fork", "--kill-child"} <= set(execution.argv)
    assert execution.argv[-5:] == [
        *(sys.executable, "-m", "tunbench.runner", str(tmp_path / "shard.json"), str(tmp_path / "events.jsonl"))
    ]
    assert execution.environment["PYTHONPATH"] == str(tmp_path / "payload")
    assert json.loads((tmp_path / "shard.json").read_text()) == shard("wireguard").spec()
    assert (tmp_path / "payload" / "tunbench" / "runner" / "shard.py").exists()


def test_programs_in_the_native_lab_see_nothing_of_the_callers_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {"TMPDIR": "/nowhere", "LC_ALL": "de_DE.UTF-8", "HOME": "/root", "PATH": "/bin"}.items():
        monkeypatch.setenv(name, value)
    environment = started(monkeypatch, NativeLab(), tmp_path).environment
    assert {name: value for name, value in environment.items() if not name.startswith(("PYTHON", "TUNBENCH_"))} == {
        **{"PATH": "/bin", "LANG": "C.UTF-8", "HOME": "/run"},
        **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
    }


def test_the_native_lab_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        LabError, match="needs root for its namespaces: run the same command with sudo, or use --lab vm"
    ):
        NativeLab().check([])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert NativeLab().check([]) == {"tools": {}, "brought": {}}


def test_no_cluster_is_brought_up_on_the_kernel_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(
        LabError, match=r"^calico:mtu=1230 brings a cluster up, whose programs set values of the kernel"
    ):
        NativeLab().check([parse("none"), parse("calico:mtu=1230")])
