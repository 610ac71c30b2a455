"""What the VM tests need before the first of them."""

from pathlib import Path

import pytest

from tunbench.labs import image
from tunbench.labs.definition import BASE


@pytest.fixture(scope="session", autouse=True)
def base_image() -> Path:
    """The image of the lab; these tests need it, and build it where it is not there."""
    return image.ensure(BASE, print)
