"""What a shell completes."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.helpers.runs import finished, runs_here
from tunbench import cli
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.plan.load import shipped_plans, shipped_studies
from tunbench.plan.model import CLOCKS
from tunbench.runner import registry
from tunbench.toolbox.brought_programs import declared_programs
from tunbench.toolbox.tools import TOOLS


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = runs_here(monkeypatch, tmp_path)
    finished(folder / "runs" / "one")
    (folder / "packed.tar.bz2").touch()
    (folder / "notes").mkdir()
    return folder


def completed(line: str) -> list[str]:
    """What is offered for the last word of a line; it is empty where the line ends with a space."""
    words = line.split(" ")
    told = {"_TUNBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return CliRunner().invoke(cli.app, [], prog_name="tunbench", env=told).output.split()


def test_plans_and_studies_are_offered_and_files_that_may_be_one() -> None:
    assert set(completed("tunbench run ")) >= {*shipped_plans(), *shipped_studies(), "plan.toml", "runs/", "notes/"}
    assert completed("tunbench plan show qui") == ["quick"]
    assert completed("tunbench plan check pl") == ["plan.toml"]
    assert completed("tunbench study show openw") == ["openwrt-2016"]


def test_tunnels_are_offered_also_behind_a_plus() -> None:
    assert set(completed("tunbench choose ")) == set(registry.tunnel_names())
    assert completed("tunbench overhead wireguard+vxl") == ["wireguard+vxlan"]
    assert completed("tunbench list tunnels wireg") == ["wireguard"]


def test_patterns_are_those_of_the_plan_on_the_line() -> None:
    assert completed("tunbench run plan.toml --stack ") == ["none", "wireguard"]
    assert completed("tunbench plan show plan.toml --workload pi") == ["ping:count=5"]
    assert completed("tunbench run quick --profile ") == ["baseline", "medium"]
    assert completed("tunbench study show openwrt-2016 --profile ") == ["baseline"]
    assert completed("tunbench run openwrt-2016 --scale q") == ["quick"]


def test_images_tools_and_programs_are_offered() -> None:
    assert completed("tunbench lab build ") == ["base", *ADDONS]
    assert completed("tunbench lab shell --with t") == ["tayga", "tailscale"]
    assert set(completed("tunbench lab shell --with ")) == {*ADDONS, *TOOLS, *declared_programs()}
    assert completed("tunbench toolbox install ne") == ["nebula", "netbird"]


@pytest.mark.parametrize("command", ["run quick", "plan check quick", "plan show quick"])
def test_clocks_are_offered(command: str) -> None:
    assert completed(f"tunbench {command} --clock ") == list(CLOCKS)


@pytest.mark.parametrize("command", ["lab build", "toolbox install"])
def test_runs_and_archives_are_offered_for_what_they_had(command: str) -> None:
    assert {"runs/one", "packed.tar.bz2"} <= set(completed(f"tunbench {command} --as "))


def test_without_a_plan_all_are_offered() -> None:
    assert set(completed("tunbench run --stack ")) == set(registry.tunnel_names())
    assert set(completed("tunbench run gone.toml --workload ")) == set(registry.workload_names())


@pytest.mark.parametrize("command", ["report", "digest", "samples", "compare", "gate", "pack", "study agree"])
def test_runs_are_offered_with_the_shelf_first(command: str) -> None:
    assert completed(f"tunbench {command} ")[:1] == ["runs/one"]
    assert completed(f"tunbench {command} runs/") == ["runs/one"]


def test_what_is_resumed_and_what_is_verified() -> None:
    assert "runs/one" in completed("tunbench run --resume ")
    assert {"runs/one", "packed.tar.bz2"} <= set(completed("tunbench verify "))


def test_a_folder_that_cannot_be_read_or_is_not_there_offers_nothing() -> None:
    assert completed("tunbench report gone/") == []


def test_so_many_entries_are_looked_at_and_no_more(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunbench.cli.shell.completion.MOST_FOLDERS", 3)
    for number in range(20):
        (here / "notes" / f"{number}").mkdir()
    assert len(completed("tunbench report notes/")) == 3
