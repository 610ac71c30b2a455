"""A link that takes smaller packets than the others, behind a router that says so, and behind one that does not."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal.record import Record

pytestmark = pytest.mark.vm

LINK = 1400
"""Bytes of the largest packet on the link behind the gateway of b, which neither end knows."""

NARROW = f'{{ b = {{ name = "narrow", link = {{ mtu = {LINK} }} }} }}'

# The same where nobody is told of what is too large: RFC 2923, section 2.1.
HOLE = NARROW.replace(" } }", ' }, icmp = "filtered" }')


def executed(folder: Path, stack: str, access: str) -> Record:
    record = execute(folder, plan([stack], '["baseline"]', ["pmtu"], access=access))
    assert verdicts(record)[stack, "pmtu"] == ("ok", "")
    return record


def measured(folder: Path, stack: str, access: str) -> dict[str, float]:
    return found_in(executed(folder, stack, access))


def found_in(record: Record) -> dict[str, float]:
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


PPTP, HUNG_UP = "pptp:mppe=off,mtu=1462", "Modem hangup"

# IP, GRE with both numbers and the protocol of PPP: RFC 2637, section 4.1. What acknowledges nothing lacks one of them.
OF_PPTP, OF_ACKNOWLEDGMENT = 20 + 16 + 1, 4


def said(record: Record) -> str:
    """What the daemon of a had said when sizes had been asked for."""
    [trial] = [one for one in record.trials if one.cell["workload"] == "pmtu"]
    return trial.logs["a/pptp-0-pppd.log"]


def test_a_tunnel_that_hangs_up_is_asked_again_when_it_is_back(tmp_path: Path) -> None:
    # Both programs of PPTP end when a router refuses what they sent, once for each direction, and are started again.
    # The kernels have learned by then what fits, and cut what does not.
    record = executed(tmp_path / "run", PPTP, NARROW)
    values = found_in(record)
    assert HUNG_UP in said(record)
    assert (values["interruptions"], values["black-hole"]) == (2, 0)
    assert (values["pmtu"], values["discovered"]) == (LINK - OF_PPTP, 1462)


def test_a_tunnel_does_not_hang_up_where_nobody_refuses(tmp_path: Path) -> None:
    # Of packets that are a little larger only those pass which acknowledge nothing. Where some of them are missing, GRE
    # keeps what comes next, and small packets may be late as well.
    record = executed(tmp_path / "run", PPTP, HOLE)
    values = found_in(record)
    assert HUNG_UP not in said(record)
    assert (values["black-hole"], values["discovered"]) == (1, 1462)
    assert LINK - OF_PPTP <= values["pmtu"] <= LINK - OF_PPTP + OF_ACKNOWLEDGMENT


def test_gre_carries_what_is_too_large_in_fragments_where_it_ignores_df(tmp_path: Path) -> None:
    # 1,472 bytes of payload are a packet of 1,500, which says that it must not be fragmented: RFC 7588, section 3.3.
    stacks = ["gre:mtu=1500", "gre:mtu=1500,pmtudisc=off,ignore-df=on"]
    record = execute(tmp_path / "run", plan(stacks, '["baseline"]', ["ping:count=5,size=1472,df=on"]))
    assert [values(record, "loss", stack) for stack in stacks] == [[1.0], [0.0]]


LOST = {"gretap": 1.0, "ipip": 1.0, "fou": 1.0, "gue": 1.0, "geneve": 0.9, "l2tpv3": 0.0}
"""Of ten packets that must not be cut and do not fit below, the share that the kernel refuses. With geneve it learns by
the first one what fits, and l2tpv3 cuts them nevertheless."""


@pytest.mark.long
def test_what_does_not_fit_below_is_refused_where_it_must_not_be_cut_and_passes_in_fragments_else(
    tmp_path: Path,
) -> None:
    whole, cut = "ping:count=10,size=1472,df=on", "ping:count=10,size=1472"
    record = execute(tmp_path / "run", plan([f"{name}:mtu=1500" for name in LOST], '["baseline"]', [whole, cut]))
    for name, lost in LOST.items():
        stack = f"{name}:mtu=1500"
        assert values(record, "loss", stack, workload=whole) == [lost]
        assert values(record, "refused", stack, workload=whole) == [10 * lost]
        assert values(record, "loss", stack, workload=cut) == [0.0]
    assert {warning.name for warning in record.warnings} >= {"fragmented"}
