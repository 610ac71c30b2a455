"""The daemons in user space: options that do not go together, sizes that were seen on the wire, and secrets."""

from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, move_home, two_nodes
from tunbench.runner import stack
from tunbench.runner.declare.tunnel import Claims
from tunbench.runner.network.underlay import PAIR_UNDERLAYS

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("spelling", "reason"),
    [
        ("openvpn:auth=none,cipher=AES-256-GCM", "auth=none has no cipher AES-256-GCM: take one of none"),
        ("openvpn:auth=static-key,cipher=CHACHA20-POLY1305", "take one of AES-256-CBC, none"),
        ("openvpn:digest=SHA256", "no HMAC with an AEAD cipher or auth=none: take the option digest away"),
        ("openvpn:auth=none,digest=SHA256", "take the option digest away"),
        ("tinc:mac-length=33", "mac-length=33 is more than the 32 bytes of sha256"),
        ("tinc:mtu=9000", "out of range"),
        ("nebula:mtu=9000", "out of range"),
        ("yggdrasil:mtu=1279", "out of range: allowed is 1280 to 53049"),
    ],
)
def test_options_that_do_not_go_together(spelling: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints)


@pytest.mark.parametrize(
    ("spelling", "claims", "layer"),
    [
        ("openvpn", Claims(True, True, True), 3),
        ("openvpn:auth=static-key", Claims(True, True, True), 3),
        ("openvpn:cipher=none,device=tap", Claims(False, True, True), 2),
        ("openvpn:auth=none", Claims(False, False, False), 3),
        ("tinc:mode=switch", Claims(True, True, True), 2),
        ("tinc:replay-window=0", Claims(True, True, False), 3),
        ("tinc:cipher=none,digest=none", Claims(False, False, False), 3),
    ],
)
def test_claims_and_layer_follow_from_the_options(spelling: str, claims: Claims, layer: int) -> None:
    [tunnel] = stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints).layers
    assert (tunnel.declared.claims, tunnel.declared.layer) == (claims, layer)


@pytest.mark.parametrize(
    ("spelling", "packet", "size"),
    [
        # Captured on the router in the vm lab; the last of each is a packet as large as the MTU.
        ("wireguard:impl=go", 128, 188),
        ("wireguard:impl=go", 1440, 1500),
        ("nebula", 128, 188),
        ("nebula", 1440, 1500),
        ("openvpn", 128, 180),
        ("openvpn", 1448, 1500),
        ("openvpn:cipher=AES-256-CBC", 128, 212),
        ("openvpn:cipher=AES-256-CBC", 1419, 1492),
        ("openvpn:auth=static-key", 128, 208),
        ("openvpn:auth=static-key", 1415, 1488),
        ("openvpn:auth=none", 128, 156),
        ("openvpn:auth=none", 1472, 1500),
        ("tinc", 128, 192),
        ("tinc", 1437, 1488),
        ("tinc:cipher=none,digest=none,inner=ipv6", 148, 194),
        ("tinc:cipher=none,digest=none,inner=ipv6", 1454, 1500),
        ("yggdrasil", 148, 344),
        ("yggdrasil:transport=tcp,mtu=1280", 1280, 1454),
    ],
)
def test_sizes_are_those_on_the_wire(spelling: str, packet: int, size: int) -> None:
    built = stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints)
    [tunnel] = built.layers
    assert tunnel.format(tunnel.options, 4).size(packet, built.overlay["a"].mtu) == size


@pytest.mark.parametrize(("spelling", "mtu"), [("tinc", 1500), ("nebula", 8969), ("vxlan", 52979)])
def test_a_daemon_has_a_largest_mtu_of_its_own(spelling: str, mtu: int) -> None:
    built = stack.build(f"yggdrasil+{spelling}", PAIR_UNDERLAYS["ip"].endpoints)
    assert built.overlay["a"].mtu == mtu


@pytest.mark.parametrize("secret_of", ["yggdrasil -genconf", "sh -c"])
def test_the_key_of_yggdrasil_goes_from_file_to_file(
    secret_of: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = move_home(monkeypatch, tmp_path)
    events = FakeEvents()
    shell = FakeShell({"-address": "200:1:2:3:4:5:6:7\n", secret_of: f"  PrivateKey: {SECRET}\n"})
    built = stack.build("yggdrasil", PAIR_UNDERLAYS["ip"].endpoints)
    stack.prepare(built, two_nodes(shell, events))
    assert SECRET not in repr(events.told)
    assert any(SECRET in path.read_text() for path in home.rglob("a/*") if path.is_file())
    assert built.overlay["a"].cidr == "200:1:2:3:4:5:6:7/7"
