"""In which order tests are executed where several processes share them."""

from collections.abc import Sequence
from pathlib import Path

import pytest


def put_last(items: list[pytest.Item], folder: Path, longest: Sequence[str]) -> None:
    """Puts the tests of a folder behind all others, and its longest files, by their names without `test_`, first.

    What takes longest must not be left alone at the end.
    """
    lost = [name for name in longest if not (folder / f"test_{name}.py").is_file()]
    assert not lost, f"{folder} has no test_{lost[0]}.py any more: name what it has become"
    order = {f"test_{name}.py": number for number, name in enumerate(longest, start=1)}
    items.sort(key=lambda item: order.get(item.path.name, len(order) + 1) if folder in item.path.parents else 0)
