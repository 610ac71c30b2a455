"""What building a tool lacks, and what a program's libraries lack in the base image."""

import os
from pathlib import Path

import pytest

from tunbench.labs import image
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.runner.node.shell import wait_until
from tunbench.toolbox import build_requirements, libraries
from tunbench.toolbox.command import ToolError, checked, run
from tunbench.toolbox.tools import TOOLS


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which programs are looked for, and a cache without images."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "bin"


def program(path: Path, name: str, prints: str = "", status: int = 0) -> None:
    (path / name).write_text(
        f"#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <<'END'\n{prints}\nEND\nexit {status}\n"
    )
    (path / name).chmod(0o755)


SQUASHFS = "tar2sqfs is not installed; install it with: apt-get install squashfs-tools-ng"


def test_a_bare_machine_is_told_all_that_it_lacks_at_once() -> None:
    assert build_requirements.missing([TOOLS["easytier"], TOOLS["nebula"], TOOLS["tailscale"]]) == [
        f"go {TOOLS['tailscale'].oldest} or newer is needed to build nebula, tailscale; it is not installed "
        "(docs/toolbox.md#what-it-takes)",
        f"cargo {TOOLS['easytier'].oldest} or newer is needed to build easytier; it is not installed "
        "(docs/toolbox.md#what-it-takes)",
        SQUASHFS,
        "gcc is not installed; install it with: apt-get install gcc libc6-dev",
        "protoc is not installed; install it with: apt-get install protobuf-compiler libprotobuf-dev",
        "the image base is not built; build it with: tunbench lab build base",
    ]


def test_what_is_too_old_is_told_with_what_it_is(path: Path) -> None:
    program(path, "go", "go version go1.19.8 linux/amd64")
    program(path, "tar2sqfs")
    [line] = build_requirements.missing([TOOLS["headscale"]])
    assert line.startswith(f"go {TOOLS['headscale'].oldest} or newer is needed to build headscale; found 1.19.8 (")


def test_a_machine_that_has_all_lacks_nothing(path: Path) -> None:
    program(path, "go", "go version go1.99 linux/amd64")
    program(path, "cargo", "cargo 1.99.0 (f2d3ce0bd 2026-03-21)")
    for name in ("tar2sqfs", "gcc", "protoc"):
        program(path, name)
    base_image(path)
    assert build_requirements.missing(TOOLS.values()) == []


def test_nothing_is_needed_for_nothing() -> None:
    assert build_requirements.missing([]) == []


# Versions are no decimal fractions.
@pytest.mark.parametrize(("one", "other"), [("1.9", "1.10"), ("1.26", "1.26.8"), ("1.85.1", "1.86")])
def test_versions_are_compared_part_by_part(one: str, other: str) -> None:
    assert build_requirements.number(one) < build_requirements.number(other)


ZEROTIER = """\
	linux-vdso.so.1 (0x00007ffd)
	libminiupnpc.so.17 => /lib/x86_64-linux-gnu/libminiupnpc.so.17 (0x00007f01)
	libz.so.1 => {folder}/libz.so.1 (0x00007f02)
	libstdc++.so.6 => {folder}/libstdc++.so.6 (0x00007f03)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f04)
	/lib64/ld-linux-x86-64.so.2 (0x00007f05)
"""

IN_BASE = """\
dir /usr/lib/x86_64-linux-gnu 0755 0 0
file /usr/lib/x86_64-linux-gnu/libz.so.1.2.13 0644 0 0
slink /usr/lib/x86_64-linux-gnu/libz.so.1 0777 0 0 libz.so.1.2.13
slink /usr/lib/x86_64-linux-gnu/libminiupnpc.so.17 0777 0 0 libminiupnpc.so.2
"""


def elf(path: Path, machine: int = libraries.X86_64, text: bytes = b"GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0") -> Path:
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + machine.to_bytes(2, "little") + bytes(44) + text)
    return path


def base_image(path: Path) -> None:
    program(path, "rdsquashfs", IN_BASE)
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})


