"""The commands of every tunnel, as a person would type them: `tests/golden/tunnels/STACK.txt`.

After a change that is meant:

    TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/runner/tunnels/test_tunnels.py && git diff tests/golden
"""

import os
from pathlib import Path

import pytest

from tests.helpers.fakes import interface, move_home
from tests.helpers.lives import SECRET, lived, transcript
from tunbench.plan.axes.stack import parse
from tunbench.runner import registry, stack
from tunbench.runner.catalogue import variants
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.network import underlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS

GOLDEN = Path(__file__).parents[3] / "golden" / "tunnels"

# Every tunnel, and every other stack that has a file there: touch GOLDEN/STACK.txt to add one.
NAMES = [name for name in registry.tunnel_names() if not registry.tunnel(name).about.pods]
STACKS = sorted({*NAMES, *(path.stem for path in GOLDEN.glob("*.txt"))})

# Those whose endpoints are pods.
IN_A_CLUSTER = sorted(path.stem for path in (GOLDEN / "cluster").glob("*.txt"))

# Those whose commands depend on the hosts behind the endpoints.
BETWEEN_SITES = sorted(path.stem for path in (GOLDEN / "site-to-site").glob("*.txt"))

# Those of which an endpoint has several connections with its hub.
THROUGH_A_HUB = sorted(path.stem for path in (GOLDEN / "hub-spoke").glob("*.txt"))

# Those that bind to the address of their own node, which is not that by which others reach it behind a NAT.
BEHIND_NAT = sorted(path.stem for path in (GOLDEN / "behind-nat").glob("*.txt"))

NAT = Accesses("home", Access("home", nat="port-restricted"))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def compare(file: Path, text: str) -> None:
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("spelling", STACKS)
def test_the_commands_of_a_stack(spelling: str, home: Path) -> None:
    events, _ = lived(spelling)
    compare(GOLDEN / f"{spelling}.txt", transcript(events, home))


@pytest.mark.parametrize("spelling", BETWEEN_SITES)
def test_the_commands_of_a_stack_between_sites(spelling: str, home: Path) -> None:
    events, _ = lived(spelling, "site-to-site")
    compare(GOLDEN / "site-to-site" / f"{spelling}.txt", transcript(events, home))


@pytest.mark.parametrize("spelling", IN_A_CLUSTER)
def test_the_commands_of_a_stack_in_a_cluster(spelling: str, home: Path) -> None:
    events, _ = lived(spelling, "cluster")
    compare(GOLDEN / "cluster" / f"{spelling}.txt", transcript(events, home))


@pytest.mark.parametrize("spelling", THROUGH_A_HUB)
def test_the_commands_of_a_stack_through_a_hub(spelling: str, home: Path) -> None:
    events, _ = lived(spelling, "hub-spoke:nodes=3")
    compare(GOLDEN / "hub-spoke" / f"{spelling}.txt", transcript(events, home))


@pytest.mark.parametrize("spelling", BEHIND_NAT)
def test_the_commands_of_a_stack_behind_a_nat(spelling: str, home: Path) -> None:
    events, _ = lived(spelling, accesses=NAT)
    compare(GOLDEN / "behind-nat" / f"{spelling}.txt", transcript(events, home))


@pytest.mark.parametrize("spelling", STACKS)
def test_no_secret_is_told(spelling: str) -> None:
    events, shell = lived(spelling)
    assert SECRET not in repr(events.told)
    assert not any(SECRET in call.text for call in shell.calls)


@pytest.mark.parametrize("name", ["wireguard", "openvpn", "ipsec", "ipsec:daemon=libreswan"])
def test_the_secrets_of_the_last_test_were_there(name: str, home: Path) -> None:
    lived(name)
    keys = [path for path in home.rglob("*") if path.is_file() and SECRET in path.read_text()]
    assert {path.relative_to(home).parts[0] for path in keys} == {"a", "b"}


def test_a_wireguard_key_is_read_by_root_alone(home: Path) -> None:
    lived("wireguard")
    assert next(home.glob("a/*-private.key")).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("spelling", "mtu"),
    [
        ("none", 1500),
        ("macvlan", 1500),
        ("ipip", 1480),
        ("gre", 1476),
        ("vxlan", 1450),
        ("wireguard", 1440),
        ("openvpn", 1448),
        ("ipsec", 1446),
        ("ipsec:mode=transport", 1466),
        ("ipsec:cipher=aes128cbc-sha1,encap=on", 1422),
        ("ipsec:inner=ipv6,outer=ipv6", 1426),
        ("ipsec:mode=transport+gre", 1442),
        ("wireguard+vxlan", 1390),
        ("vxlan+wireguard", 1390),
        ("ipip+ipip+gre", 1436),
        ("macvlan+openvpn+vxlan", 1398),
    ],
)
def test_every_layer_takes_its_bytes_from_the_mtu(spelling: str, mtu: int) -> None:
    built = stack.build(spelling, PAIR_UNDERLAYS[parse(spelling).underlay].endpoints)
    assert {name: overlay.mtu for name, overlay in built.overlay.items()} == {"a": mtu, "b": mtu}


