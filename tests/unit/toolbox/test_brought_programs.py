"""Programs that the user brings: where they are found, and what the cache keeps of them."""

import errno
import hashlib
import os
import tarfile
from pathlib import Path

import pytest

from tests.helpers.toolboxes import configure, program, user_with_nothing
from tunbench.journal import files
from tunbench.labs import extras, image
from tunbench.toolbox import brought_programs, libraries
from tunbench.toolbox.brought_programs import BroughtProgram
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import tools_folder


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a user without configuration and cache."""
    return user_with_nothing(monkeypatch, tmp_path)


def test_a_given_file_comes_before_a_configured_one_and_that_before_the_path(home: Path) -> None:
    assert brought_programs.files_at_hand(["zerotier-one"], {}) == {}
    on_path = program(home / "bin" / "zerotier-one")
    assert brought_programs.files_at_hand(["zerotier-one"], {}) == {"zerotier-one": str(on_path)}
    configure(home, '[tools]\nzerotier-one = "/opt/zt"\n')
    assert brought_programs.files_at_hand(["zerotier-one"], {}) == {"zerotier-one": "/opt/zt"}
    assert brought_programs.files_at_hand(["zerotier-one"], {"zerotier-one": "/mine"}) == {"zerotier-one": "/mine"}


def test_a_configured_file_may_lie_beside_the_configuration_or_at_home(home: Path) -> None:
    configure(home, '[tools]\nzerotier-one = "zt"\n')
    assert brought_programs.configured() == {"zerotier-one": f"{home}/config/tunbench/zt"}
    configure(home, '[tools]\nzerotier-one = "~/zt"\n')
    assert brought_programs.configured() == {"zerotier-one": f"{home}/home/zt"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tools]\nzerotier-one = '~nosuchuser/x'", r"config\.toml: ~nosuchuser/x: there is no such user$"),
        ("[tools", r"config\.toml:1:7: this is not TOML: expected ']' at the end of a table declaration$"),
        ("x=" + "[" * 5000, r"config\.toml: this is not TOML that can be read: it is nested too deeply$"),
        ("\n" + "a." * 50_000 + "a = 1", r"config\.toml:2: a key of more than 40 steps, such as a\.b\.c: no table is"),
        ("#" * (256 << 10) + "\n", r"config\.toml: cannot be read: .*it is larger than 262144 bytes"),
        ('zerotier-one = "/x"', r'config\.toml: unknown key "zerotier-one": there is one table, \[tools\]'),
        ("tools = 3", r"config\.toml: tools: write one line for each program"),
        ("[tools]\nzerotier-one = 3", r"config\.toml: tools: write one line for each program"),
        (
            '[tools]\nzerotier = "/x"',
            r'config\.toml: no tunnel asks for a program "zerotier"; did you mean "zerotier-o',
        ),
    ],
)
def test_a_wrong_configuration_is_named(text: str, message: str, home: Path) -> None:
    configure(home, text)
    with pytest.raises(ToolError, match=message):
        brought_programs.files_at_hand(["zerotier-one"], {})
    assert brought_programs.files_at_hand([], {}) == {}, "a plan that needs none does not look"


def test_a_configuration_that_leads_nowhere_is_named(home: Path) -> None:
    configure(home, "")
    brought_programs.config_file().unlink()
    brought_programs.config_file().symlink_to(brought_programs.config_file())
    with pytest.raises(
        ToolError, match=r"config\.toml: cannot be read: Too many levels of symbolic links; mend it, or "
    ):
        brought_programs.configured()


def test_a_configuration_that_may_not_be_read_is_told_with_its_mend(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(home, "")

    def refuse(path: Path, most: int) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(files, "text", refuse)
    message = "Permission denied; mend it, or name another folder with XDG_CONFIG_HOME$"
    with pytest.raises(ToolError, match=rf"config\.toml: cannot be read: {message}"):
        brought_programs.configured()


def test_a_file_that_cannot_be_read_is_told_with_the_configuration_that_names_it(home: Path) -> None:
    reason = "zerotier-one: /nonexistent cannot be read: No such file or directory"
    with pytest.raises(ToolError, match=rf"^{reason}$"):
        brought_programs.packed_program("zerotier-one", "/nonexistent")
    configure(home, '[tools]\nzerotier-one = "/nonexistent"\n')
    with pytest.raises(ToolError, match=rf"^{reason}; mend it in {home}/config/tunbench/config.toml, which names it$"):
        brought_programs.packed_program("zerotier-one", "/nonexistent")


@pytest.mark.parametrize("device", ["/dev/zero", "a pipe"])
def test_a_configuration_without_an_end_is_not_read(device: str, home: Path) -> None:
    configure(home, "")
    brought_programs.config_file().unlink()
    if device == "a pipe":
        os.mkfifo(brought_programs.config_file())
    else:
        brought_programs.config_file().symlink_to(device)
    with pytest.raises(ToolError, match=r"config\.toml: cannot be read: .* is no regular file"):
        brought_programs.configured()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("zerotier-one", r"^--tool zerotier-one: write it as NAME=FILE, such as "),
        ("=/x", "write it as NAME=FILE"),
        ("zerotier-one=", "write it as NAME=FILE"),
        ("zerotier-on=/x", r'^--tool: no tunnel asks for a program "zerotier-on"; did you mean "zerotier-one"\?$'),
    ],
)
def test_a_wrong_option_is_named(given: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        brought_programs.parsed([given])


def test_a_given_file_is_kept_with_its_whole_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert brought_programs.parsed(["zerotier-one=zt=1"]) == {"zerotier-one": f"{home}/zt=1"}


def test_a_program_becomes_an_image_that_is_named_by_its_digest(home: Path) -> None:
    file = program(home / "zt")
    one = brought_programs.packed_program("zerotier-one", str(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert one == BroughtProgram("zerotier-one", file, digest)
    assert one.folder == tools_folder() / "brought" / f"zerotier-one-{digest[:12]}"
    manifest = image.check(one)
    assert (manifest["version"], manifest["sha256"]) == ("1.14.2", digest)
    assert extras.manifest_of([one]) == {
        "tools": {},
        "brought": {"zerotier-one": {"version": "1.14.2", "digest": manifest["digest"], "sha256": digest}},
    }
    with tarfile.open(one.folder / "image.squashfs") as tar:
        assert [member.name for member in tar if member.isfile()] == ["usr/local/bin/zerotier-one"]
    assert (one.folder / "bin" / "zerotier-one").read_bytes() == file.read_bytes()


def test_its_libraries_go_along(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = home / "libstdc++.so.6"
    library.write_bytes(b"code")
    monkeypatch.setattr(libraries, "missing_in_base", lambda _: [library])
    one = brought_programs.packed_program("zerotier-one", str(program(home / "zt")))
    with tarfile.open(one.folder / "image.squashfs") as tar:
        assert "usr/lib/x86_64-linux-gnu/libstdc++.so.6" in tar.getnames()
    assert image.check(one)["libraries"] == ["libstdc++.so.6"]


def test_an_image_that_is_there_is_not_made_again_and_a_damaged_one_is(home: Path) -> None:
    file = program(home / "zt")
    one = brought_programs.packed_program("zerotier-one", str(file))
    stamp = (one.folder / "manifest.json").stat().st_mtime_ns
    assert brought_programs.packed_program("zerotier-one", str(file)) == one
    assert (one.folder / "manifest.json").stat().st_mtime_ns == stamp
    (one.folder / "image.squashfs").write_bytes(b"torn")
    brought_programs.packed_program("zerotier-one", str(file))
    image.check(one)


def test_a_file_that_cannot_be_used_is_named(home: Path) -> None:
    with pytest.raises(ToolError, match=r"^zerotier-one: .*/zt cannot be read: No such file or directory$"):
        brought_programs.packed_program("zerotier-one", str(home / "zt"))
    with pytest.raises(ToolError, match=r"^zerotier-one: .* cannot be read: embedded null byte$"):
        brought_programs.packed_program("zerotier-one", str(home / "z\0t"))
    (home / "loop").symlink_to(home / "loop")
    with pytest.raises(ToolError, match=r"^zerotier-one: .*/loop cannot be read: Too many levels of symbolic links$"):
        brought_programs.packed_program("zerotier-one", str(home / "loop"))
    file = program(home / "zt")
    file.chmod(0o644)
    with pytest.raises(ToolError, match=r"^zerotier-one: .*/zt is not executable; make it so with: chmod \+x .*/zt$"):
        brought_programs.packed_program("zerotier-one", str(file))


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo mycelium 0.5.7-rc1; exit 0", "0.5.7-rc1"),
        ("echo v1.2 >&2; exit 2", "1.2"),
        ("echo usage: it", "unknown"),
        ("exec /bin/sleep 60", "unknown"),
    ],
)
def test_a_version_is_what_the_program_says_in_time(
    script: str, version: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brought_programs, "VERSION_TIMEOUT", 0.3 if "sleep" in script else 20)
    (home / "it").write_text(f"#!/bin/sh\n{script}\n")
    (home / "it").chmod(0o755)
    assert brought_programs.version(home / "it") == version