def test_libraries_that_the_base_lacks_go_along(path: Path, tmp_path: Path) -> None:
    base_image(path)
    program(path, "ldd", ZEROTIER.format(folder=tmp_path))
    lacking = elf(tmp_path / "libstdc++.so.6")
    assert libraries.missing_in_base([elf(tmp_path / "zerotier-one")]) == [lacking]


def test_a_library_that_this_machine_lacks_too_is_named(path: Path, tmp_path: Path) -> None:
    program(path, "ldd", "\tlibnatpmp.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x7f)")
    with pytest.raises(ToolError, match=r"^zerotier-one needs libnatpmp\.so\.1, which this machine does not have$"):
        libraries.missing_in_base([elf(tmp_path / "zerotier-one")])


def test_what_needs_nothing_but_glibc_does_not_ask_for_the_base_image(path: Path, tmp_path: Path) -> None:
    program(path, "ldd", "\tlibgcc_s.so.1 => /lib/libgcc_s.so.1 (0x7f)\n\tlibm.so.6 => /lib/libm.so.6 (0x7f)")
    assert libraries.missing_in_base([elf(tmp_path / "vpncloud")]) == []


def test_a_static_program_needs_nothing_whatever_it_was_built_with(path: Path, tmp_path: Path) -> None:
    program(path, "ldd", "\tnot a dynamic executable", status=1)
    assert libraries.missing_in_base([elf(tmp_path / "wesher", text=b"GLIBC_2.99")]) == []


def test_what_debian_12_cannot_run_is_refused(path: Path, tmp_path: Path) -> None:
    program(path, "ldd", "\tlibc.so.6 => /lib/libc.so.6 (0x7f)")
    with pytest.raises(ToolError, match=r"mycelium needs glibc 2\.39, and the lab has 2\.36: build it on Debian 12"):
        libraries.missing_in_base([elf(tmp_path / "mycelium", text=b"\0GLIBC_2.4\0GLIBC_2.39\0")])
    with pytest.raises(ToolError, match="mycelium is not for x86-64"):
        libraries.missing_in_base([elf(tmp_path / "mycelium", machine=183)])


def test_the_base_image_must_be_there_where_it_has_to_be_asked(path: Path, tmp_path: Path) -> None:
    program(path, "ldd", ZEROTIER.format(folder=tmp_path))
    with pytest.raises(image.ImageError, match="the image base is not built"):
        libraries.missing_in_base([elf(tmp_path / "zerotier-one")])


def test_a_command_tells_its_lines_and_keeps_what_it_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    script = 'echo result; echo "compiling $WHAT in $PWD" >&2; echo done >&2; exit 3'
    done = run(["/bin/sh", "-c", script], tmp_path, {"WHAT": "it"}, told.append)
    assert (done.status, done.stdout) == (3, "result\n")
    assert told == [f"compiling it in {tmp_path}", "done"]
    with pytest.raises(ToolError, match=rf"^/bin/sh -c .* ended with status 3:\ncompiling it in {tmp_path}\ndone$"):
        checked(["/bin/sh", "-c", "…"], done)
    assert checked([], done._replace(status=0)) == "result\n"


def test_of_a_long_output_the_last_lines_are_kept(tmp_path: Path) -> None:
    script = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo $i >&2; done"
    words = run(["/bin/sh", "-c", script], tmp_path, {}, lambda _: None).words
    assert words.split() == [str(number) for number in range(31, 51)]


def test_an_interrupted_command_ends_with_all_that_it_started(tmp_path: Path) -> None:
    def interrupt(pid: str) -> None:
        (tmp_path / "pid").write_text(pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["/bin/sh", "-c", "/bin/sleep 60 & echo $! >&2; wait"], tmp_path, {}, interrupt)
    child = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    # A busy machine takes its time to end it, and its new parent may not have asked for its end yet.
    assert wait_until(lambda: not child.exists() or child.read_text().split()[2] in "ZX", 10)
    assert os.environ["PATH"], "the environment of this process is as it was"
