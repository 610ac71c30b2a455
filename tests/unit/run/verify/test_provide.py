"""What is built for shards of somebody else's run: as the run had it, or as it is today where medians are enough."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.packed_runs import had, whole_run
from tests.helpers.runs import PLAN, ScriptedLab, ordered, runs_here
from tunbench.labs.image import ImageError
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.labs.vm.image_packages import PackagesGone
from tunbench.run.order import RunError
from tunbench.run.verify import provide, their_run
from tunbench.run.verify.their_run import TheirRun
from tunbench.toolbox import build_requirements
from tunbench.toolbox import install as installing
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS

PACKAGES = dict.fromkeys([*BASE.packages, "libc6"], "1.0")


class Bare(ScriptedLab):
    """A lab without its images."""

    def check(self, stacks: Any, machines: Any = (), accesses: Any = ()) -> dict[str, Any]:
        raise ImageError("the image base is not built")


@pytest.fixture
def their(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TheirRun]:
    """A run that lists the packages of its image."""
    here = runs_here(monkeypatch, tmp_path)
    with their_run.opened(whole_run(here / "run")) as run:
        yield had(run, image={"digest": "a" * 64, "packages": PACKAGES})


def test_images_are_built_where_the_lab_lacks_them(their: TheirRun) -> None:
    order = ordered(Bare(), PLAN.replace('"wireguard"', '"ipsec:daemon=libreswan"'))
    assert provide.lacking(order) == [BASE, ADDONS["libreswan"]]
    assert provide.lacking(ordered(ScriptedLab())) == []
    for one in (BASE, ADDONS["libreswan"]):
        one.folder.mkdir(parents=True)
        (one.folder / "manifest.json").touch()
    with pytest.raises(ImageError):
        provide.lacking(order)


def test_a_cache_that_is_a_file_is_a_mistake_with_its_mend(their: TheirRun, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("afile").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("afile").absolute()))
    monkeypatch.setattr(image_build.shutil, "which", lambda _: "/bin/true")  # type: ignore[attr-defined]
    for one in (*provide.lacking(ordered(Bare())), TOOLS["headscale"]):
        with pytest.raises(
            ImageError, match=r"cannot write to .*afile.*: Not a directory; make it writable, or name anoth"
        ):
            provide.build(one, their, True, lambda _: None)


Built = list[Mapping[str, Mapping[str, str]] | None]


def builds(monkeypatch: pytest.MonkeyPatch, gone: bool = False) -> Built:
    """Lets images be built that have nothing, of a mirror that may lack old versions; returns what was asked for."""
    built: Built = []

    def build(one: object, progress: Callable[[str], None], versions: Any = None) -> None:
        built.append(versions)
        if versions and gone:
            raise PackagesGone("the mirror no longer has it")

    monkeypatch.setattr(image_build, "build", build)
    return built


@pytest.mark.parametrize("exact", [True, False])
def test_an_image_gets_the_versions_that_the_run_lists(
    their: TheirRun, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    built = builds(monkeypatch)
    provide.build(BASE, their, exact, lambda _: None)
    assert built == [{"base": PACKAGES}]


def test_versions_that_are_gone_are_a_mistake_but_for_medians(their: TheirRun, monkeypatch: pytest.MonkeyPatch) -> None:
    built = builds(monkeypatch, gone=True)
    with pytest.raises(PackagesGone):
        provide.build(BASE, their, True, lambda _: None)
    built.clear()
    provide.build(BASE, their, False, lambda _: None)
    assert built == [{"base": PACKAGES}, None]


def test_a_run_that_lists_no_versions_is_a_mistake_but_for_medians(
    their: TheirRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = builds(monkeypatch)
    silent = had(their, image={"digest": "a" * 64})
    with pytest.raises(RunError, match="does not list digest and packages of its image base"):
        provide.build(BASE, silent, True, lambda _: None)
    provide.build(BASE, silent, False, lambda _: None)
    assert built == [None]


def test_tools_are_installed_where_they_are_not_there(their: TheirRun, monkeypatch: pytest.MonkeyPatch) -> None:
    order = ordered()
    order = order._replace(toolbox=order.toolbox._replace(tools=("headscale",)))
    [tool] = provide.lacking(order)
    assert tool is TOOLS["headscale"]
    monkeypatch.setattr(build_requirements, "missing", lambda tools: [f"{one.name} needs Go" for one in tools])
    with pytest.raises(ToolError, match="headscale needs Go"):
        provide.check([tool], their, exact=False)
    provide.check([], their, exact=True)
    monkeypatch.setattr(installing, "install", lambda one, progress: progress(one.name))
    told: list[str] = []
    provide.build(tool, their, True, told.append)
    assert told == ["headscale"]


def test_a_tool_that_cannot_be_built_as_it_was_is_told_before_anything_is_built(
    their: TheirRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_requirements, "missing", lambda tools: [])
    old = had(their, tools={"headscale": {"version": "0.25.0", "digest": "a" * 64}})
    with pytest.raises(RunError, match=r"has headscale 0.25.0, and this Tunbench builds 0.28.0"):
        provide.check([TOOLS["headscale"]], old, exact=True)
    provide.check([TOOLS["headscale"]], old, exact=False)
