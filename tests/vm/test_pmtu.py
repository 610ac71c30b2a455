"""A link that takes smaller packets than the others, behind a router that says so, and behind one that does not."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, verdicts
from tunbench.labs import payload

pytestmark = pytest.mark.vm

LINK = 1400
"""Bytes of the largest packet on the link between the router and b."""

# The underlay, with that link behind the router.
NARROW = f"""

_build = build


def build(underlay, nodes):
    _build(underlay, nodes)
    nodes[underlay.middle].run("ip", "link", "set", underlay.towards["b"].name, "mtu", "{LINK}")
    nodes["b"].run("ip", "link", "set", underlay.endpoints["b"].interface, "mtu", "{LINK}")
"""

# The same with a router that sends no ICMP error about the size of packets: RFC 2923, section 2.1.
HOLE = (
    NARROW
    + """\
    hole = nodes[underlay.middle]
    hole.run("nft", "add table inet hole; add chain inet hole out { type filter hook output priority 0; };")
    hole.run("nft", "add rule inet hole out icmp type destination-unreachable icmp code frag-needed drop")
    hole.run("nft", "add rule inet hole out icmpv6 type packet-too-big drop")
"""
)


def measured(folder: Path, monkeypatch: pytest.MonkeyPatch, stack: str, change: str) -> dict[str, float]:
    files = payload.runner_files()
    files["tunbench/runner/network/links.py"] += change.encode()
    monkeypatch.setattr(payload, "runner_files", lambda: files)
    record = execute(folder, plan([stack], '["baseline"]', ["pmtu"]))
    assert verdicts(record)[stack, "pmtu"] == ("ok", "")
    return {row["metric"]: row["value"] for trial in record.trials for row in trial.rows if trial.rows}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (NARROW, {"pmtu": LINK, "discovered": LINK, "black-hole": 0}),
        (HOLE, {"pmtu": LINK, "discovered": 1500, "black-hole": 1}),
    ],
)
def test_a_black_hole_is_told_from_a_smaller_link(
    change: str, found: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = measured(tmp_path / "run", monkeypatch, "none", change)
    assert {metric: values[metric] for metric in found} == found


def test_what_passes_in_fragments_is_no_black_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # WireGuard's packets may be fragmented: what does not fit passes all the same, and the router has nothing to say.
    values = measured(tmp_path / "run", monkeypatch, "wireguard", HOLE)
    assert values["pmtu"] < values["discovered"] == 1440
    assert values["black-hole"] == 0
