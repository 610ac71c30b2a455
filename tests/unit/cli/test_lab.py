"""`tunbench lab`: what a shell leaves behind, and what is built."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.runs import invoke, real_lab, runs_here
from tunbench.labs.replaced_folder import BUILDING
from tunbench.labs.vm import explore, image_build
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.image_definition import BASE
from tunbench.plan.cache_folder import cache


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a plan, a cache with an empty image, a terminal, and a QEMU."""
    runs_here(monkeypatch, tmp_path)
    real_lab(monkeypatch)
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    monkeypatch.setattr("tunbench.cli.lab._check_terminal", lambda: None)
    monkeypatch.setattr(Boot, "write", lambda *_: None)
    monkeypatch.setattr(Boot, "command", lambda *_, **__: ["qemu"])
    return tmp_path


SHELLS = [[], ["--plan", "plan.toml", "--stack", "wireguard"], ["--script", "commands.sh"]]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("arguments", SHELLS)
def test_whatever_ends_a_shell_leaves_nothing_behind(
    arguments: list[str], sent: signal.Signals, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "commands.sh").touch()
    (here / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here / "tmp"))

    def end(*_: Any) -> None:
        assert len(list((here / "tmp").iterdir())) == 1, "there is a folder for the VM"
        # Without the command's own, the signal would end the test.
        assert signal.getsignal(sent) not in (signal.SIG_DFL, signal.SIG_IGN)
        os.kill(os.getpid(), sent)

    monkeypatch.setattr(subprocess, "run", end)
    monkeypatch.setattr(explore, "started", end)
    result = invoke("lab", "shell", *arguments)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "Interrupted; begin again")
    assert list((here / "tmp").iterdir()) == []


def test_the_seed_of_a_script_is_1_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "script", lambda path, seed, clock, images: (f"{seed}\n", 0))
    for arguments, seed in (([], "1\n"), (["--seed", "0"], "0\n")):
        assert invoke("lab", "shell", "--script", "commands.sh", *arguments).stdout == seed


def test_an_image_that_is_named_twice_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def build(definition: Any, progress: Callable[[str], None], mirror: str, versions: object) -> None:
        built.append(definition.name)

    monkeypatch.setattr(image_build, "build", build)
    assert invoke("lab", "build", "--force", "base", "rist", "base").exit_code == 0
    assert built == ["base", "rist"]


def test_where_an_image_is_there_what_killed_builds_left_is_removed() -> None:
    left = cache() / "images" / f"{BUILDING}4194305-x"
    left.mkdir()
    assert "base is there" in invoke("lab", "build").stderr
    assert not left.exists()


def test_what_links_lead_to_is_removed(here: Path) -> None:
    images = cache() / "images"
    images.rename(here / "larger")
    images.symlink_to(here / "larger")
    result = invoke("lab", "clean")
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"removed {images}\n", "")
    assert list((here / "larger").iterdir()) == []
