"""What the labs start, without starting it: command lines, payload, and what is checked before."""

import hashlib
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fakes import shard
from tests.helpers.labs import after, members, started
from tests.helpers.machines import one_core
from tunbench.labs import image, payload
from tunbench.labs import registry as labs
from tunbench.labs.lab import LabError
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm import host_core, image_build, kvm
from tunbench.labs.vm import lab as vm
from tunbench.labs.vm.image_definition import BASE, Definition
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import parse
from tunbench.plan.model import LAB_CLOCKS
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


@pytest.mark.parametrize(("speed", "shift"), [(1000, 0), (500, 1), (250, 2), (125, 3)])
def test_a_slower_machine_takes_longer_for_an_instruction(speed: int, shift: int) -> None:
    machine = Machine("any", speed=speed)
    argv = VmLab("virtual").command(Path("/run/folder"), 7, (), [], machine)
    assert after(argv, "-icount") == [icount(shift)]
    assert after(argv, "-append") == after(command(), "-append"), "its time stamp counter runs at the same rate"


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
    assert len(archive) % vm.PAYLOAD_SIZE == 0
    files = {name: content for name, mode, content, _ in members(archive) if mode == 0o100644}
    assert files.pop("payload/shard.json") == b"{}"
    assert files.pop("payload/program") == b"true\n"
    assert files.pop("payload/start") == (payload.GUEST / "start").read_bytes()
    assert files == {f"payload/{name}": content for name, content in payload.runner_files().items()}


def test_the_length_of_a_shard_moves_nothing(tmp_path: Path) -> None:
    lengths = {len(prepared(tmp_path, {"shard.json": b"x" * size})) for size in (1, 100, 5000)}
    assert len(lengths) == 1
    assert prepared(tmp_path, {"shard.json": b"same"}) == prepared(tmp_path, {"shard.json": b"same"})


def test_the_runner_is_what_the_package_has() -> None:
    files = payload.runner_files()
    assert files["tunbench/__init__.py"] == (payload.PACKAGE / "__init__.py").read_bytes()
    assert {"tunbench/runner/__main__.py", "tunbench/runner/tunnels/wireguard.py"} <= set(files)
    assert all(name == "tunbench/__init__.py" or name.startswith("tunbench/runner/") for name in files)


def test_the_digest_of_the_runner_follows_names_and_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {payload.digest()}
    for files in ({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3"}, {"a": b"1", "c": b"2"}, {"a": b"1b 12"}):
        monkeypatch.setattr(payload, "runner_files", lambda files=files: files)
        assert payload.digest() == payload.digest()
        digests.add(payload.digest())
    assert len(digests) == 5


def test_the_runner_is_unpacked_over_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "payload").mkdir()
    (tmp_path / "payload" / "old").write_text("")
    payload.unpack(tmp_path / "payload")
    found = {
        str(path.relative_to(tmp_path / "payload")) for path in (tmp_path / "payload").rglob("*") if path.is_file()
    }
    assert found == set(payload.runner_files())


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


def test_the_vm_lab_needs_qemu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="qemu-system-x86_64 is not installed; install it with: apt-get install qemu-"):
        VmLab("virtual").check([])


