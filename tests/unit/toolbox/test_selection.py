"""What of tools and brought programs a run is given, and what it says of them."""

import os
import tarfile
from pathlib import Path

import pytest

from tests.helpers.runs import PLAN, ScriptedLab
from tests.helpers.toolboxes import program, user_with_nothing
from tunbench.labs import image
from tunbench.labs import registry as labs
from tunbench.labs.extras import Extra, images_beyond_base, needed
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.axes.stack import parse
from tunbench.plan.axes.workload import parse as parse_workload
from tunbench.run import execution, resume
from tunbench.run import order as run_order
from tunbench.run.order import RunError, read_order
from tunbench.toolbox import brought_programs, selection
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.selection import ToolboxNeeds
from tunbench.toolbox.tools import TOOLS


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a user without configuration and cache."""
    return user_with_nothing(monkeypatch, tmp_path)


def install(name: str) -> None:
    """What installing a tool leaves behind, with a program that is empty."""
    (TOOLS[name].folder / "bin").mkdir(parents=True)
    for one in TOOLS[name].programs:
        (TOOLS[name].folder / "bin" / one).touch(0o755)
    image.write_manifest(TOOLS[name].folder, {"name": name, "version": TOOLS[name].version}, {})


def test_what_a_plan_lacks_is_told_with_the_command_that_mends_it(home: Path) -> None:
    both = {parse("wireguard+ipip"), parse("ipip")}
    assert selection.needs_of(both, {}).notes == [
        "not installed: headscale, tailscale; install with: tunbench toolbox install headscale tailscale",
        "not on PATH: zerotier-one; put it on PATH, name its file in config.toml, or bring it with: "
        "tunbench run … --tool zerotier-one=FILE (docs/toolbox.md#bring-a-program)",
    ]
    assert selection.needs_of({parse("vxlan")}, {}) == ToolboxNeeds((), {})
    unneeded = selection.needs_of({parse("vxlan")}, {"zerotier-one": str(home / "zt")})
    assert unneeded.notes == ["not used: --tool zerotier-one; no stack of the plan needs it"]
    program(home / "bin" / "zerotier-one")
    install("headscale")
    [line] = selection.needs_of(both, {}).notes
    assert line == "not installed: tailscale; install with: tunbench toolbox install tailscale"


def test_a_damaged_tool_is_told_and_taken_along_for_the_lab_to_refuse(home: Path) -> None:
    install("vpncloud")
    (TOOLS["vpncloud"].folder / "bin" / "vpncloud").unlink()
    needs = selection.needs_of([parse("vpncloud")], {})
    assert needs.notes == ["damaged: vpncloud; install anew with: tunbench toolbox install --force vpncloud"]
    assert selection.at_hand(needs) == (TOOLS["vpncloud"],)


def test_the_tool_of_a_workload_is_told_and_taken_along_where_its_options_need_it() -> None:
    by_quinn, by_ngtcp2 = parse_workload("quic:impl=quinn"), parse_workload("quic")
    assert selection.needs_of([by_quinn], {}).notes == [
        "not installed: quinn; install with: tunbench toolbox install quinn"
    ]
    assert selection.needs_of([by_ngtcp2], {}).notes == []
    install("quinn")
    got = selection.at_hand(selection.needs_of([by_quinn], {}))
    assert needed([parse("none"), by_quinn], got) == [TOOLS["quinn"]]
    assert needed([parse("none"), by_ngtcp2], got) == []
    assert images_beyond_base([parse("none"), by_ngtcp2]) == ["ngtcp2"]
    assert images_beyond_base([parse("none"), by_quinn]) == ["quinn"]


@pytest.mark.parametrize("lab", [VmLab("virtual"), NativeLab()])
def test_a_lab_gets_what_is_there(lab: VmLab | NativeLab, home: Path) -> None:
    assert lab.with_extras(selection.at_hand(selection.needs_of([parse("wireguard+ipip")], {}))) == lab
    install("tailscale")
    needs = selection.needs_of([parse("wireguard+ipip")], {"zerotier-one": str(program(home / "zt"))})
    got = lab.with_extras(selection.at_hand(needs)).extras
    assert [(one.kind, one.name) for one in got] == [("tools", "tailscale"), ("brought", "zerotier-one")]


def test_images_are_had_by_name(home: Path) -> None:
    install("headscale")
    program(home / "bin" / "zerotier-one")
    tool, own = selection.images(["headscale", "zerotier-one"])
    assert (tool, own.name) == (TOOLS["headscale"], "zerotier-one")
    with pytest.raises(
        image.ImageError, match="the image tailscale is not built; build it with: tunbench toolbox insta"
    ):
        selection.images(["tailscale"])
    with pytest.raises(ToolError, match=r'^there is no image "headscal"; did you mean "headscale"\?$'):
        selection.images(["headscal"])
    (home / "bin" / "zerotier-one").unlink()
    with pytest.raises(ToolError) as missing:
        selection.images(["zerotier-one"])
    assert str(missing.value) == (
        f"zerotier-one is not on PATH; put it there, or name its file in {home}/config/tunbench/config.toml, below "
        '[tools]: zerotier-one = "FILE" (docs/toolbox.md#bring-a-program)'
    )


def test_a_run_goes_on_with_the_programs_that_it_was_begun_with(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ScriptedLab()
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)
    taken: list[ToolboxNeeds] = []

    def at_hand(needs: ToolboxNeeds) -> tuple[Extra, ...]:
        taken.append(needs)
        return ()

    monkeypatch.setattr(run_order, "at_hand", at_hand)
    file = str(program(home / "zt"))
    order = read_order(PLAN, "any.toml", {}, {"zerotier-one": file})
    execution.create(home / "run", order)
    brought_programs.packed_program("zerotier-one", file)
    resume.reopen(home / "run")
    assert [needs.files for needs in taken] == [{"zerotier-one": file}] * 2


def test_no_program_is_started_because_a_run_from_elsewhere_names_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab())
    monkeypatch.setattr(run_order, "at_hand", lambda needs: ())
    file = program(home / "zt")
    execution.create(home / "run", read_order(PLAN, "any.toml", {}, {"zerotier-one": str(file)}))
    file.write_text(f"#!/bin/sh\ntouch {home}/started\n")
    with pytest.raises(ToolError, match="zt was never brought on this machine, and no program is started because"):
        resume.reopen(home / "run")
    assert not (home / "started").exists()
    # A pipe or device would be read for ever.
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ToolError, match="zt cannot be read: zt is no regular file"):
        resume.reopen(home / "run")
    # As the kernel's own log, which is no pipe.
    file.unlink()
    file.symlink_to("/proc/self/maps")
    with pytest.raises(ToolError, match="zt cannot be read: it is empty"):
        resume.reopen(home / "run")
    # All of it would be read.
    file.unlink()
    file.touch(0o755)
    os.truncate(file, brought_programs.LARGEST_PROGRAM + 1)
    with pytest.raises(ToolError, match="zt cannot be read: it is larger than 1024 MiB"):
        resume.reopen(home / "run")


def test_a_run_from_elsewhere_names_no_place_in_the_cache(home: Path) -> None:
    file = program(home / "zt")
    with pytest.raises(ToolError, match=r'^the run\'s folder: no tunnel asks for a program "\.\./\.\./evil"'):
        brought_programs.check_known("../../evil", str(file))


@pytest.mark.parametrize("kind", ["tools", "brought"])
def test_a_run_does_not_go_on_with_other_ones(kind: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ScriptedLab()
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)
    lab.facts[kind] = {"it": {"version": "1", "digest": "a"}}
    execution.create(home / "run", read_order(PLAN, "any.toml", {}))
    lab.facts[kind] = {"it": {"version": "1", "digest": "b"}}
    with pytest.raises(RunError, match=rf"the {lab.deciding_facts[kind]} is not the one that .* begun with"):
        resume.reopen(home / "run")


@pytest.mark.parametrize("lab", [VmLab("virtual"), NativeLab()])
def test_a_build_of_the_users_own_takes_the_place_of_debians(lab: VmLab | NativeLab, home: Path) -> None:
    given = brought_programs.parsed([f"openvpn={program(home / 'openvpn', 'OpenVPN 2.7.1')}"])
    needs = selection.needs_of([parse("openvpn"), parse("vxlan")], given)
    assert (needs.notes, needs.unused) == ([], ())
    got = lab.with_extras(selection.at_hand(needs)).extras
    assert [(one.kind, one.name) for one in got] == [("brought", "openvpn")]
    assert [one.name for one in needed([parse("openvpn")], got)] == ["openvpn"]
    assert needed([parse("vxlan")], got) == []
    with tarfile.open(got[0].folder / "image.squashfs") as tar:
        assert "usr/sbin/openvpn" in tar.getnames(), "the lab looks there first"
    assert image.check(got[0])["version"] == "2.7.1"


def test_a_tool_whose_programs_are_all_brought_need_not_be_installed(home: Path) -> None:
    stack = parse("vpncloud")
    [line] = selection.needs_of([stack], {}).notes
    assert line == "not installed: vpncloud; install with: tunbench toolbox install vpncloud"
    given = brought_programs.parsed([f"vpncloud={program(home / 'vpncloud')}"])
    assert selection.needs_of([stack], given).tools == ()


def test_a_program_that_all_tunnels_run_stays_debians(home: Path) -> None:
    with pytest.raises(ToolError, match='no tunnel asks for a program "ip"'):
        brought_programs.parsed([f"ip={program(home / 'ip')}"])
