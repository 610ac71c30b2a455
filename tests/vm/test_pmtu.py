"""A link that takes smaller packets than the others, behind a router that says so, and behind one that does not."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, verdicts

pytestmark = pytest.mark.vm

LINK = 1400
"""Bytes of the largest packet on the link behind the gateway of b, which neither end knows."""

NARROW = f'{{ b = {{ name = "narrow", link = {{ mtu = {LINK} }} }} }}'

# The same where nobody is told of what is too large: RFC 2923, section 2.1.
HOLE = NARROW.replace(" } }", ' }, icmp = "filtered" }')


def measured(folder: Path, stack: str, access: str) -> dict[str, float]:
    record = execute(folder, plan([stack], '["baseline"]', ["pmtu"], access=access))
    assert verdicts(record)[stack, "pmtu"] == ("ok", "")
    return {row["metric"]: row["value"] for trial in record.trials for row in trial.rows if trial.rows}


@pytest.mark.parametrize(
    ("access", "found"),
    [
        (NARROW, {"pmtu": LINK, "discovered": LINK, "black-hole": 0}),
        (HOLE, {"pmtu": LINK, "discovered": 1500, "black-hole": 1}),
    ],
)
def test_a_black_hole_is_told_from_a_smaller_link(access: str, found: dict[str, float], tmp_path: Path) -> None:
    values = measured(tmp_path / "run", "none", access)
    assert {metric: values[metric] for metric in found} == found


def test_what_passes_in_fragments_is_no_black_hole(tmp_path: Path) -> None:
    # WireGuard's packets may be fragmented: what does not fit passes all the same, and the router has nothing to say.
    values = measured(tmp_path / "run", "wireguard", HOLE)
    assert values["pmtu"] < values["discovered"] == 1440
    assert values["black-hole"] == 0
