"""What tools and brought programs change of a lab: nothing for a stack that does not need them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.helpers.fakes import shard
from tests.helpers.labs import after, started
from tunbench.labs import image
from tunbench.labs.extras import ExtraKind, manifest_of
from tunbench.labs.image import ImageError
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.cache_folder import cache
from tunbench.runner import registry


class Extra(NamedTuple):
    """A tool or a brought program, and the command that would make it."""

    name: str
    kind: ExtraKind = "tools"
    build: str = "install it"
    rebuild: str = "install it again"

    @property
    def folder(self) -> Path:
        return cache() / "tools" / self.name


EXTRAS = (Extra("zebra"), Extra("own", "brought"), Extra("ant"), Extra("other"))


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The images of the base and of the extras, and the tunnel ipip needs most of them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    BASE.folder.mkdir(parents=True)
    for name in ("boot.cpio", "image.squashfs"):
        (BASE.folder / name).write_bytes(b"base")
    for extra in EXTRAS:
        extra.folder.mkdir(parents=True)
        (extra.folder / "image.squashfs").write_bytes(extra.name.encode())
        image.write_manifest(extra.folder, {"name": extra.name, "version": "1"}, {})
    kind = registry.tunnel("ipip")
    monkeypatch.setattr(kind, "about", kind.about.needing(tools=("zebra", "ant", "absent"), brought=("own",)))


def paths(monkeypatch: pytest.MonkeyPatch, extras: Sequence[Extra], stack: str, folder: Path) -> list[str]:
    """The names of the folders whose images a VM of the stack has."""
    argv = started(monkeypatch, VmLab("virtual", extras=tuple(extras)), folder, shard(stack)).argv
    return [
        Path(one.split("mem-path=")[1].split(",")[0]).parent.name for one in after(argv, "-object") if "mem-path" in one
    ]


def test_a_vm_has_the_images_that_its_stack_needs_and_no_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = BASE.folder.name
    assert paths(monkeypatch, EXTRAS, "vxlan+ipip", tmp_path) == [base, "own", "ant", "zebra"]
    assert paths(monkeypatch, EXTRAS[::-1], "vxlan+ipip", tmp_path) == [base, "own", "ant", "zebra"]
    assert paths(monkeypatch, EXTRAS, "vxlan", tmp_path) == [base]
    assert paths(monkeypatch, (), "ipip", tmp_path) == [base]


def test_a_stack_that_needs_none_has_the_same_command_whatever_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def command(lab: VmLab) -> Any:
        return started(monkeypatch, lab, tmp_path, shard("vxlan")).argv

    assert command(VmLab("virtual", extras=EXTRAS)) == command(VmLab("virtual"))


def test_the_native_lab_looks_first_where_the_tools_of_the_stack_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "PATH": "/usr/bin"})
    lab = NativeLab(extras=EXTRAS)
    folders = [f"{cache()}/tools/{name}/bin" for name in ("own", "ant", "zebra")]
    path = started(monkeypatch, lab, tmp_path, shard("ipip")).environment["PATH"]
    assert path == ":".join([*folders, "/usr/bin"])
    assert started(monkeypatch, lab, tmp_path, shard("vxlan")).environment["PATH"] == "/usr/bin"


def test_the_manifest_has_version_and_digest_of_each() -> None:
    facts = manifest_of([Extra("zebra"), Extra("ant")])
    assert list(facts["tools"]) == ["ant", "zebra"]
    assert facts["tools"]["ant"] == {"version": "1", "digest": image.check(Extra("ant"))["digest"]}
    assert facts["brought"] == {}
    assert manifest_of([]) == {"tools": {}, "brought": {}}


def test_a_damaged_one_is_noticed_before_the_run() -> None:
    (Extra("ant").folder / "image.squashfs").write_bytes(b"torn")
    with pytest.raises(ImageError, match=r"the image ant is damaged: .* build it anew with: install it again"):
        manifest_of([Extra("ant")])
