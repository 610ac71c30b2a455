"""Every option of every tunnel does something: with another value, other files are written or commands run."""

from pathlib import Path

import pytest

from tests.helpers.fakes import move_home
from tests.helpers.lives import lived, transcript
from tunbench.runner import registry
from tunbench.runner.declare.options import Option

BESIDE = {
    "gre:ignore-df": "pmtudisc=off",
    "gretap:ignore-df": "pmtudisc=off",
    "ipsec:dpd-timeout": "ike=1,dpd-delay=5",
    "ipsec:dpd-action": "dpd-delay=5",
    "openvpn:digest": "cipher=AES-256-CBC",
    "openvpn:ping-restart": "ping=3",
    "openvpn:tcp-nodelay": "proto=tcp",
}
"""Options that ask for others."""

OTHERS = {"openvpn:cipher": "AES-128-GCM", "openvpn:digest": "SHA1"}
"""Values that are not what the default stands for."""

DEMANDS = {"easytier:path", "nebula:path", "tinc:path", "yggdrasil:path", "zerotier:path"}
"""Options whose other value is met by what is done anyhow: a direct path, where there is no other one."""

NUMBERS = (7, 20, 33, 100, 1000, 2000)
UNITS = {"duration": "s", "seconds": "s"}

OPTIONS = sorted(f"{name}:{option}" for name in registry.tunnel_names() for option in registry.tunnel(name).takes())


def another(option: Option) -> str:
    """A value that is allowed, and is not the default."""
    if option.kind == "choice":
        return next(one for one in option.choices if one != option.default)
    if option.kind == "switch":
        return "off" if option.default == "on" else "on"
    if option.kind == "mtu":
        return "1300"
    allowed = [number for number in (*NUMBERS, option.low) if option.low <= number <= option.high]
    return next(text for number in allowed if (text := f"{number:.15g}{UNITS.get(option.kind, '')}") != option.default)


def done_by(spelling: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder.mkdir()
    home = move_home(monkeypatch, folder)
    top = registry.tunnel(spelling.partition(":")[0])
    events, _ = lived(spelling, "cluster" if top.about.pods else "pair")
    return transcript(events, home)


@pytest.mark.parametrize("option", [one for one in OPTIONS if one not in DEMANDS])
def test_another_value_of_an_option_does_something_else(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnel, _, name = option.partition(":")
    beside = f",{BESIDE[option]}" if option in BESIDE else ""
    value = OTHERS.get(option) or another(registry.tunnel(tunnel).takes()[name])
    usual, other = (f"{tunnel}:{beside[1:]}".rstrip(":"), f"{option}={value}{beside}")
    assert done_by(usual, tmp_path / "usual", monkeypatch) != done_by(other, tmp_path / "other", monkeypatch), other


@pytest.mark.parametrize("tunnel", registry.tunnel_names())
def test_the_same_value_does_the_same(tunnel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (done_by(tunnel, tmp_path / name, monkeypatch) for name in ("first", "second"))
    assert first == second, "or the other test could not fail"
