"""By how much headers are declared wrongly: of the layer that has them, and of no other one."""

import pytest

from tunbench.analysis import overhead
from tunbench.analysis.overhead import Limits, OverheadCheck, PacketOverhead


def found(stack: str, *more: tuple[int, int]) -> list[list[int]]:
    """What is said of two layers that add so many bytes less than they declare, packet by packet."""
    built = overhead.built(stack)
    spare = sum(form.spare for form in overhead.formats(built))
    rows = []
    for packet, (lower, upper) in zip((100, 500, 900), more, strict=True):
        computed = overhead.computed(built, packet)
        below = (computed.below[0] - lower - upper, computed.below[1] - upper)
        rows.append(PacketOverhead(computed, computed._replace(below=below), spare))
    return overhead.declared_more(OverheadCheck(stack, rows, Limits(1, 1), None, ""))


@pytest.mark.parametrize(
    ("stack", "more", "said"),
    [
        ("vxlan+ipip", [(0, 0), (0, 0), (0, 0)], [[], []]),
        ("vxlan+ipip", [(0, 4), (0, 4), (0, 4)], [[], [4]]),
        ("vxlan+ipip", [(0, 4), (8, 0), (-2, 0)], [[-2, 8], [4]]),
        ("pptp+ipip", [(4, 1), (4, 1), (0, 1)], [[], [1]]),
        ("pptp+ipip", [(5, 0), (-1, 0), (4, 0)], [[-1, 5], []]),
    ],
)
def test_a_layer_is_told_the_bytes_that_are_its_own(
    stack: str, more: list[tuple[int, int]], said: list[list[int]]
) -> None:
    assert found(stack, *more) == said
