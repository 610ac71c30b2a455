"""Plug-ins are found by the registry as what is shipped is, until they are given back."""

import py_compile
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.helpers.plugins import TUNNEL, WHOLE, made
from tests.helpers.runs import invoke
from tunbench.analysis.metrics import headlines
from tunbench.analysis.ratios import underlay
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.plan.load import check
from tunbench.plugins import installed, taken
from tunbench.plugins.folder import PluginError
from tunbench.runner import registry
from tunbench.toolbox.tools import TOOLS

PLAN = 'name = "any"\nstacks = ["none", "wireguard+mine"]\nworkloads = ["my-wait"]\nprobes = ["my-look"]\n'


def test_what_a_plugin_brings_stands_beside_what_is_shipped(tmp_path: Path) -> None:
    shipped = registry.tunnel_names()
    taken.take([made(tmp_path / "mine")])
    assert registry.tunnel_names() == sorted([*shipped, "mine"])
    assert registry.tunnel("mine").about.summary == "GRE once more"
    assert registry.workload("my-wait").ABOUT.name == "my-wait"
    assert "my-look" in registry.probe_names()
    assert check(PLAN, "any.toml").axes["stack"] == ["none", "wireguard+mine"]
    assert taken.bringing("tunnels", "mine") == "mine"
    assert taken.bringing("tunnels", "wireguard") == ""


def test_nothing_is_left_of_it_when_it_is_given_back(tmp_path: Path) -> None:
    shipped = registry.tunnel_names(), registry.workload_names(), registry.probe_names()
    taken.take([made(tmp_path / "mine")])
    assert (underlay("mine"), headlines("my-wait")) == ("ip", ("waited",))
    taken.release()
    assert (underlay("mine"), headlines("my-wait")) == ("", ())
    assert (registry.tunnel_names(), registry.workload_names(), registry.probe_names()) == shipped
    assert [name for name in sys.modules if name.endswith((".mine", ".my_wait", ".my_look"))] == []
    assert taken.plugins() == ()


def test_the_newest_file_of_a_name_is_the_one_that_is_taken(tmp_path: Path) -> None:
    taken.take([made(tmp_path / "a" / "mine")])
    taken.take([made(tmp_path / "b" / "mine", {"tunnels/mine.py": TUNNEL.replace("GRE once more", "another")})])
    assert registry.tunnel("mine").about.summary == "another"


def test_one_that_cannot_be_used_takes_no_other_with_it(tmp_path: Path) -> None:
    shipped = registry.tunnel_names()
    with pytest.raises(PluginError):
        taken.take([made(tmp_path / "good"), made(tmp_path / "bad", {"tunnels/bad.py": "import nowhere"})])
    assert registry.tunnel_names() == shipped
    assert taken.plugins() == ()


def test_a_folder_that_is_given_twice_is_one(tmp_path: Path) -> None:
    folder = made(tmp_path / "mine")
    (tmp_path / "link").symlink_to(folder)
    taken.take([folder, tmp_path / "link"])
    assert len(taken.plugins()) == 1


def test_addons_and_tools_of_a_plugin_are_known_and_the_base_image_is_as_it_was(tmp_path: Path) -> None:
    before, addons, tools = BASE.digest, set(ADDONS), set(TOOLS)
    sources = 'needs=Needs(addons=("mine",)), sources=Sources(addons=(Addon("mine", ("cowsay",)),)),'
    text = TUNNEL.replace("options={},", f"options={{}}, {sources}")
    taken.take([made(tmp_path / "mine", {"tunnels/mine.py": text})])
    assert set(ADDONS) == addons | {"mine"}
    assert ADDONS["mine"].packages == ("cowsay",)
    assert (BASE.digest, set(TOOLS)) == (before, tools)
    taken.release()
    assert set(ADDONS) == addons


def test_what_executes_is_what_the_digest_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = made(tmp_path / "mine", {"tunnels/mine.py": TUNNEL.replace("GRE once more", "another")})
    file = folder / "tunnels" / "mine.py"
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    file.write_text(TUNNEL)
    taken.take([folder])
    assert registry.tunnel("mine").about.summary == "GRE once more"


def test_a_file_that_changes_after_it_was_read_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "mine")

    def changing(found: object) -> None:
        made(folder, {"tunnels/mine.py": "raise SystemExit('executed')"})

    monkeypatch.setattr(taken, "_check_names", changing)
    taken.take([folder])
    assert registry.tunnel("mine").about.summary == "GRE once more"


def test_nothing_is_written_into_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = made(tmp_path / "mine", {**WHOLE, "tunnels/two/__init__.py": TUNNEL.replace('"mine"', '"two"')})
    before = sorted(folder.rglob("*"))
    taken.take([folder])
    assert sorted(folder.rglob("*")) == before


def test_a_folder_is_one_tunnel_whose_other_files_it_imports(tmp_path: Path) -> None:
    text = "from tunbench.runner.tunnels.mine.shared import SAID\n" + TUNNEL.replace('"GRE once more"', "SAID")
    taken.take(
        [made(tmp_path / "mine", {"tunnels/mine/__init__.py": text, "tunnels/mine/shared.py": 'SAID = "said"\n'})]
    )
    assert registry.tunnel("mine").about.summary == "said"
    assert [name for name in registry.tunnel_names() if "mine" in name] == ["mine"]


def entered(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    monkeypatch.setattr(installed, "entry_points", lambda group: entries if group == installed.GROUP else ())


def test_an_installed_package_brings_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "tunbench_mine")
    (tmp_path / "tunbench_mine" / "__init__.py").write_text("raise SystemExit('nothing of it is executed')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    entered(monkeypatch, EntryPoint("mine", "tunbench_mine", installed.GROUP))
    taken.take()
    [one] = taken.plugins()
    assert (one.name, one.folder) == ("mine", tmp_path / "tunbench_mine")
    assert "mine" in registry.tunnel_names()


def test_a_mistake_in_an_installed_one_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "tunbench_bad", {"tunnels/bad.py": "import nowhere\n"})
    (tmp_path / "tunbench_bad" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    entered(monkeypatch, EntryPoint("bad", "tunbench_bad", installed.GROUP))
    with pytest.raises(PluginError, match=r"bad\.py:1: ModuleNotFound.*; or remove .*pip uninstall tunbench_bad"):
        taken.take()
    assert invoke("list", "probes").exit_code == 2
    for given in ((), ("--plugin", str(made(tmp_path / "mine")))):
        assert invoke("--no-installed-plugins", "list", "probes", *given).exit_code == 0
        assert len(taken.plugins()) == bool(given)
    entered(monkeypatch, EntryPoint("bad", "tunbench_nowhere", installed.GROUP))
    with pytest.raises(PluginError, match=r'bad = "tunbench_nowhere" of tunbench\.plugins leads to no package'):
        taken.take()


@pytest.mark.parametrize("value", ["tunbench_bad.inner", "tunbench_bad:inner", "tunbench_bad", ".", ""])
def test_an_entry_point_that_leads_nowhere_is_told_and_executes_nothing(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = made(tmp_path / "tunbench_bad")
    (bad / "__init__.py").write_text("raise OSError('executed')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    if value == "tunbench_bad":
        monkeypatch.setattr(installed, "find_spec", lambda _: 1 / 0)
    entered(monkeypatch, EntryPoint("bad", value, installed.GROUP))
    with pytest.raises(PluginError, match=r"leads to no package; name the package .*pip uninstall"):
        taken.take()
