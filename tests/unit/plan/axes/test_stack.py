"""Which layers can be joined. The messages themselves are golden: tests/golden/errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.plan.axes.stack import parse, read_stack
from tunbench.runner import registry
from tunbench.runner.declare.tunnel import About, Claims
from tunbench.runner.tunnel import Tunnel


class Four(Tunnel):
    """A tunnel of IPv4 over IPv4 alone."""

    about = About(name="four", summary="", layer=3, claims=Claims(), evidence="ip proto 4")


class Six(Tunnel):
    """A tunnel of IPv6 over IPv4 alone."""

    about = Four.about._replace(name="six", families=(6,))


SHIPPED = registry.tunnel


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two are there besides those that are shipped: whatever these will carry one day, families stay apart."""
    here: dict[str, type[Tunnel]] = {"four": Four, "six": Six}
    monkeypatch.setattr(registry, "tunnel", lambda name: here.get(name) or SHIPPED(name))


ports = st.integers(4786, 4792)
identifiers = st.integers(1, 3)


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "none:underlay=ip6",
        "gre+gre",
        "ipip+ipip+ipip",
        "wireguard:port=51821+wireguard",
        "wireguard+vxlan+wireguard:port=51821",
        "vxlan+vxlan:vni=7",
        "vxlan+vxlan:port=8472",
        "vxlan+macvlan",
        "macvlan+wireguard",
        "wireguard:outer=ipv6+vxlan",
        "wireguard:outer=ipv6,inner=ipv6+vxlan",
        "vxlan:inner=ipv6+wireguard:outer=ipv6",
        "vxlan:inner=ipv6+wireguard",
        "wireguard:outer=ipv4+vxlan:outer=ipv4",
        "four+four",
        "four+six",
        "six+wireguard",
        "vxlan:inner=ipv6+wireguard+four",
    ],
)
def test_what_can_be_joined_is_read_as_it_stands(text: str) -> None:
    assert read_stack(text).name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wireguard+wireguard", "wireguard stands in it twice: give one of them another port, as wireguard:port=…"),
        ("wireguard+vxlan+wireguard", "wireguard stands in it twice"),
        ("wireguard:port=51820+wireguard", "wireguard stands in it twice"),
        ("vxlan+vxlan", "vxlan stands in it twice: give one of them another port or vni, as vxlan:port=…"),
        ("vxlan+wireguard+vxlan:inner=ipv6", "vxlan stands in it twice"),
        ("macvlan+macvlan:mode=vepa", "macvlan can stand in a stack once only"),
        ("wireguard:port=1194+openvpn", "wireguard and openvpn both want the port udp 1194: give one of them another"),
        ("vxlan+vxlan:vni=7+wireguard:port=4789", "vxlan and wireguard both want the port udp 4789"),
        ("wireguard:port=4789+vxlan+vxlan:vni=7", "wireguard and vxlan both want the port udp 4789"),
        ("wireguard:port=4500+ipsec", "wireguard and ipsec both want the port udp 4500"),
        ("pptp+openvpn:proto=tcp,port=1723", "pptp and openvpn both want the port tcp 1723"),
        ("ipsec+vxlan+ipsec", "ipsec can stand in a stack once only"),
        ("none+wireguard", "joins none, which is no layer"),
        ("none:underlay=ip6+wireguard", "joins none, which is no layer"),
        ("none+none", "joins none, which is no layer"),
        ("ipip+macvlan", r"macvlan needs Ethernet below it, and ipip carries IP packets only \(layer 3\)"),
        ("vxlan+ipip+macvlan", "macvlan needs Ethernet below it, and ipip"),
        ("wireguard+vxlan:outer=ipv6", "vxlan:outer=ipv6 asks for another outer address family than wireguard has"),
        (
            "wireguard:outer=ipv6+vxlan:outer=ipv6",
            "vxlan:outer=ipv6 asks for another outer address family than wireguard:outer=ipv6 has",
        ),
        ("vxlan:inner=ipv6+wireguard:outer=ipv4", "wireguard:outer=ipv4 asks for another outer address family"),
        ("vxlan:inner=ipv6+four", "four cannot run over IPv6, which vxlan:inner=ipv6 has"),
        ("vxlan:inner=ipv6+wireguard:inner=ipv6+four", "four cannot run over IPv6, which wireguard:inner=ipv6 has"),
        ("six+four", "four cannot run over IPv6, which six has"),
        ("six+six", "six cannot run over IPv6, which six has"),
        ("four:outer=ipv6", 'four has no option "outer"'),
        ("six:inner=ipv4", 'six has no option "inner"'),
        ("none:mtu=1000", 'none has no option "mtu"'),
    ],
)
def test_what_cannot_come_up_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_stack(text)


def joins(text: str) -> bool:
    try:
        read_stack(text)
    except ValueError as error:
        assert "twice" in str(error) or "both want" in str(error)
        return False
    return True


@given(ports, ports)
def test_two_of_one_technology_need_two_ports(one: int, other: int) -> None:
    assert joins(f"wireguard:port={one}+wireguard:port={other}") == (one != other)


@given(ports, ports, st.booleans())
def test_two_technologies_never_share_a_port(one: int, other: int, swapped: bool) -> None:
    layers = [f"wireguard:port={one}", f"vxlan:port={other}"]
    assert joins("+".join(reversed(layers) if swapped else layers)) == (one != other)


@given(ports, ports, identifiers, identifiers)
def test_one_of_several_exclusive_options_is_enough(port: int, other_port: int, vni: int, other_vni: int) -> None:
    text = f"vxlan:port={port},vni={vni}+vxlan:port={other_port},vni={other_vni}"
    assert joins(text) == ((port, vni) != (other_port, other_vni))


def test_what_is_left_must_be_of_use() -> None:
    # 1500 - 46 × 20 = 580.
    assert read_stack("+".join(["ipip"] * 46))
    with pytest.raises(ValueError, match="leaves an MTU of 560 bytes at ipip, and 576 are needed for IPv4"):
        read_stack("+".join(["ipip"] * 47))
    assert read_stack("vxlan:mtu=1280,inner=ipv6")
    with pytest.raises(ValueError, match="leaves an MTU of 1279 bytes at vxlan, and 1280 are needed for IPv6"):
        read_stack("vxlan:mtu=1279,inner=ipv6")
    assert read_stack("ipip:mtu=596+ipip")
    with pytest.raises(ValueError, match="leaves an MTU of 575 bytes"):
        read_stack("ipip:mtu=595+ipip")


def test_spellings_of_one_stack_have_one_meaning() -> None:
    assert parse("wireguard:mtu=derived,inner=ipv4").meaning == parse("wireguard").meaning
    assert parse("wireguard:inner=ipv6").meaning != parse("wireguard").meaning
    assert parse("wireguard:mtu=1440").meaning != parse("wireguard").meaning
    assert parse("vxlan+wireguard").meaning != parse("wireguard+vxlan").meaning


@pytest.mark.parametrize(
    "text",
    [
        "openvpn:proto=tcp,port=4789+vxlan",
        "l2tpv3:encap=ip+vxlan:port=1701",
        "openconnect:transport=tls+openvpn:port=443",
        "vxlan+vxlan:vni=7",
    ],
)
def test_ports_of_other_protocols_and_of_one_kind_do_not_clash(text: str) -> None:
    assert read_stack(text).name == text
