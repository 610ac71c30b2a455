import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.runner.declare.options import Option, nearest, resolve

DECLARED = {
    "port": Option("count", "51820", "UDP port", low=1, high=65535),
    "cipher": Option("choice", "aes", "cipher", choices=("aes", "chacha")),
    "reverse": Option("switch", "off", "the server sends"),
    "rate": Option("rate", "50M", "bits a second"),
}


def test_defaults_fill_in_what_is_not_given() -> None:
    values = resolve(DECLARED, {"port": "1194"}, "tunnel")
    assert values == {"port": 1194, "cipher": "aes", "reverse": False, "rate": 50e6}


@pytest.mark.parametrize(("text", "value"), [("on", True), ("yes", True), ("off", False), ("false", False)])
def test_switches(text: str, value: bool) -> None:
    assert resolve(DECLARED, {"reverse": text}, "tunnel")["reverse"] is value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("prot", "1", 'tunnel has no option "prot"; did you mean "port"?'),
        ("zzz", "1", 'tunnel has no option "zzz"; known: cipher, port, rate, reverse'),
        ("port", "0", 'tunnel: option port: "0" is out of range: allowed is 1 to 65535'),
        ("cipher", "des", 'tunnel: option cipher: "des" is not one of aes, chacha'),
        ("reverse", "maybe", 'tunnel: option reverse: "maybe" is neither on nor off'),
    ],
)
def test_messages(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        resolve(DECLARED, {name: text}, "tunnel")
    assert str(caught.value) == message


def test_nearest_names_one_or_all() -> None:
    assert nearest("wiregaurd", ["none", "wireguard"]) == '; did you mean "wireguard"?'
    assert nearest("x", ["b", "a"]) == "; known: a, b"
    assert nearest("x", []) == "; known: none"


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("police", ["duplicate", "policer"], "policer"),
        ("police", ["duplicate", "delay"], ""),
        ("routines", ["outer", "router"], ""),
        ("thruput", ["throughput"], "throughput"),
        ("slwo", ["slow", "swap"], "slow"),
        ("max", ["maximum"], "maximum"),
        ("restricted", ["none", "port-restricted"], "port-restricted"),
        ("rt", ["rtt"], "rtt"),
        ("x", ["y"], ""),
    ],
)
def test_a_suggestion_is_what_may_have_been_meant(given: str, known: list[str], meant: str) -> None:
    said = nearest(given, known)
    assert said == (f'; did you mean "{meant}"?' if meant else f"; known: {', '.join(sorted(known))}")


MTU = Option("mtu", "derived", "MTU", low=576, high=65535)


def test_an_mtu_is_derived_unless_it_is_given() -> None:
    assert resolve({"mtu": MTU}, {}, "tunnel") == {"mtu": 0}
    assert resolve({"mtu": MTU}, {"mtu": "derived"}, "tunnel") == {"mtu": 0}
    assert resolve({"mtu": MTU}, {"mtu": "1400"}, "tunnel") == {"mtu": 1400}


@given(st.integers(1, 100_000))
def test_an_mtu_is_within_its_bounds(mtu: int) -> None:
    if 576 <= mtu <= 65535:
        assert MTU.value(str(mtu)) == mtu
    else:
        with pytest.raises(ValueError, match=f'"{mtu}" is out of range: allowed is 576 to 65535'):
            MTU.value(str(mtu))


@pytest.mark.parametrize("text", ["", "-1", "1400B", "1e3", "1.5", "Derived", "auto", "nan"])
def test_what_is_no_mtu_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        MTU.value(text)
