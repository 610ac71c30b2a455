"""Where a warning was found, in words."""

from collections.abc import Mapping

from tunbench.runner.declare import axes


def within_condition(cell: Mapping[str, str]) -> list[str]:
    """The profile of a cell, what else of its condition is not as usual, and its workload."""
    special = [f"{axis}={cell[axis]}" for axis, usual in axes.USUAL.items() if cell[axis] != usual]
    return [cell["profile"], *special, cell["workload"]]