def test_each_layer_has_an_interface_and_a_network_of_its_own() -> None:
    built = stack.build("vxlan+vxlan:vni=7", PAIR_UNDERLAYS["ip"].endpoints)
    assert [[one.cidr for one in overlay.values()] for overlay in built.overlays] == [
        ["10.0.1.2/24", "10.0.2.2/24"],
        ["10.10.0.1/24", "10.10.0.2/24"],
        ["10.11.0.1/24", "10.11.0.2/24"],
    ]
    assert len({overlay["a"].interface for overlay in built.overlays}) == 3


# What the kernel makes on its own in every network namespace as soon as the module is there: Linux 6.1.
FALLBACKS = ("gre0", "gretap0", "erspan0", "tunl0", "sit0", "ip6tnl0", "ip6gre0", "ip_vti0", "ip6_vti0")


@pytest.mark.parametrize("name", registry.tunnel_names())
def test_no_interface_has_a_name_that_the_kernel_takes_for_itself(name: str) -> None:
    assert interface(name) not in FALLBACKS


def test_what_the_kernel_makes_on_its_own_is_declared_with_the_modules_that_bring_it() -> None:
    declared = {
        device
        for name in registry.tunnel_names()
        for about in variants(name).values()
        for module in about.needs.modules
        for device in module.fallback_devices
    }
    assert set(FALLBACKS) <= declared


@pytest.mark.parametrize(
    ("spelling", "devices"),
    [
        ("wireguard", set()),
        ("ipip", {"tunl0", "ip6tnl0"}),
        ("ipip:inner=ipv6", {"sit0", "ip6tnl0"}),
        ("wireguard+gretap", {"gre0", "gretap0", "erspan0", "ip6gre0", "ip6gretap0", "ip6erspan0", "ip6tnl0"}),
        ("ipsec", set()),
        ("ipsec:mode=vti", {"ip_vti0", "ip6_vti0", "ip6tnl0"}),
    ],
)
def test_a_stack_brings_the_fallback_devices_of_its_layers(spelling: str, devices: set[str]) -> None:
    assert stack.fallback_devices(stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints)) == devices


@pytest.mark.parametrize("name", registry.tunnel_names())
def test_the_name_of_an_interface_is_short_enough(name: str) -> None:
    assert len(interface(name, 9)) <= 15


def test_the_evidence_follows_the_options() -> None:
    built = stack.build("wireguard:port=7", PAIR_UNDERLAYS["ip"].endpoints)
    [layer] = built.layers
    assert layer.evidence(layer.options, 4) == "udp port 7 and udp[8:4] = 0x04000000"


def test_openvpn_is_stopped_once(home: Path) -> None:
    _, shell = lived("openvpn")
    assert [process.ended for process in shell.started] == ["stopped", "stopped"]


@pytest.mark.parametrize(
    ("spelling", "reason"),
    [
        ("ipsec:cipher=chacha20poly1305,ike=1", "defined for IKEv2 alone"),
        ("ipsec:inner=ipv6,mode=transport", "take inner=ipv6 away"),
        ("ipsec:mode=transport,mtu=1300", "take mtu away"),
    ],
)
def test_what_ipsec_cannot_do_is_said(spelling: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints)


# The total length of an echo request of 64 bytes, and of the largest, in IPv4 on the wire: captured in the lab.
@pytest.mark.parametrize(
    ("options", "small", "largest"),
    [
        ("", 148, 1500),
        (":cipher=aes128cbc-sha1", 152, 1496),
        (":cipher=aes256cbc-sha256", 156, 1500),
        (":cipher=null-sha1", 136, 1500),
        (":encap=on", 156, 1500),
        (":mode=transport", 128, 1500),
        (":cipher=aes128gcm8,mode=transport", 120, 1500),
    ],
)
def test_the_sizes_of_esp_are_those_on_the_wire(options: str, small: int, largest: int) -> None:
    built = stack.build(f"ipsec{options}", PAIR_UNDERLAYS["ip"].endpoints)
    [layer] = built.layers
    mtu = built.overlay["a"].mtu
    form = layer.format(layer.options, 4)
    assert (form.size(64 + 28, mtu), form.size(mtu, mtu)) == (small, largest)


@pytest.mark.parametrize(
    ("spelling", "framing"),
    [
        ("none", 14),
        ("macvlan", 14),
        ("ipvlan", 14),
        ("gretap", 14),
        # Linux 6.1, drivers/net: they count packets without their Ethernet header.
        ("vxlan", 0),
        ("geneve", 0),
        ("gre", 0),
        ("openvpn", 0),
        ("openvpn:device=tap", 14),
        ("tinc:mode=switch", 14),
        ("wireguard", 32),
        ("wireguard:impl=go", 0),
        ("netbird", 32),
        ("netbird:impl=go", 0),
        # Its interface is that below.
        ("ipsec", 14),
        ("ipsec:mode=transport+gre", 0),
        ("ipsec:mode=xfrm", 0),
        ("wireguard+ipsec:mode=transport", 32),
    ],
)
def test_what_an_interface_counts_beyond_packets_is_declared(spelling: str, framing: int) -> None:
    under = underlay.of(parse(spelling).underlay, roles=stack.roles(spelling))
    built = stack.build(spelling, under.endpoints, beside=under.roles)
    assert {overlay.framing for overlay in built.overlay.values()} == {framing}
