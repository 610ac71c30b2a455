"""What the options of the kernel's own tunnels make of headers, evidence and verdicts."""

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, two_nodes
from tunbench.plan.axes.stack import parse
from tunbench.runner import stack
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.proof.claims import ways
from tunbench.runner.stack import Stack


def built(spelling: str) -> Stack:
    return stack.build(spelling, PAIR_UNDERLAYS[parse(spelling).underlay].endpoints)


def evidence(spelling: str) -> str:
    """That of the uppermost layer."""
    layer = built(spelling).layers[-1]
    return ways(layer, PAIR.pairs[0])[0].evidence


# Each was the largest packet that passed, unfragmented, in the lab: Linux 6.1.
@pytest.mark.parametrize(
    ("spelling", "mtu"),
    [
        ("ipip:inner=ipv6", 1480),
        ("ipip:outer=ipv6", 1460),
        ("gre:key=7,checksum=on", 1468),
        ("gre:outer=ipv6", 1456),
        ("gretap", 1462),
        ("gretap:key=4294967295", 1458),
        ("gretap:checksum=on", 1458),
        ("fou", 1472),
        ("fou:outer=ipv6", 1452),
        ("gue", 1468),
        ("gue:outer=ipv6", 1448),
        ("geneve", 1450),
        ("geneve:outer=ipv6", 1430),
        ("l2tpv3", 1446),
        ("l2tpv3:outer=ipv6", 1426),
        ("l2tpv3:encap=ip", 1458),
        ("l2tpv3:encap=ip,cookie=8", 1450),
        ("l2tpv3:cookie=4,l2spec=none", 1446),
        ("ipvlan:mode=l3", 1500),
    ],
)
def test_the_mtu_follows_the_options(spelling: str, mtu: int) -> None:
    assert built(spelling).overlay["a"].mtu == mtu


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("ipip", "ip proto 4"),
        ("ipip:inner=ipv6,outer=ipv6", "ip6 proto 41"),
        ("gre", "ip proto 47 and ip[20:4] = 0x00000800"),
        ("gre:checksum=on,key=7", "ip proto 47 and ip[20:4] = 0xa0000800 and ip[28:4] = 0x00000007"),
        ("gretap:key=7", "ip proto 47 and ip[20:4] = 0x20006558 and ip[24:4] = 0x00000007"),
        ("fou:inner=ipv6", "udp dst port 5555 and udp[8] & 0xf0 = 0x60"),
        ("gue:port=1", "udp dst port 1 and udp[8:4] = 0x00040000"),
        ("geneve:vni=1", "udp dst port 6081 and udp[8:4] = 0x00006558 and udp[12:4] = 0x00000100"),
        ("vxlan", "udp dst port 4789 and udp[8:4] = 0x08000000 and udp[12:4] = 0x00002a00"),
        ("l2tpv3", "udp dst port 1701 and udp[8:4] = 0x00030000 and udp[12:4] = 0x00000001"),
        ("l2tpv3:encap=ip,session=258", "ip proto 115 and ip[20:4] = 0x00000102"),
    ],
)
def test_the_evidence_follows_the_options(spelling: str, expected: str) -> None:
    assert evidence(spelling) == expected


MACVLAN = "ether[0:4] = 0x02766c00 and ether[4] = {position} and ether[6:4] = 0x02766c00 and ether[10] = {position}"


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("macvlan", MACVLAN.format(position=0)),
        ("vxlan+macvlan", MACVLAN.format(position=1)),
        ("ipvlan", "src net 10.10.0.0/24 and dst net 10.10.0.0/24"),
        ("vxlan:inner=ipv6+ipvlan:inner=ipv6", "src net fd10:1::/64 and dst net fd10:1::/64"),
    ],
)
def test_the_evidence_follows_the_place_in_the_stack(spelling: str, expected: str) -> None:
    assert evidence(spelling) == expected


def test_a_kernel_without_foo_over_udp_is_unsupported() -> None:
    built_stack, shell = built("fou:outer=ipv6"), FakeShell({"modprobe": Result(1, "", "Module fou not found")})
    with (
        pytest.raises(Unsupported, match="does not have the modules fou, fou6"),
        stack.up(built_stack, two_nodes(shell, FakeEvents())),
    ):
        pytest.fail("it did not come up")
