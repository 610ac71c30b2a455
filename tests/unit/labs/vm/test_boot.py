"""What a VM boots, without booting it: its command line, its archive, and what it is handed."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.helpers.labs import ADDON, after, fadt, icount, members, small_images
from tunbench.labs import payload
from tunbench.labs.vm import apic_timer, boot, kvm, qemu
from tunbench.labs.vm.boot import FULL, Boot
from tunbench.labs.vm.image_definition import BASE, Definition
from tunbench.plan.axes.machine import Machine


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small_images(monkeypatch, tmp_path)


def command(*images: Definition, clock: str = "virtual", machine: Machine = FULL) -> list[str]:
    return Boot(clock, Path("/run/folder"), images or (BASE,), machine).command()


def test_a_virtual_machine_counts_instructions() -> None:
    argv = command()
    assert argv[0] == "qemu-system-x86_64"
    assert after(argv, "-icount") == [icount(0)]
    assert after(argv, "-rtc") == ["clock=vm,base=2026-01-01"]
    assert after(argv, "-smp") == ["1"]
    assert after(argv, "-seed") == ["1"], "the seed of a shard comes in with its payload"
    assert "hpet=on" in after(argv, "-M")[0]
    assert after(argv, "-cpu") == ["max,-erms,-fsrm,-rdrand,-rdseed,-cx16"]
    assert {"tsc=reliable", "tsc_early_khz=1000000", "nolapic_timer", "norandmaps", "random.trust_cpu=on"} <= set(
        after(argv, "-append")[0].split()
    )


@pytest.mark.parametrize(("speed", "shift", "khz"), [(1000, 0, "1000000"), (125, 3, "1000000"), (600, 1, "1200000")])
def test_a_machine_of_another_speed_has_another_clock(speed: int, shift: int, khz: str) -> None:
    machine = Machine("any", speed=speed)
    argv = command(machine=machine)
    assert after(argv, "-icount") == [icount(shift)]
    assert f"tsc_early_khz={khz}" in after(argv, "-append")[0].split()


def test_a_kernel_loads_no_module_that_it_is_without() -> None:
    told = after(command(machine=Machine("any", kernel_without=("tcp_bbr",))), "-append")[0]
    assert "module_blacklist=tcp_bbr" in told.split()
    assert "module_blacklist" not in after(command(machine=Machine("any")), "-append")[0]


@pytest.mark.parametrize(("speed", "hpet"), [(1000, True), (250, True), (600, False), (7650, False)])
def test_hpet_has_the_timers_where_its_second_is_that_of_the_kernel(speed: int, hpet: bool) -> None:
    argv = command(machine=Machine("any", speed=speed))
    [chipset] = after(argv, "-M")
    assert ("hpet=on" in chipset, "hpet=off,pit=off,pic=off" in chipset) == (hpet, not hpet)
    assert ("nolapic_timer" in after(argv, "-append")[0]) == hpet


def test_the_real_clock_keeps_its_timers() -> None:
    assert "hpet=on" in after(command(clock="real"), "-M")[0]


def test_a_machine_without_hpet_has_a_table_of_its_own_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apic_timer, "archive", lambda identity, shown: b"table;")
    monkeypatch.setattr(qemu, "version", lambda: "QEMU 7")
    Boot("virtual", tmp_path, machine=Machine("any", speed=600)).write("shard", {}, 1)
    assert (tmp_path / "boot.cpio").read_bytes().startswith(b"table;first stage;")


def test_its_table_is_asked_for_before_the_run_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def show(argv: list[str], **_: object) -> None:
        Path(after(argv, "-serial")[1].removeprefix("file:")).write_bytes(fadt())

    monkeypatch.setattr(subprocess, "run", show)
    monkeypatch.setattr(qemu, "version", lambda: "QEMU 7")
    assert Boot("virtual", Path("RUN"), machine=Machine("any", speed=600)).acpi_tables()
    [kept] = (tmp_path / "cache" / "tunbench" / "images" / "acpi").iterdir()
    assert kept.suffix == ".aml", "what QEMU wrote meanwhile is gone"


def test_a_machine_lacks_features() -> None:
    machine = Machine("any", ("aes", "vaes"))
    argv = command(machine=machine)
    assert after(argv, "-cpu") == ["max,-erms,-fsrm,-rdrand,-rdseed,-cx16,-aes,-vaes"]


def test_nothing_in_it_completes_from_a_thread_of_the_host() -> None:
    argv = command()
    assert "-nodefaults" in argv
    assert not {"-drive", "-netdev", "-nic", "-net", "-virtfs", "-chardev", "-monitor", "-qmp"} & set(argv)
    assert {device.split(",")[0] for device in after(argv, "-device")} == {"nvdimm", "pvpanic"}
    assert after(argv, "-serial") == ["file:/run/folder/console.log", "file:/run/folder/events.jsonl"]


def test_it_stays_below_1_5_gib() -> None:
    argv = command()
    assert after(argv, "-m")[0].split(",")[0] == "1G"
    assert after(argv, "-accel") == ["tcg,tb-size=128"]


def test_a_stack_that_needs_more_has_more() -> None:
    argv = Boot("virtual", Path("/run/folder"), more_memory=2).command()
    assert after(argv, "-m")[0].split(",")[0] == "3G"
    assert after(argv, "-object")[0] == "memory-backend-ram,id=memory,size=3G"


def test_images_are_persistent_memory_that_is_only_read() -> None:
    argv = command(BASE, ADDON)
    _, first, second = after(argv, "-object")
    for number, (backend, definition, size) in enumerate(((first, BASE, 4096), (second, ADDON, 8192))):
        assert backend == (
            f"memory-backend-file,id=image{number},share=on,readonly=on,"
            f"mem-path={definition.folder}/image.squashfs,size={size}"
        )
    assert after(argv, "-m") == ["1G,slots=3,maxmem=16G"]
    assert [device.split(",")[1] for device in after(argv, "-device")[1:]] == ["id=nvdimm0", "id=nvdimm1"]


@pytest.mark.parametrize(("works", "accelerator"), [(True, "kvm"), (False, "tcg,thread=multi,tb-size=128")])
def test_the_real_clock_takes_kvm_where_it_works(
    works: bool, accelerator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kvm, "works", lambda: works)
    argv = command(clock="real")
    assert after(argv, "-accel") == [accelerator]
    assert not {"-icount", "-rtc"} & set(argv)
    assert "tsc=reliable" not in after(argv, "-append")[0]


def test_a_guest_that_says_where_it_may_be_saved_goes_on() -> None:
    assert after(command(), "-action") == ["panic=none"]
    stopping = Boot("virtual", Path("/run/folder")).command("memory-backend-file,mem-path=x", panic="pause")
    assert after(stopping, "-action") == ["panic=pause"]
    assert after(stopping, "-object")[0] == "memory-backend-file,mem-path=x,id=memory,size=1G"
    assert [one for one in stopping if one not in command()] == [
        "memory-backend-file,mem-path=x,id=memory,size=1G",
        "panic=pause",
    ]


def written(folder: Path, **files: bytes) -> Boot:
    vm = Boot("virtual", folder)
    vm.write("shard", files, 7)
    return vm


def test_the_archive_is_the_runner_and_what_starts_it_alone(tmp_path: Path) -> None:
    written(tmp_path, shard=b"{}")
    whole = (tmp_path / "boot.cpio").read_bytes()
    assert whole.startswith(b"first stage;")
    archive = whole.removeprefix(b"first stage;")
    assert len(archive) % boot.ARCHIVE_GRANULE_BYTES == 0
    files = {name: content for name, mode, content, _ in members(archive) if mode == 0o100644}
    assert files.pop("payload/program") == (payload.GUEST / "shard").read_bytes()
    assert files.pop("payload/start") == (payload.GUEST / "start").read_bytes()
    assert files == {f"payload/{name}": content for name, content in payload.runner_files().items()}


def test_what_is_handed_in_is_not_in_the_archive(tmp_path: Path) -> None:
    written(tmp_path, script=b"one")
    first = (tmp_path / "boot.cpio").read_bytes()
    Boot("virtual", tmp_path).write("shard", {"script": b"another"}, 8)
    assert (tmp_path / "boot.cpio").read_bytes() == first
    assert json.loads((tmp_path / "payload").read_bytes())["files"] == {"script": "another"}


def test_bytes_that_are_no_text_arrive_as_they_are(tmp_path: Path) -> None:
    written(tmp_path, script=b"\xff\xfe")
    text = json.loads((tmp_path / "payload").read_bytes())["files"]["script"]
    assert text.encode(errors="surrogateescape") == b"\xff\xfe"


def test_the_length_of_a_shard_moves_nothing(tmp_path: Path) -> None:
    lengths = set()
    for size in (1, 100, 5000):
        written(tmp_path, shard=b"x" * size)
        lengths.add((tmp_path / "payload").stat().st_size)
    assert lengths == {boot.PAYLOAD_GRANULE_BYTES}
