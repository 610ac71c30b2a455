from collections.abc import Iterator

import pytest

from tunbench.plugins import taken


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """What a test takes is gone afterwards."""
    yield
    taken.release()
