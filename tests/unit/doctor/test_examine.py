import os
from pathlib import Path

import pytest

from tests.helpers.host import install_program
from tunbench.doctor import examine, native_requirements
from tunbench.doctor.host_check import HostCheck
from tunbench.labs.vm import image_build, kvm
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.runner import registry
from tunbench.toolbox.tools import TOOLS


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which programs are looked for, no images, and no configuration."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "bin"


def found(what: str) -> HostCheck:
    return next(one for one in examine.host_checks() if one.what == what)


def test_a_bare_machine_lacks_what_the_vm_lab_needs_and_is_told_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    brought = sorted({one for name in registry.tunnel_names() for one in registry.tunnel(name).about.needs.brought})
    assert brought
    assert [(one.what, one.ok, one.mend, one.needed) for one in examine.host_checks()] == [
        ("vm lab: QEMU", False, "apt-get install qemu-system-x86", True),
        ("vm lab: image", False, "tunbench lab build", True),
        ("vm lab: real clock", False, "first mend what is above", False),
        *((f"vm lab: add-on {name}", False, f"tunbench lab build {name}", False) for name in ADDONS),
        ("configuration", True, "", True),
        *((f"toolbox: {name}", False, f"tunbench toolbox install {name}", False) for name in TOOLS),
        *((f"toolbox: {name}", False, f"tunbench run … --tool {name}=FILE", False) for name in brought),
        ("native lab", False, "run it with sudo", False),
    ]


def test_a_cache_that_cannot_be_looked_into_holds_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_program(path, "qemu-system-x86_64")
    monkeypatch.setenv("XDG_CACHE_HOME", f"/{'a' * 256}")
    assert "File name too long" in found("vm lab: image").found
    assert found("vm lab: real clock").found == "not tried"
    assert not any(found(f"toolbox: {name}").ok for name in TOOLS)


@pytest.mark.parametrize(("works", "word"), [(True, "KVM boots"), (False, "TCG with several threads")])
def test_a_machine_with_qemu_and_image_can_run_the_vm_lab(
    works: bool, word: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(kvm, "works", lambda: works)
    install_program(path, "qemu-system-x86_64")
    BASE.folder.mkdir(parents=True)
    (BASE.folder / "vmlinux").write_bytes(b"kernel")
    image_build.write_manifest_of(BASE, BASE.folder, {"kmod": "30"})
    assert found("vm lab: QEMU").found == str(path / "qemu-system-x86_64")
    assert found("vm lab: image").found.endswith(", 1 package")
    assert word in found("vm lab: real clock").found
    assert all(one.ok for one in examine.host_checks() if one.needed)


def test_a_damaged_image_is_found(path: Path) -> None:
    BASE.folder.mkdir(parents=True)
    (BASE.folder / "vmlinux").write_bytes(b"kernel")
    image_build.write_manifest_of(BASE, BASE.folder, {})
    (BASE.folder / "vmlinux").write_bytes(b"karnel")
    row = found("vm lab: image")
    assert (row.ok, row.mend) == (False, "tunbench lab build --force base")
    assert "damaged" in row.found


def test_an_add_on_has_a_row(path: Path) -> None:
    addon = ADDONS["mosquitto"]
    assert found("vm lab: add-on mosquitto").found == "the image mosquitto is not built"
    addon.folder.mkdir(parents=True)
    (addon.folder / "image.squashfs").write_bytes(b"broker")
    image_build.write_manifest_of(addon, addon.folder, {"mosquitto": "2"})
    assert found("vm lab: add-on mosquitto").ok
    (addon.folder / "image.squashfs").unlink()
    row = found("vm lab: add-on mosquitto")
    assert (row.ok, row.mend) == (False, "tunbench lab build --force mosquitto")
    assert row.found.startswith("the image mosquitto is damaged: [Errno 2]")
    assert row.found.endswith("image.squashfs'")


def only(path: Path, monkeypatch: pytest.MonkeyPatch, word: str, without: str = "") -> None:
    """A machine with every program less one, as root, on a kernel that takes commands with a word and no others."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    programs = {program for name in registry.tunnel_names() for program in registry.tunnel(name).about.needs.programs}
    for name in {*programs, *native_requirements.LAB_PROGRAMS, "tc", "ethtool", "nft", "modprobe", "iperf3"} - {
        without,
        "unshare",
    }:
        install_program(path, name)
    install_program(
        path, "unshare", f'case "$*" in *{word}*) ;; *) echo "Error: Unknown device type." >&2; exit 2;; esac'
    )
    native_requirements.tried.cache_clear()


def test_the_native_lab_has_one_row_a_tunnel_with_all_that_it_lacks(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(path, monkeypatch, "vxlan")
    assert found("native lab: vxlan") == HostCheck("native lab: vxlan", True, "can run")
    assert found("native lab: gre") == HostCheck(
        "native lab: gre",
        False,
        "lacks the kernel's ip_gre (Error: Unknown device type.)",
        "a kernel with the module ip_gre",
    )
    rows = [one.what for one in examine.host_checks() if one.what.startswith("native lab: ")]
    assert {f"native lab: {name}" for name in registry.tunnel_names()} <= set(rows)
    assert not any(one.needed for one in examine._native())


def test_variants_that_lack_something_else_are_told_by_their_spelling(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(path, monkeypatch, "wireguard")
    row = found("native lab: wireguard")
    assert row.ok
    assert row.found.startswith("can run; but wireguard:impl=")
    assert "wireguard:impl=go: lacks the program wireguard-go, the kernel's tun (Error: Unknown device" in row.found
    only(path, monkeypatch, "tuntap")
    install_program(path, "wireguard-go")
    row = found("native lab: wireguard")
    assert (row.ok, row.mend) == (False, "a kernel with the module wireguard")
    assert row.found.startswith("lacks the kernel's wireguard (Error: Unknown device type.); wireguard:impl=go")
    assert row.found.endswith(" can run")


def test_programs_that_are_missing_are_installed_by_one_command(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(path, monkeypatch, "tuntap", without="pptp")
    (path / "pppd").unlink()
    row = found("native lab: pptp")
    assert "the program pppd, the program pptp" in row.found
    assert row.mend.split(";")[0] == "apt-get install ppp pptp-linux"


def test_impairments_and_workloads_that_lack_the_same_share_a_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(path, monkeypatch, "delay")
    rows = {one.found: one.ok for one in examine._native() if one.what == "native lab: impairments"}
    named = "delay, jitter, distribution, reorder"
    assert rows.pop(named)
    [(text, ok)] = rows.items()
    refusal = "lacks the kernel's netem (Error: Unknown device type.)"
    assert (text, ok) == (f"loss, gemodel, state, duplicate, corrupt, slot: {refusal}", False)
    rows = {one.found: one.ok for one in examine._native() if one.what == "native lab: workloads"}
    assert rows["rr: lacks the program sockperf"] is False
    assert any("iperf3-tcp" in names for names, ok in rows.items() if ok)


@pytest.mark.parametrize("program", ["tcpdump", "unshare"])
def test_without_what_the_lab_itself_runs_nothing_else_is_tried(
    program: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(path, monkeypatch, "")
    (path / program).unlink()
    package = {"unshare": "util-linux"}.get(program, program)
    row = HostCheck("native lab", False, f"lacks the program {program}", f"apt-get install {package}")
    assert examine._native() == [row]
