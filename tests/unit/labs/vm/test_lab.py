"""What the vm lab starts, without starting it: command lines, archive, and what is checked before."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fakes import shard
from tests.helpers.host import install_program
from tests.helpers.labs import after, members, started
from tests.helpers.machines import one_core
from tunbench.labs import image, payload
from tunbench.labs.lab import LabError
from tunbench.labs.vm import host_core, image_build, kvm
from tunbench.labs.vm import lab as vm
from tunbench.labs.vm.image_definition import BASE, Definition
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import parse
from tunbench.plan.shard import canonical
from tunbench.runner import registry

ADDON = Definition(name="addon", packages=("tshark",), addon=True)


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number, definition in enumerate((BASE, ADDON), start=1):
        definition.folder.mkdir(parents=True)
        (definition.folder / "image.squashfs").write_bytes(bytes(4096 * number))
        (definition.folder / "boot.cpio").write_bytes(b"first stage;")


def command(clock: str = "virtual", *addons: Definition) -> list[str]:
    return VmLab(clock).command(Path("/run/folder"), 7, addons, ["file:console", "file:events"])


def qemu_is_there(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    install_program(folder, "qemu-system-x86_64", "echo QEMU emulator version 7.2.22; echo Copyright")
    monkeypatch.setenv("PATH", str(folder))


def icount(shift: int) -> str:
    return f"shift={shift},sleep=off,rr=record,rrfile=/dev/null"


def test_a_virtual_machine_counts_instructions() -> None:
    argv = command()
    assert argv[0] == "qemu-system-x86_64"
    assert after(argv, "-icount") == [icount(0)]
    assert after(argv, "-rtc") == ["clock=vm,base=2026-01-01"]
    assert after(argv, "-smp") == ["1"]
    assert after(argv, "-seed") == ["7"]
    assert "hpet=on" in after(argv, "-M")[0]
    assert after(argv, "-cpu") == ["max,-erms,-fsrm"]
    assert {"tsc=reliable", "tsc_early_khz=1000000", "nolapic_timer", "norandmaps", "random.trust_cpu=on"} <= set(
        after(argv, "-append")[0].split()
    )


@pytest.mark.parametrize(("speed", "shift", "khz"), [(1000, 0, "1000000"), (125, 3, "1000000"), (600, 1, "1200000")])
def test_a_machine_of_another_speed_has_another_clock(speed: int, shift: int, khz: str) -> None:
    machine = Machine("any", speed=speed)
    argv = VmLab("virtual").command(Path("/run/folder"), 7, (), [], machine)
    assert after(argv, "-icount") == [icount(shift)]
    assert f"tsc_early_khz={khz}" in after(argv, "-append")[0].split()


@pytest.mark.parametrize(("speed", "hpet"), [(1000, True), (250, True), (600, False), (7650, False)])
def test_hpet_has_the_timers_where_its_second_is_that_of_the_kernel(speed: int, hpet: bool) -> None:
    argv = VmLab("virtual").command(Path("/run/folder"), 7, (), [], Machine("any", speed=speed))
    [chipset] = after(argv, "-M")
    assert ("hpet=on" in chipset, "hpet=off,pit=off,pic=off" in chipset) == (hpet, not hpet)
    assert ("nolapic_timer" in after(argv, "-append")[0]) == hpet


def test_the_real_clock_keeps_its_timers() -> None:
    assert "hpet=on" in after(command("real"), "-M")[0]


def test_a_machine_lacks_features() -> None:
    machine = Machine("any", ("aes", "vaes"))
    argv = VmLab("virtual").command(Path("/run/folder"), 7, (), [], machine)
    assert after(argv, "-cpu") == ["max,-erms,-fsrm,-aes,-vaes"]


def test_nothing_in_it_completes_from_a_thread_of_the_host() -> None:
    argv = command()
    assert "-nodefaults" in argv
    assert not {"-drive", "-netdev", "-nic", "-net", "-virtfs", "-chardev", "-monitor", "-qmp"} & set(argv)
    assert all(device.startswith("nvdimm,") for device in after(argv, "-device"))
    assert after(argv, "-serial") == ["file:console", "file:events"]


def test_it_stays_below_1_5_gib() -> None:
    argv = command()
    assert after(argv, "-m")[0].split(",")[0] == "1G"
    assert after(argv, "-accel") == ["tcg,tb-size=128"]


def test_images_are_persistent_memory_that_is_only_read() -> None:
    argv = command("virtual", ADDON)
    first, second = after(argv, "-object")
    for number, (backend, definition, size) in enumerate(((first, BASE, 4096), (second, ADDON, 8192))):
        assert backend == (
            f"memory-backend-file,id=image{number},share=off,readonly=on,"
            f"mem-path={definition.folder}/image.squashfs,size={size}"
        )
    assert after(argv, "-m") == ["1G,slots=3,maxmem=16G"]
    assert [device.split(",")[1] for device in after(argv, "-device")] == ["id=nvdimm0", "id=nvdimm1"]


@pytest.mark.parametrize(("works", "accelerator"), [(True, "kvm"), (False, "tcg,thread=multi,tb-size=128")])
def test_the_real_clock_takes_kvm_where_it_works(
    works: bool, accelerator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kvm, "works", lambda: works)
    argv = command("real")
    assert after(argv, "-accel") == [accelerator]
    assert not {"-icount", "-rtc"} & set(argv)
    assert "tsc=reliable" not in after(argv, "-append")[0]


def prepared(tmp_path: Path, files: dict[str, bytes]) -> bytes:
    VmLab("virtual").prepare(files, tmp_path, 7, (), [])
    return (tmp_path / "boot.cpio").read_bytes()


def test_the_payload_is_the_runner_and_the_shard_alone(tmp_path: Path) -> None:
    boot = prepared(tmp_path, {"shard.json": b"{}", "program": b"true\n"})
    assert boot.startswith(b"first stage;")
    archive = boot.removeprefix(b"first stage;")
    assert len(archive) % vm.PAYLOAD_GRANULE_BYTES == 0
    files = {name: content for name, mode, content, _ in members(archive) if mode == 0o100644}
    assert files.pop("payload/shard.json") == b"{}"
    assert files.pop("payload/program") == b"true\n"
    assert files.pop("payload/start") == (payload.GUEST / "start").read_bytes()
    assert files == {f"payload/{name}": content for name, content in payload.runner_files().items()}


def test_the_length_of_a_shard_moves_nothing(tmp_path: Path) -> None:
    lengths = {len(prepared(tmp_path, {"shard.json": b"x" * size})) for size in (1, 100, 5000)}
    assert len(lengths) == 1
    assert prepared(tmp_path, {"shard.json": b"same"}) == prepared(tmp_path, {"shard.json": b"same"})


@pytest.mark.parametrize(("clock", "where"), [("virtual", [{2}, {2, 3}]), ("real", [])])
def test_a_vm_that_counts_instructions_is_bound_to_a_core(
    clock: str, where: list[set[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(host_core, "least_taken", lambda: 2)
    monkeypatch.setattr(kvm, "machine", list)
    asked = one_core(monkeypatch, {2, 3})
    started(monkeypatch, VmLab(clock), tmp_path)
    assert asked == where, "the controlling process goes where it likes afterwards"


def test_a_vm_is_started_with_the_shard_and_its_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    execution = started(monkeypatch, VmLab("virtual"), tmp_path)
    assert after(execution.argv, "-seed") == [str(shard("wireguard").seed)]
    assert after(execution.argv, "-serial") == [f"file:{tmp_path}/console.log", f"file:{tmp_path}/events.jsonl"]
    archive = (tmp_path / "boot.cpio").read_bytes().removeprefix(b"first stage;")
    contents = {name: content for name, _, content, _ in members(archive)}
    assert contents["payload/shard.json"] == canonical(shard("wireguard").spec()).encode()
    assert b"python3 -m tunbench.runner /payload/shard.json /dev/ttyS1" in contents["payload/program"]


def test_a_vm_is_the_machine_of_its_shard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = shard("wireguard")
    one = replace(one, values={**one.values, "machine": Machine("x", ("aes",), 125)})
    argv = started(monkeypatch, VmLab("virtual"), tmp_path, one).argv
    assert (after(argv, "-cpu"), after(argv, "-icount")) == (
        ["max,-erms,-fsrm,-aes"],
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
    assert not any(str(tmp_path) in word for word in facts["command"]["full"]), (
        "no folder of this machine is among them"
    )


def test_the_manifest_has_the_command_of_each_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    commands = VmLab("virtual").check([], [Machine("full"), Machine("x", speed=250)])["command"]
    assert {name: after(words, "-icount") for name, words in commands.items()} == {
        "full": [icount(0)],
        "x": [icount(2)],
    }


def test_the_add_ons_of_the_stacks_are_checked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    qemu_is_there(monkeypatch, tmp_path)
    monkeypatch.setattr(vm, "ADDONS", {"addon": ADDON})
    about = registry.tunnel("ipip").about.needing(addons=("addon",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    with pytest.raises(image.ImageError, match="the image addon is not built"):
        VmLab("virtual").check([parse("none"), parse("ipip")])
    assert VmLab("virtual").check([parse("none")])["addons"] == {}
    image_build.write_manifest_of(ADDON, ADDON.folder, {})
    assert VmLab("virtual").check([parse("ipip")])["addons"] == {"addon": image.check(ADDON)["digest"]}


def test_stacks_that_need_add_ons_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm, "ADDONS", {"addon": ADDON})
    about = registry.tunnel("ipip").about.needing(addons=("addon",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    assert vm.addons_of(parse("vxlan+ipip+ipip")) == [ADDON]
    assert vm.addons_of(parse("vxlan")) == []