def test_the_manifest_says_what_the_numbers_depend_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "qemu-system-x86_64").write_text("#!/bin/sh\necho QEMU emulator version 7.2.22\necho Copyright\n")
    (tmp_path / "qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    image_build._write_manifest(BASE, BASE.folder, {"kmod": "30"})
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
    (tmp_path / "qemu-system-x86_64").write_text("#!/bin/sh\necho QEMU emulator version 7.2.22\n")
    (tmp_path / "qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    image_build._write_manifest(BASE, BASE.folder, {})
    commands = VmLab("virtual").check([], [Machine("full"), Machine("x", speed=250)])["command"]
    assert {name: after(words, "-icount") for name, words in commands.items()} == {
        "full": [icount(0)],
        "x": [icount(2)],
    }


def test_the_add_ons_of_the_stacks_are_checked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "qemu-system-x86_64").write_text("#!/bin/sh\necho QEMU emulator version 7.2.22\n")
    (tmp_path / "qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vm, "ADDONS", {"addon": ADDON})
    about = registry.tunnel("ipip").about.needing(addons=("addon",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    image_build._write_manifest(BASE, BASE.folder, {})
    with pytest.raises(image.ImageError, match="the image addon is not built"):
        VmLab("virtual").check([parse("none"), parse("ipip")])
    assert VmLab("virtual").check([parse("none")])["addons"] == {}
    image_build._write_manifest(ADDON, ADDON.folder, {})
    assert VmLab("virtual").check([parse("ipip")])["addons"] == {"addon": image.check(ADDON)["digest"]}


def test_stacks_that_need_add_ons_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm, "ADDONS", {"addon": ADDON})
    about = registry.tunnel("ipip").about.needing(addons=("addon",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    assert vm.addons_of(parse("vxlan+ipip+ipip")) == [ADDON]
    assert vm.addons_of(parse("vxlan")) == []


@pytest.mark.parametrize(
    ("kind", "clock", "lab"),
    [("vm", "virtual", VmLab("virtual")), ("vm", "real", VmLab("real")), ("native", "real", NativeLab())],
)
def test_a_lab_is_chosen_by_its_name(kind: str, clock: str, lab: object) -> None:
    assert labs.lab(kind, clock) == lab


def test_every_lab_that_a_plan_may_ask_for_is_there() -> None:
    assert labs.LABS.keys() == LAB_CLOCKS.keys()
    assert all(labs.lab(kind, clock).clock == clock for kind, clocks in LAB_CLOCKS.items() for clock in clocks)
    assert all(labs.lab(kind, clocks[0]).kind == kind for kind, clocks in LAB_CLOCKS.items())


def kvm_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> bool:
    (tmp_path / "qemu-system-x86_64").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "access", lambda *_: True)
    monkeypatch.setattr(kvm, "TRIAL_SECONDS", 0.5 if "sleep" in script else 20)
    return kvm._try()


CONSOLE = 'for word in "$@"; do case $word in file:*) console=${word#file:};; esac; done; '


@pytest.mark.parametrize(
    ("script", "works"),
    [
        (CONSOLE + "echo Linux version 6.1 >$console", True),
        (CONSOLE + "echo SeaBIOS >$console", False),
        (CONSOLE + "echo Linux version 6.1 >$console; exit 1", False),
        ("exec sleep 20", False),
    ],
)
def test_kvm_works_where_the_kernel_boots(
    script: str, works: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert kvm_answers(monkeypatch, tmp_path, script) is works


def test_kvm_is_not_tried_where_it_may_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not kvm._try()


def test_the_answer_of_kvm_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([True])
    monkeypatch.setattr(kvm, "_try", lambda: next(answers))
    for _ in range(2):
        kvm.works.cache_clear()
        assert kvm.works()
    kvm.works.cache_clear()


def test_where_it_cannot_be_kept_kvm_is_asked_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(os, "access", lambda *_: True)
    answers = iter([True, False])
    monkeypatch.setattr(kvm, "_try", lambda: next(answers))
    for answer in (True, False):
        kvm.works.cache_clear()
        assert kvm.works() is answer
    kvm.works.cache_clear()


def test_equal_runners_have_equal_digests_on_every_machine() -> None:
    whole = hashlib.sha256()
    files = sorted(payload.runner_files().items(), key=lambda item: Path(item[0]).parts)
    files += [(f"guest/{path.name}", path.read_bytes()) for path in sorted(payload.GUEST.iterdir())]
    for name, content in files:
        whole.update(f"{name} {len(content)}\n".encode() + content)
    assert payload.digest() == whole.hexdigest()


def test_the_digest_of_the_runner_follows_what_starts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = payload.digest()
    guest = shutil.copytree(payload.GUEST, tmp_path / "guest")
    monkeypatch.setattr(payload, "GUEST", guest)
    assert payload.digest() == before
    (guest / "start").write_bytes((guest / "start").read_bytes() + b"true\n")
    assert payload.digest() != before
