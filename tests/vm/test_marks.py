"""Who copies the marks of a packet to its own headers, and who clears them."""

from pathlib import Path

import pytest

from tests.helpers.documentation import page, rows
from tests.helpers.measuring import execute, plan, values, verdicts

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

METRICS = ("dscp-outside", "ecn-outside", "dscp-inside", "congestion-inside")


def told() -> dict[str, tuple[float, ...]]:
    """What the page says of each stack, by metric."""
    table = rows(page("access.md"), rf"stack \| {METRICS[0]}")
    return {cells[0].strip("`"): tuple(float(cell) for cell in cells[1:5]) for cells in table}


def test_who_copies_and_who_clears(tmp_path: Path) -> None:
    expected = told()
    assert {"none", "gre", "ipip", "vxlan", "wireguard", "ipsec", "openvpn"} <= set(expected)
    record = execute(tmp_path / "run", plan(list(expected), '["baseline"]', ["marks"]), workers=1)
    assert set(verdicts(record).values()) == {("ok", "")}
    found = {stack: tuple(values(record, metric, stack)[0] for metric in METRICS) for stack in expected}
    assert found == expected
