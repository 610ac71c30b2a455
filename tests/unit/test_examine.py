import os
import shutil
from pathlib import Path

import pytest

from tunbench.labs import examine, image, kvm
from tunbench.labs.definition import BASE
from tunbench.labs.examine import Finding
from tunbench.runner import registry
from tunbench.toolbox.tools import TOOLS


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which programs are looked for, and no images."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "bin"


def install(path: Path, name: str, script: str = "") -> None:
    (path / name).write_text(f"#!{shutil.which('sh', path='/bin:/usr/bin')}\n{script}\n")
    (path / name).chmod(0o755)


def found(what: str) -> Finding:
    return next(one for one in examine.findings() if one.what == what)


def test_a_bare_machine_lacks_what_the_vm_lab_needs_and_is_told_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    brought = sorted({one for name in registry.tunnel_names() for one in registry.tunnel(name).about.brought})
    assert brought
    assert [(one.what, one.ok, one.mend, one.needed) for one in examine.findings()] == [
        ("vm lab: QEMU", False, "apt-get install qemu-system-x86", True),
        ("vm lab: image", False, "tunbench lab build", True),
        ("vm lab: real clock", False, "first mend what is above", False),
        *((f"toolbox: {name}", False, f"tunbench toolbox install {name}", False) for name in TOOLS),
        *((f"toolbox: {name}", False, f"tunbench run … --tool {name}=FILE", False) for name in brought),
        ("native lab", False, "run it with sudo", False),
    ]


@pytest.mark.parametrize(("works", "word"), [(True, "KVM boots"), (False, "TCG with several threads")])
def test_a_machine_with_qemu_and_image_can_run_the_vm_lab(
    works: bool, word: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(kvm, "works", lambda: works)
    install(path, "qemu-system-x86_64")
    BASE.folder.mkdir(parents=True)
    (BASE.folder / "vmlinux").write_bytes(b"kernel")
    image._write_manifest(BASE, BASE.folder, {"kmod": "30"})
    assert found("vm lab: QEMU").found == str(path / "qemu-system-x86_64")
    assert found("vm lab: image").found.endswith(", 1 packages")
    assert word in found("vm lab: real clock").found
    assert all(one.ok for one in examine.findings() if one.needed)


def test_a_damaged_image_is_found(path: Path) -> None:
    BASE.folder.mkdir(parents=True)
    (BASE.folder / "vmlinux").write_bytes(b"kernel")
    image._write_manifest(BASE, BASE.folder, {})
    (BASE.folder / "vmlinux").write_bytes(b"karnel")
    assert not examine._image().ok
    assert "damaged" in examine._image().found


def test_programs_and_kinds_of_the_native_lab_are_looked_for_one_by_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("ip", "wg", "tcpdump"):
        install(path, name)
    # As on a kernel that has VXLAN and nothing else.
    install(path, "unshare", 'case "$*" in *vxlan*) ;; *) echo "Error: Unknown device type." >&2; exit 2;; esac')
    for name, (_, module) in examine.PROBES.items():
        one = found(f"native lab: {name}")
        if name == "vxlan":
            assert one == Finding("native lab: vxlan", True, "this kernel has it")
        else:
            assert one == Finding(
                f"native lab: {name}",
                False,
                "Error: Unknown device type.",
                f"a kernel with the module {module}; or --lab vm",
            )
    assert found("native lab: wg") == Finding("native lab: wg", True, str(path / "wg"))
    assert found("native lab: ping").mend == "apt-get install iputils-ping"
    assert found("native lab: nsenter").mend == "apt-get install util-linux"
    assert found("native lab: iperf3").mend == "apt-get install iperf3"
    assert not any(one.needed for one in examine._native())


def test_a_probe_that_fails_without_a_word_is_a_finding(path: Path) -> None:
    install(path, "unshare", "exit 1")
    assert not examine._native_kind("netem", "tc qdisc add", "the kernel's module sch_netem").ok


def test_a_machine_without_unshare_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert found("native lab: unshare").mend == "apt-get install util-linux"
