"""What is said of the toolbox, of the user's configuration, and of programs that it names."""

from pathlib import Path

import pytest

from tests.helpers.toolboxes import configure, program, user_with_nothing
from tunbench.doctor import programs
from tunbench.doctor.host_check import HostCheck
from tunbench.labs import image
from tunbench.toolbox.brought_programs import config_file
from tunbench.toolbox.tools import TOOLS


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a user without configuration and cache."""
    return user_with_nothing(monkeypatch, tmp_path)


def found() -> dict[str, HostCheck]:
    return {row.what: row for row in programs.rows()}


def test_no_configuration_is_as_good_as_a_sound_one(home: Path) -> None:
    assert found()["configuration"] == HostCheck("configuration", True, "none, and none is needed", needed=True)
    configure(home, "")
    assert found()["configuration"].found == str(config_file())


def test_a_wrong_configuration_is_told_once_and_is_needed(home: Path) -> None:
    configure(home, "x")
    rows = programs.rows()
    [wrong] = [row for row in rows if "this is not TOML" in row.found]
    assert (wrong.what, wrong.ok, wrong.needed) == ("configuration", False, True)
    assert wrong.mend == f"mend {config_file()}, or name another folder with XDG_CONFIG_HOME"
    zerotier = HostCheck("toolbox: zerotier-one", False, "not looked for", "first mend what is above")
    assert rows.index(zerotier) > rows.index(wrong)


@pytest.mark.parametrize(
    ("name", "what"), [("zerotier-one", "toolbox: zerotier-one"), ("openvpn", "configuration: openvpn")]
)
def test_a_file_that_the_configuration_names_is_looked_at(name: str, what: str, home: Path) -> None:
    configure(home, f'[tools]\n{name} = "/nonexistent"\n')
    row = found()[what]
    assert (row.ok, row.needed, row.mend) == (False, False, f"tunbench run … --tool {name}=FILE")
    assert row.found == (
        f"{name}: /nonexistent cannot be read: No such file or directory; mend it in {config_file()}, which names it"
    )
    configure(home, f'[tools]\n{name} = "{program(home / "mine")}"\n')
    assert found()[what] == HostCheck(what, True, str(home / "mine"))


def test_a_damaged_tool_is_not_there() -> None:
    tool = TOOLS["vpncloud"]
    tool.folder.mkdir(parents=True)
    (tool.folder / "image.squashfs").write_bytes(b"code")
    image.write_manifest(tool.folder, {"name": tool.name, "version": tool.version}, {})
    assert found()["toolbox: vpncloud"].ok and tool.installed
    (tool.folder / "image.squashfs").write_bytes(b"cord")
    row = found()["toolbox: vpncloud"]
    assert (row.ok, row.mend) == (False, "tunbench toolbox install --force vpncloud")
    assert row.found.startswith("the image vpncloud is damaged: ")
    (tool.folder / "image.squashfs").unlink()
    assert not found()["toolbox: vpncloud"].ok and not tool.installed
