"""What `tunbench plan check` and `plan show` say that this machine lacks for a plan."""

import os
from pathlib import Path

import pytest

from tests.helpers.host import install_program
from tests.helpers.runs import PLAN, invoke, runs_here
from tests.helpers.toolboxes import configure
from tunbench.doctor import native_requirements
from tunbench.labs.vm import host_memory, image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a plan, and a machine without root that has QEMU and the base image."""
    runs_here(monkeypatch, tmp_path)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    native_requirements.tried.cache_clear()
    install_program(tmp_path / "bin", "qemu-system-x86_64")
    build(BASE)
    return tmp_path


def build(image: Definition) -> None:
    image.folder.mkdir(parents=True)
    (image.folder / "image.squashfs").write_bytes(b"programs")
    image_build.write_manifest_of(image, image.folder, {})


def told(text: str = PLAN, *options: str) -> list[str]:
    """What is told on stderr of a plan that is sound, by both commands."""
    Path("plan.toml").write_text(text)
    check = invoke("plan", "check", "plan.toml", *options)
    assert (check.exit_code, check.stdout) == (0, "plan.toml: ok, 4 shards, 4 trials\n")
    show = invoke("plan", "show", "plan.toml", "--workers", "1", *options)
    assert (show.exit_code, show.stderr.split()) == (0, check.stderr.split())
    return check.stderr.splitlines()


def test_a_machine_that_has_all_is_told_nothing() -> None:
    assert told() == []


def test_all_images_that_are_missing_stand_in_one_line() -> None:
    text = PLAN.replace('"wireguard"', '"ipsec:daemon=libreswan"').replace('["ping:count=5"]', '["quic", "rist"]')
    Path("plan.toml").write_text(text)
    line = "not built: libreswan, ngtcp2, rist; build with: tunbench lab build libreswan ngtcp2 rist"
    assert invoke("plan", "check", "plan.toml").stderr.splitlines() == [line]
    build(ADDONS["ngtcp2"])
    (BASE.folder / "image.squashfs").unlink()
    assert invoke("plan", "check", "plan.toml").stderr.splitlines() == [
        "not built: libreswan, rist; build with: tunbench lab build libreswan rist",
        "damaged: base; build anew with: tunbench lab build --force base",
    ]


def test_the_image_of_an_access_is_told() -> None:
    text = PLAN + 'access = { name = "opening", nat = "symmetric", portmap = "upnp" }\n'
    assert told(text) == ["not built: miniupnpd; build with: tunbench lab build miniupnpd"]


def test_without_qemu_and_memory_it_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bin" / "qemu-system-x86_64").unlink()
    assert told() == ["qemu-system-x86_64 is not installed; install it with: apt-get install qemu-system-x86"]
    monkeypatch.setattr(host_memory, "available", lambda: 0.5)
    Path("plan.toml").write_text('name = "pods"\nstacks = ["calico"]\nworkloads = ["ping"]\ntopology = "cluster"\n')
    assert "calico runs in a VM that takes" in invoke("plan", "check", "plan.toml").stderr


def test_a_file_of_the_configuration_that_cannot_be_used_is_told(here: Path) -> None:
    configure(here, '[tools]\nwg = "/nonexistent"\n')
    [line] = told()
    assert line == (
        f"wg: /nonexistent cannot be read: No such file or directory; mend it in {here}/config/tunbench/config.toml, "
        "which names it"
    )


def test_what_the_native_lab_lacks_is_told_with_what_helps(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(PLAN, "--lab", "native") == ["natively this machine lacks root; what helps: run it with sudo"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in native_requirements.LAB_PROGRAMS:
        install_program(here / "bin", name)
    assert told(PLAN, "--lab", "native") == [
        "natively this machine lacks the program wg, the program ethtool, the program ping; "
        "what helps: apt-get install wireguard-tools ethtool iputils-ping"
    ]


def test_the_lab_that_is_chosen_is_told_and_what_it_lacks(here: Path) -> None:
    (BASE.folder / "manifest.json").unlink()
    assert told(PLAN, "--lab", "auto") == [
        "lab vm: natively this machine lacks root",
        "not built: base; build with: tunbench lab build base",
    ]
