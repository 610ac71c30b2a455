"""`--as RUN` of `lab build` and `toolbox install`: what a run had, of a mirror in two states and of a fake client."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.mirrors import APT, debian, installs_here, publish
from tests.helpers.packed_runs import packed_run
from tests.helpers.runs import ScriptedLab, invoke, ordered, runs_here
from tests.helpers.toolboxes import FakeRun, no_libraries
from tunbench.labs import image
from tunbench.labs.extras import manifest_of
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.toolbox import build_requirements
from tunbench.toolbox import install as installing
from tunbench.toolbox.tools import TOOLS

Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def here(monkeypatch: Patch, tmp_path: Path) -> Path:
    runs_here(monkeypatch, tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    return tmp_path


def run_with(**facts: Any) -> Path:
    """A packed run whose lab says this of itself."""
    lab = ScriptedLab()
    lab.facts |= facts
    return packed_run(Path("theirs"), ordered(lab))


def told() -> dict[str, Any]:
    """What a run says of the base image that is there."""
    manifest = image.check(BASE)
    return {key: manifest[key] for key in ("digest", "packages")}


@APT
def test_an_image_is_built_again_from_a_mirror_that_has_newer_versions(here: Path, monkeypatch: Patch) -> None:
    installs_here(monkeypatch, here / "bin")
    mirror = publish(here / "mirror", debian("3.0"))
    assert invoke("lab", "build", "--mirror", mirror).exit_code == 0
    run = run_with(image=told())
    assert "base is there as theirs.tar.bz2 had it" in invoke("lab", "build", "--as", str(run)).stderr

    publish(here / "mirror", [*debian("3.5"), *debian("3.0")])
    assert invoke("lab", "build", "--mirror", mirror).exit_code == 0
    assert told()["packages"]["openssl"] == "3.5"
    result = invoke("lab", "build", "--as", str(run), "--mirror", mirror)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "base is built as theirs.tar.bz2 had it, equal to the byte" in result.stderr
    assert told() == json.loads(Path("theirs/manifest.json").read_text())["image"]

    publish(here / "mirror", debian("3.5"))
    result = invoke("lab", "build", "--as", str(run), "--mirror", mirror, "--force")
    assert result.exit_code == 2
    assert "the mirror no longer has 1 of the" in result.stderr and "base: openssl 3.0; name one" in result.stderr
    assert told()["packages"]["openssl"] == "3.0", "what was there still is"


@APT
def test_an_image_that_comes_out_otherwise_is_told(here: Path, monkeypatch: Patch) -> None:
    installs_here(monkeypatch, here / "bin")
    mirror = publish(here / "mirror", debian())
    assert invoke("lab", "build", "--mirror", mirror).exit_code == 0
    run = run_with(image=told() | {"digest": "f" * 64})
    result = invoke("lab", "build", "base", "--as", str(run), "--mirror", mirror)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is another image, " in result.stderr and "and not ffffffffffff…" in result.stderr


def of_headscale(home: Path, monkeypatch: Patch) -> dict[str, Any]:
    """What a run says of headscale, which is built here by a client that builds nothing."""
    no_libraries(monkeypatch)
    monkeypatch.setattr(image_build, "compress", lambda tree, target: target.write_bytes(tree.read_bytes()))
    monkeypatch.setattr(build_requirements, "missing", lambda tools: [])
    monkeypatch.setattr(build_requirements, "version", lambda argv: "1.26.1")
    real = installing.install
    monkeypatch.setattr(installing, "install", lambda one, progress: real(one, progress, FakeRun(home)))
    installing.install(TOOLS["headscale"], lambda _: None)
    return manifest_of([TOOLS["headscale"]])["tools"]


def test_a_tool_is_installed_as_a_run_had_it(here: Path, monkeypatch: Patch) -> None:
    tools = of_headscale(here, monkeypatch)
    assert tools["headscale"]["source"]["h1"] == "h1:abc="
    assert tools["headscale"]["built"] == {"go": "1.26.1"}
    run = str(run_with(tools=tools))
    assert "headscale 0.28.0 is there as theirs.tar.bz2 had it" in invoke("toolbox", "install", "--as", run).stderr
    installing.remove(TOOLS["headscale"])
    result = invoke("toolbox", "install", "--as", run, "headscale")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "headscale 0.28.0 is installed" in result.stderr
    assert image.check(TOOLS["headscale"])["digest"] == tools["headscale"]["digest"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"digest": "f" * 64}, "its sources are the same, and its programs are others, ffffffffffff… there"),
        ({"digest": "f" * 64, "source": {"h1": "h1:xyz="}}, "its sources are others, {'h1': 'h1:xyz='} there and {"),
    ],
)
def test_a_tool_that_comes_out_otherwise_is_told(
    here: Path, monkeypatch: Patch, change: dict[str, Any], message: str
) -> None:
    tools = of_headscale(here, monkeypatch)
    result = invoke("toolbox", "install", "--as", str(run_with(tools={"headscale": tools["headscale"] | change})))
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"headscale is not that of theirs.tar.bz2: {message}" in result.stderr
    assert TOOLS["headscale"].installed


def test_what_packs_a_tool_does_not_depend_on_its_folder(here: Path, monkeypatch: Patch) -> None:
    tools = of_headscale(here, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "another"))
    installing.install(TOOLS["headscale"], lambda _: None)
    assert manifest_of([TOOLS["headscale"]])["tools"] == tools
