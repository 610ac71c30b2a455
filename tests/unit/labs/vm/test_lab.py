"""What the vm lab starts, without starting it, and what is checked before."""

import errno
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fakes import shard
from tests.helpers.labs import ADDON, after, icount, members, qemu_is_there, small_images, started
from tests.helpers.machines import one_core
from tunbench.labs import image
from tunbench.labs.lab import LabError
from tunbench.labs.vm import host_core, host_memory, image_build, kvm
from tunbench.labs.vm import lab as vm
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import parse, read_stack
from tunbench.plan.shard import canonical
from tunbench.runner import registry
from tunbench.runner.declare.access import Access, Accesses


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small_images(monkeypatch, tmp_path)


def test_tables_that_the_cache_does_not_take_are_a_mistake_with_its_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_: Boot) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", "/cache/acpi")

    qemu_is_there(monkeypatch, tmp_path)
    monkeypatch.setattr(Boot, "acpi_tables", refuse)
    monkeypatch.setattr(image, "check", lambda _: {"digest": "a", "packages": {}})
    with pytest.raises(
        LabError, match="cannot write to /cache/acpi: Permission denied; make it writable, or name anoth"
    ):
        VmLab("virtual").check([])


@pytest.mark.parametrize(("clock", "where"), [("virtual", [{2}, {2, 3}]), ("real", [])])
def test_a_vm_that_counts_instructions_is_bound_to_a_core(
    clock: str, where: list[set[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(host_core, "least_taken", lambda: 2)
    monkeypatch.setattr(kvm, "machine", list)
    asked = one_core(monkeypatch, {2, 3})
    started(monkeypatch, VmLab(clock), tmp_path)
    assert asked == where, "the controlling process goes where it likes afterwards"


def test_a_vm_is_handed_the_shard_and_a_key_of_its_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    execution = started(monkeypatch, VmLab("virtual"), tmp_path)
    assert after(execution.argv, "-serial") == [f"file:{tmp_path}/console.log", f"file:{tmp_path}/events.jsonl"]
    handed = json.loads((tmp_path / "payload").read_bytes())
    assert handed["files"] == {"shard.json": canonical(shard("wireguard").spec())}
    assert handed["key"] == hashlib.sha256(b"7").hexdigest()
    archive = (tmp_path / "boot.cpio").read_bytes().removeprefix(b"first stage;")
    contents = {name: content for name, _, content, _ in members(archive)}
    assert b"python3 -m tunbench.runner.in_vm /dev/ttyS1" in contents["payload/program"]


def test_a_vm_is_the_machine_of_its_shard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = shard("wireguard")
    one = replace(one, values={**one.values, "machine": Machine("x", ("aes",), 125)})
    argv = started(monkeypatch, VmLab("virtual"), tmp_path, one).argv
    assert (after(argv, "-cpu"), after(argv, "-icount")) == (
        ["max,-erms,-fsrm,-rdrand,-rdseed,-cx16,-aes"],
        [icount(3)],
    )


def test_the_vm_lab_needs_qemu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="qemu-system-x86_64 is not installed; install it with: apt-get install qemu-"):
        VmLab("virtual").check([])


def test_the_manifest_says_what_the_numbers_depend_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    image_build.write_manifest_of(BASE, BASE.folder, {"kmod": "30"})
    facts = VmLab("virtual").check([])
    assert facts["qemu"] == "QEMU emulator version 7.2.22"
    assert facts["image"]["packages"] == {"kmod": "30"}
    assert list(facts["command"]) == ["full"]
    assert "-icount" in facts["command"]["full"]
    assert facts["addons"] == {}
    assert facts["start"] == "template"
    assert not any(str(tmp_path) in word for word in facts["command"]["full"]), (
        "no folder of this machine is among them"
    )


@pytest.mark.parametrize(("clock", "switch"), [("virtual", "off"), ("real", "")])
def test_the_manifest_says_what_shards_start_from(
    clock: str, switch: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    monkeypatch.setattr(kvm, "machine", list)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    monkeypatch.setenv("TUNBENCH_TEMPLATES", switch)
    assert VmLab(clock).check([])["start"] == "fresh boot"
    assert not (tmp_path / "cache" / "tunbench" / "templates").exists()


def test_a_cache_that_takes_no_template_is_told_before_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    (tmp_path / "cache" / "tunbench" / "templates").touch()
    with pytest.raises(LabError, match="make it writable, or name another cache with XDG_CACHE_HOME"):
        VmLab("virtual").check([])


def test_the_manifest_has_the_command_of_each_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    commands = VmLab("virtual").check([], [Machine("full"), Machine("x", speed=250)])["command"]
    assert {name: after(words, "-icount") for name, words in commands.items()} == {
        "full": [icount(0)],
        "x": [icount(2)],
    }


def test_the_memory_of_a_stack_that_needs_more_is_in_the_manifest_and_in_its_vm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    monkeypatch.setattr(registry.tunnel("ipip"), "about", registry.tunnel("ipip").about.needing(memory=2))
    registry.forget()
    image_build.write_manifest_of(BASE, BASE.folder, {})
    monkeypatch.setattr(host_memory, "MEMORY", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable:    3670016 kB\n")
    assert VmLab("virtual").check([parse("none"), parse("ipip")])["memory"] == {"ipip": "3 GiB"}
    assert VmLab("virtual").check([parse("none")])["memory"] == {}
    assert after(started(monkeypatch, VmLab("virtual"), tmp_path, shard("ipip")).argv, "-m")[0].startswith("3G,")
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable:    3670015 kB\n")
    with pytest.raises(LabError, match=r"ipip runs in a VM that takes 3.5 GiB of memory, and this machine has 3.5 GiB"):
        VmLab("virtual").check([parse("none"), parse("ipip")])
    assert VmLab("virtual").check([parse("none")])["memory"] == {}, "who needs no more is not asked"
    with pytest.raises(ValueError, match=r'"ipip.*" needs 8 GiB of memory in a VM'):
        read_stack("ipip+ipip+ipip+ipip")


def test_the_add_ons_of_the_stacks_are_checked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    monkeypatch.setattr(vm, "ADDONS", {"addon": ADDON})
    about = registry.tunnel("ipip").about.needing(addons=("addon",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    with pytest.raises(image.ImageError, match="the image addon is not built"):
        VmLab("virtual").check([parse("none"), parse("ipip")])
    assert VmLab("virtual").check([parse("none")])["addons"] == {}
    image_build.write_manifest_of(ADDON, ADDON.folder, {"tshark": "4"})
    assert VmLab("virtual").check([parse("ipip")])["addons"] == {
        "addon": {"digest": image.check(ADDON)["digest"], "packages": {"tshark": "4"}}
    }


def test_the_add_on_of_a_gateway_that_opens_ports_is_checked_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    [opening, silent] = [Accesses("x", Access("x", nat="symmetric", portmap=one)) for one in ("pcp", "none")]
    assert VmLab("virtual").check([parse("none")], accesses=[silent])["addons"] == {}
    with pytest.raises(image.ImageError, match="the image miniupnpd is not built"):
        VmLab("virtual").check([parse("none")], accesses=[opening])
    one = shard("wireguard")
    assert replace(one, values={**one.values, "access": opening}).addons == ["miniupnpd"]


def test_the_add_on_of_a_workload_is_checked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    videos, pings = shard("none", 1, "rist"), shard("none", 1, "ping")
    assert (videos.addons, pings.addons) == (["rist"], []), "another workload's VM is what it was"
    assert VmLab("virtual").check(pings.needing)["addons"] == {}
    with pytest.raises(image.ImageError, match="the image rist is not built"):
        VmLab("virtual").check(videos.needing)
    assert vm.images_of(videos, ()) == vm.addons_of(["rist"])
    with pytest.raises(image.ImageError, match=r"^the images ngtcp2, rist are not built; build them with: "):
        VmLab("virtual").check([*videos.needing, *shard("none", 1, "quic").needing])


def test_stacks_that_need_add_ons_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm, "ADDONS", {"addon": ADDON})
    about = registry.tunnel("ipip").about.needing(addons=("addon",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    assert vm.addons_of(parse("vxlan+ipip+ipip").addons) == [ADDON]
    assert vm.addons_of(parse("vxlan").addons) == []
