"""What `tunbench list` prints: names, options and versions, as a table, as JSON and as a page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.helpers.runs import invoke, runs_here
from tunbench.cli import app
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.plan.axes.access import shipped as shipped_accesses
from tunbench.report.export import tunnel_pages as page
from tunbench.runner import registry
from tunbench.runner.declare.access import NONE

PACKAGES = {"linux-image-amd64": "6.1.99-1", "wireguard-tools": "1.0.20210914-1"}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder, and a cache without images."""
    return runs_here(monkeypatch, tmp_path)


def base_is_built() -> None:
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, PACKAGES)


def names_in(table: str) -> list[str]:
    """The names in the first column of all tables, which begin behind a rule."""
    found: list[str] = []
    for below in re.split("^─+$", table, flags=re.MULTILINE)[1:]:
        names = (re.match("([a-z][a-z0-9-]*)  ", line) for line in below.splitlines())
        found += [name[1] for name in names if name]
    return found


def test_all_tunnels_are_listed_without_their_options() -> None:
    printed = invoke("list", "tunnels")
    assert printed.exit_code == 0
    assert names_in(printed.stdout) == registry.tunnel_names()
    assert "option of" not in printed.stdout


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_tunnel_is_a_line_whatever_the_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = invoke("list", "tunnels").stdout.partition("─\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == registry.tunnel_names()
    assert max(map(len, lines)) <= width
    # What does not fit ends behind a word.
    cut = [(line, registry.tunnel(line.split()[0]).about.summary) for line in lines if line.endswith("…")]
    assert bool(cut) == (width < 200)
    assert all(f"{line.removesuffix('…').split('  ')[-1]}".strip() + " " in f"{summary} " for line, summary in cut)


def test_named_tunnels_are_shown_in_the_order_asked_for_with_their_options() -> None:
    printed = invoke("list", "tunnels", "wireguard", "gre").stdout
    takes = [list(registry.tunnel(name).takes()) for name in ("wireguard", "gre")]
    assert {"port", "mtu", "inner", "outer"} <= set(takes[0])
    assert names_in(printed) == ["wireguard", "gre", *takes[0], *takes[1]]
    assert printed.index("option of wireguard") < printed.index("option of gre")
    [port] = [line for line in printed.splitlines() if line.startswith("port ")]
    assert re.split("  +", port) == ["port", "51820", "1 to 65535", "UDP port of every peer"]


def test_versions_are_those_of_the_image() -> None:
    base_is_built()
    printed = invoke("list", "tunnels", "wireguard", "openvpn").stdout
    assert "Linux 6.1.99-1" in printed
    assert "wireguard-tools 1.0.20210914-1" in printed
    assert "openvpn not in the image" in printed


def test_an_image_that_is_not_built_has_no_versions() -> None:
    printed = invoke("list", "tunnels", "wireguard").stdout
    assert "Linux not in the image" in printed
    assert "6.1.99" not in printed


def test_an_unknown_tunnel_is_bad_input() -> None:
    printed = invoke("list", "tunnels", "gre", "wiregaurd")
    assert (printed.exit_code, printed.stdout) == (2, "")
    assert printed.stderr == 'unknown tunnel "wiregaurd"; did you mean "wireguard"?\n'


def test_tunnels_as_json() -> None:
    base_is_built()
    every = json.loads(invoke("list", "tunnels", "--json").stdout)["rows"]
    assert [row["name"] for row in every] == registry.tunnel_names()
    [row] = json.loads(invoke("list", "tunnels", "wireguard", "--json").stdout)["rows"]
    assert row == next(one for one in every if one["name"] == "wireguard")
    assert row["version"] == PACKAGES
    assert (row["families"], row["outer"]) == ([4, 6], [4, 6])
    assert row["options"]["port"]["default"] == "51820"
    assert row["options"]["inner"]["choices"] == ["ipv4", "ipv6"]
    assert row["claims"] == {"confidentiality": True, "integrity": True, "replay_protection": True}


def test_a_bound_that_is_not_there_is_null() -> None:
    [row] = json.loads(invoke("list", "tunnels", "vxlan", "--json").stdout)["rows"]
    assert row["options"]["inner"]["high"] is None
    assert row["options"]["vni"]["high"] == (1 << 24) - 1


def test_the_page_is_printed_as_it_is() -> None:
    assert invoke("list", "tunnels", "--markdown").stdout == page.markdown()


def test_accesses_have_the_firewall_of_the_table_in_json_too() -> None:
    rows = {row["name"]: row["firewall"] for row in json.loads(invoke("list", "accesses", "--json").stdout)["rows"]}
    told = {name: access.firewall_over(4) for name, access in shipped_accesses().items() if access}
    assert rows == told
    assert rows["home-fibre"] == "stateful"


def test_the_help_names_everything_that_is_listed() -> None:
    group: Any = typer.main.get_command(app)
    listing = group.commands["list"]
    assert set(listing.commands) == set(listing.help.partition(": ")[2].rstrip(".").split(", "))


def test_accesses_are_read_on_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = invoke("list", "accesses").stdout
    assert names_in(printed) == [name for name in shipped_accesses() if name != NONE]
    for words in ("home-cable-bloated", "300 Mbit/s, 20 ms", "± 10 ms", "carrier port-restricted", "firewall stateful"):
        assert f" {words} " in re.sub(r"\s", " ", printed)
    assert "derived" not in printed


def test_a_plan_is_summed_up_by_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    rows = json.loads(invoke("list", "plans", "--json").stdout)["rows"]
    assert all(row["summary"].endswith((".", "?")) for row in rows)
    [thesis] = [row["summary"] for row in rows if row["name"] == "mesh-vpns"]
    assert thesis.endswith("those that no registry carries are brought (docs/toolbox.md).")
    assert all(row["summary"] in invoke("list", "plans").stdout for row in rows)
