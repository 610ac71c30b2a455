"""What `tunbench toolbox` prints, and what other commands say of tools."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.host import install_program
from tests.helpers.runs import PLAN, ScriptedLab, invoke, runs_here
from tunbench.doctor import examine, native_requirements
from tunbench.doctor.native_requirements import Lack
from tunbench.labs import image, replaced_folder
from tunbench.labs import registry as labs
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.plan.axes.stack import parse
from tunbench.runner import registry
from tunbench.toolbox import build_requirements, install, unfinished
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS, Tool, tools_folder


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a plan whose tunnel vxlan needs a tool and a program, and a machine that can build all."""
    monkeypatch.setattr(build_requirements, "missing", lambda tools: [])
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    kind = registry.tunnel("vxlan")
    about = kind.about.needing(tools=("wesher",), brought=("zerotier-one",))
    monkeypatch.setattr(kind, "about", about)
    runs_here(monkeypatch, tmp_path)
    install_program(tmp_path, "qemu-system-x86_64")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    Path("plan.toml").write_text(PLAN.replace('"wireguard"', '"vxlan"'))
    return tmp_path


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that were built, in their order; each holds programs of four bytes."""
    names: list[str] = []

    def build(tool: Tool, progress: Callable[[str], None]) -> None:
        progress("compiling")
        names.append(tool.name)
        leave(tool)

    monkeypatch.setattr(install, "install", build)
    return names


def leave(tool: Tool) -> None:
    (tool.folder / "bin").mkdir(parents=True, exist_ok=True)
    for program in tool.programs:
        (tool.folder / "bin" / program).write_text("code")
    image.write_manifest(tool.folder, {"name": tool.name, "version": tool.version}, {})


def build_base() -> None:
    """A base image without anything in it."""
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})


def test_tools_are_installed_in_the_order_that_was_asked_for(built: list[str]) -> None:
    result = invoke("toolbox", "install", "tailscale", "headscale", "tailscale")
    assert (result.exit_code, result.stdout) == (0, "")
    assert built == ["tailscale", "headscale"]
    assert "headscale 0.28.0: about 3 min" in result.stderr
    assert f"headscale 0.28.0 is installed in 0 s: {TOOLS['headscale'].folder}" in result.stderr


def test_what_is_there_is_not_built_again_unless_it_is_forced(built: list[str]) -> None:
    leave(TOOLS["wesher"])
    assert f"wesher 0.2.6 is there: {TOOLS['wesher'].folder}" in invoke("toolbox", "install", "wesher").stderr
    assert built == []
    invoke("toolbox", "install", "wesher", "--force")
    assert built == ["wesher"]


def test_what_another_process_built_meanwhile_is_not_built_again(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = install.install

    def build_both(tool: Tool, progress: Callable[[str], None]) -> None:
        build(tool, progress)
        leave(TOOLS["wesher"])

    monkeypatch.setattr(install, "install", build_both)
    assert "wesher 0.2.6 is there" in invoke("toolbox", "install", "nebula", "wesher").stderr
    assert built == ["nebula"]


def test_all_tools_are_installed(built: list[str]) -> None:
    assert invoke("toolbox", "install", "--all").exit_code == 0
    assert built == list(TOOLS)
    rows = json.loads(invoke("toolbox", "list", "--json").stdout)["rows"]
    assert all(row["installed"] for row in rows)


def test_one_that_fails_does_not_keep_others_from_being_built(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = install.install

    def fail(tool: Tool, progress: Callable[[str], None]) -> None:
        if tool.name == "nebula":
            raise ToolError("go build [-v] ended with status 1:\nwrong")
        build(tool, progress)

    monkeypatch.setattr(install, "install", fail)
    result = invoke("toolbox", "install", "nebula", "wesher")
    assert result.exit_code == 2
    assert "nebula: go build [-v] ended with status 1:\nwrong" in result.stderr
    assert built == ["wesher"]


def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "install", interrupt)
    result = invoke("toolbox", "install", "nebula", "wesher")
    assert result.exit_code == 130
    assert "Interrupted; the programs of nebula that are finished are kept" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["--force"]])
def test_a_tool_that_was_finished_as_ctrl_c_came_is_told_as_installed(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = TOOLS["nebula"]
    if arguments:
        leave(one)

    def interrupted_late(tool: Tool, progress: Callable[[str], None]) -> None:
        with replaced_folder.replacing(tool.folder) as scratch:
            image.write_manifest(scratch / "image", {"name": tool.name}, {})
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "install", interrupted_late)
    result = invoke("toolbox", "install", "nebula", *arguments)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == f"Interrupted; nebula 1.10.3 is installed: {one.folder}"


def test_a_tool_that_was_there_before_is_not_told_as_installed_on_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    leave(TOOLS["nebula"])
    monkeypatch.setattr(install, "install", interrupt)
    said = invoke("toolbox", "install", "nebula", "--force").stderr
    assert "Interrupted; the programs of nebula that are finished are kept for the next time" in said


def test_where_a_tool_is_there_what_was_left_of_building_it_is_removed() -> None:
    one = TOOLS["wesher"]
    leave(one)
    for name in (f"{replaced_folder.BUILDING}4194305-x", f"{unfinished.UNFINISHED}{one.name}-0123456789ab"):
        (tools_folder() / name).mkdir()
    assert "wesher 0.2.6 is there" in invoke("toolbox", "install", "wesher").stderr
    assert list(tools_folder().iterdir()) == [one.folder]


def test_a_cache_that_is_a_file_is_told_with_the_mend() -> None:
    tools_folder().parent.parent.mkdir(exist_ok=True)
    tools_folder().parent.touch()
    result = invoke("toolbox", "remove", "wesher")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"cannot remove {TOOLS['wesher'].folder}: Not a directory; {tools_folder()} has to be a folder, or name "
        "another cache with XDG_CACHE_HOME\n"
    )


def test_the_list_says_what_there_is_and_what_it_takes() -> None:
    leave(TOOLS["netbird"])
    printed = invoke("toolbox", "list").stdout
    assert all(text in printed for tool in TOOLS.values() for text in (tool.name, tool.version, *tool.programs))
    assert printed.count("yes, ") == 1
    assert "protobuf-compiler" in printed
    rows = {row["name"]: row for row in json.loads(invoke("toolbox", "list", "--json").stdout)["rows"]}
    assert list(rows) == list(TOOLS)
    assert (rows["netbird"]["installed"], rows["nebula"]["installed"]) == (True, False)
    assert rows["netbird"]["size"] > 0 == rows["nebula"]["size"]
    assert rows["netbird"]["folder"] == str(TOOLS["netbird"].folder)
    assert rows["easytier"]["takes"]["packages"] == ["gcc", "libc6-dev", "libprotobuf-dev", "protobuf-compiler"]
    assert rows["netbird"]["from"] == "github.com/netbirdio/netbird"
    assert rows["innernet"]["from"] == "crates innernet, innernet-server"


def test_a_cache_that_cannot_be_looked_into_has_no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", f"/{'a' * 256}")
    rows = json.loads(invoke("toolbox", "list", "--json").stdout)["rows"]
    assert {(row["installed"], row["size"]) for row in rows} == {(False, 0)}


def test_what_cannot_be_removed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    leave(TOOLS["nebula"])
    folder = TOOLS["nebula"].folder

    (folder.parents[1] / "images").mkdir()

    def refuse(path: Path) -> None:
        # So it is named where a folder is removed by its descriptor.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "image.squashfs")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    for arguments, kept in (
        (["toolbox", "remove", "nebula"], folder),
        (["toolbox", "remove", "--all"], folder),
        (["lab", "clean"], folder.parents[1] / "images"),
    ):
        result = invoke(*arguments)
        assert (result.exit_code, result.stderr) == (
            2,
            f"cannot remove {kept}: Permission denied; make it writable, with all that is in it, or name another cache "
            "with XDG_CACHE_HOME\n",
        )
        assert not [line for line in result.stdout.splitlines() if not line.endswith("is not installed")]


def test_tools_are_removed() -> None:
    for name in ("nebula", "wesher"):
        leave(TOOLS[name])
    result = invoke("toolbox", "remove", "nebula", "vpncloud")
    assert result.stdout == f"removed {TOOLS['nebula'].folder}\nvpncloud is not installed\n"
    assert [path.name for path in tools_folder().iterdir()] == [TOOLS["wesher"].folder.name]
    (tools_folder() / "brought").mkdir()
    assert invoke("toolbox", "remove", "--all").exit_code == 0
    assert not tools_folder().exists()


NO_IMAGE = "not built: base; build with: tunbench lab build base\n"

MISSING = (
    "not installed: wesher; install with: tunbench toolbox install wesher\n"
    "not on PATH: zerotier-one; put it on PATH, name its file in config.toml, or bring it with: "
    "tunbench run … --tool zerotier-one=FILE (docs/toolbox.md#bring-a-program)\n"
)


def test_a_check_and_a_run_name_what_the_plan_lacks_and_the_run_goes_on() -> None:
    check = invoke("plan", "check", "plan.toml")
    assert (check.exit_code, check.stderr) == (0, NO_IMAGE + MISSING)
    result = invoke("run", "plan.toml", "--out", "begun")
    assert result.exit_code == 0
    assert result.stderr.startswith(MISSING)
    assert "[4/4]" in result.stderr


def test_a_plan_that_lacks_nothing_is_told_nothing() -> None:
    Path("plan.toml").write_text(PLAN.replace('"wireguard"', '"ipip"'))
    build_base()
    assert invoke("plan", "check", "plan.toml").stderr == ""


def test_a_brought_program_stands_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ScriptedLab()
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)
    monkeypatch.setattr("tunbench.run.order.at_hand", lambda needs: ())
    monkeypatch.setattr("tunbench.toolbox.brought_programs.check_known", lambda name, file: None)
    Path("zt").touch(0o755)
    assert invoke("run", "plan.toml", "--out", "begun", "--tool", "zerotier-one=zt").exit_code == 0
    head = json.loads(Path("begun/journal.jsonl").read_text().splitlines()[0])
    assert head["files"] == {"zerotier-one": str(Path("zt").absolute())}
    assert invoke("run", "--resume", "begun").exit_code == 0


def test_doctor_names_tools_and_brought_programs() -> None:
    leave(TOOLS["wesher"])
    found = {one.what: one for one in examine.host_checks()}
    assert found["toolbox: wesher"].ok
    assert found["toolbox: wesher"].found == "0.2.6, wesher"
    assert (found["toolbox: nebula"].ok, found["toolbox: nebula"].mend) == (False, "tunbench toolbox install nebula")
    assert found["toolbox: zerotier-one"].mend == "tunbench run … --tool zerotier-one=FILE"
    assert not any(one.needed for what, one in found.items() if what.startswith("toolbox"))


def test_doctor_looks_for_programs_of_tools_in_their_folders() -> None:
    missing = Lack("the program wesher", "tunbench toolbox install wesher")
    assert missing in native_requirements.of_stack(parse("wesher"))
    leave(TOOLS["wesher"])
    assert missing not in native_requirements.of_stack(parse("wesher"))


def test_doctor_tells_of_a_wrong_configuration() -> None:
    Path("config/tunbench").mkdir(parents=True)
    Path("config/tunbench/config.toml").write_text("[tools")
    build_base()
    result = invoke("doctor")
    assert result.exit_code == 2
    assert result.stdout.splitlines()[2].startswith("do first    mend ")
    assert result.stdout.count("config.toml:1:7: this is not TOML: ") == 1


def test_a_damaged_tool_is_listed_as_not_installed_and_installed_anew(built: list[str]) -> None:
    leave(TOOLS["vpncloud"])
    (TOOLS["vpncloud"].folder / "bin" / "vpncloud").unlink()
    rows = {row["name"]: row for row in json.loads(invoke("toolbox", "list", "--json").stdout)["rows"]}
    assert rows["vpncloud"]["installed"] is False
    assert invoke("toolbox", "install", "vpncloud").exit_code == 0
    assert built == ["vpncloud"]
