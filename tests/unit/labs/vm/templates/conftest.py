"""The only QEMU there is where a VM is saved and loaded: a program that speaks like it."""

from pathlib import Path

import pytest

from tests.helpers.fake_qemu import FakeQemu
from tests.helpers.labs import ADDON, small_images
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.templates import seal, start


@pytest.fixture
def qemu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeQemu:
    small_images(monkeypatch, tmp_path)
    monkeypatch.setattr(seal, "_known", {})
    monkeypatch.delenv(start.SWITCH, raising=False)
    for definition in (BASE, ADDON):
        image_build.write_manifest_of(definition, definition.folder, {})
    return FakeQemu(monkeypatch, tmp_path)
