"""What the VM tests need before the first of them."""

from pathlib import Path

import pytest

from tests.helpers.images import ensured
from tunbench.labs.vm.image_definition import ADDONS, BASE


@pytest.fixture(scope="session", autouse=True)
def base_image() -> Path:
    """The images of the lab; these tests need them, and build them where they are not there."""
    for addon in ADDONS.values():
        ensured(addon)
    return ensured(BASE)
