"""The order of the tests of the native lab."""

from pathlib import Path

import pytest

from tests.helpers.order import put_last

LONGEST = ("kills", "hostile", "native_lab", "isolation", "soak", "disks")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of the native lab behind all others, and the longest first among them."""
    put_last(items, Path(__file__).parent, LONGEST)
