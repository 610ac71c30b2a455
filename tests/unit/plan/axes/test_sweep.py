"""Sweeps: their values are exact, their products whole, and each result says which value it has."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.small_plans import small_plan as plan
from tunbench.plan.axes import sweep
from tunbench.plan.axes.link import read_links
from tunbench.plan.axes.profile import read_profile, read_profiles
from tunbench.plan.axes.tuning import read_tunings
from tunbench.plan.load import check
from tunbench.plan.toml.bounds import MAX_SWEPT_VALUES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0..0.5 step 0.1", ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ("0..1 step 0.5", ["0", "0.5", "1"]),
        ("10M..30M step 10M", ["10M", "20M", "30M"]),
        ("0ms..20ms step 10ms", ["0ms", "10ms", "20ms"]),
        ("20 ms .. 0 ms step -10 ms", ["20ms", "10ms", "0ms"]),
        ("90%..100% step 5%", ["90%", "95%", "100%"]),
        ("1..1 step 1", ["1"]),
        ("100..300  step  100", ["100", "200", "300"]),
    ],
)
def test_a_range_has_the_values_that_one_would_write(text: str, expected: list[str]) -> None:
    assert sweep.values(text) == expected


@given(first=st.decimals(-1000, 1000, places=3), step=st.decimals("0.001", 100, places=3), number=st.integers(0, 50))
def test_a_range_is_exact_and_has_its_end(first: Decimal, step: Decimal, number: int) -> None:
    last = first + number * step
    found = sweep.values(f"{first:f}ms..{last:f}ms step {step:f}ms")
    assert found is not None
    assert [Decimal(str(value).removesuffix("ms")) for value in found] == [first + i * step for i in range(number + 1)]


def test_a_range_of_the_most_values() -> None:
    assert len(sweep.values("1..10000 step 1") or []) == MAX_SWEPT_VALUES


@pytest.mark.parametrize("value", ["20ms", "wireguard", 5, 0.5, True, {"a": 1}])
def test_what_is_no_sweep(value: object) -> None:
    assert sweep.values(value) is None


@pytest.mark.parametrize(
    "text",
    [
        "1..2",
        "..",
        "1.. step 1",
        "..2 step 1",
        "1..2 step",
        "1..2 step 1 step 1",
        "1..2..3 step 1",
        "1e3..2e3 step 1e2",
        "0..99999999999999999999 step 0.00000000000000000001",
        "0..9999999999999 step 0.000000000001",
        "nan..1 step 1",
    ],
)
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ValueError):
        sweep.values(text)


@given(st.text(alphabet="0123456789.ms%M -+step[],", max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    for read in (sweep.values, sweep.spellings):
        try:
            found = read(text)
        except ValueError:
            continue
        assert found is None or all(isinstance(one, str) for one in found)


def test_spellings_are_the_product_of_their_sweeps() -> None:
    assert sweep.spellings("ping:count=5") == ["ping:count=5"]
    assert sweep.spellings("vxlan:vni=1..2 step 1+gre:key=[7, 8],ttl=9") == [
        "vxlan:vni=1+gre:key=7,ttl=9",
        "vxlan:vni=1+gre:key=8,ttl=9",
        "vxlan:vni=2+gre:key=7,ttl=9",
        "vxlan:vni=2+gre:key=8,ttl=9",
    ]
    assert sweep.spellings("a:x=[1,3..5 step 1]") == ["a:x=1", "a:x=3", "a:x=4", "a:x=5"]


def test_workloads_and_stacks_have_the_values_in_their_spelling() -> None:
    given = plan(
        workloads=["ping", "iperf3-udp:rate=10M..30M step 10M", "iperf3-udp:length=[536,1200]"],
        stacks=["none", "wireguard:port=[1,2]+vxlan"],
    )
    assert given.axes["workload"] == [
        *("ping", "iperf3-udp:rate=10M", "iperf3-udp:rate=20M", "iperf3-udp:rate=30M"),
        *("iperf3-udp:length=536", "iperf3-udp:length=1200"),
    ]
    assert given.axes["stack"] == ["none", "wireguard:port=1+vxlan", "wireguard:port=2+vxlan"]


def test_profiles_are_named_by_their_swept_values() -> None:
    found = list(read_profiles({"name": "wan", "delay": ["0ms", "20 ms"], "loss": "0%..1% step 1%"}))
    assert [profile.name for profile in found] == [
        *("wan:delay=0ms,loss=0%", "wan:delay=0ms,loss=1%", "wan:delay=20ms,loss=0%", "wan:delay=20ms,loss=1%")
    ]
    assert found[3].forward == found[3].reverse == {"delay": 0.02, "loss": 0.01}


def test_the_way_back_and_the_placement_may_sweep() -> None:
    table = {"name": "wan", "delay": "5ms", "reverse": {"delay": ["40ms", "60ms"]}, "placement": ["router", "overlay"]}
    found = list(read_profiles(table))
    assert [(profile.name, profile.reverse["delay"], profile.placement) for profile in found] == [
        ("wan:reverse.delay=40ms,placement=router", 0.04, "router"),
        ("wan:reverse.delay=40ms,placement=overlay", 0.04, "overlay"),
        ("wan:reverse.delay=60ms,placement=router", 0.06, "router"),
        ("wan:reverse.delay=60ms,placement=overlay", 0.06, "overlay"),
    ]
    assert {profile.forward["delay"] for profile in found} == {0.005}


def test_values_of_several_words_keep_their_spaces() -> None:
    found = list(read_tunings({"name": "x", "sysctl": {"net.ipv4.tcp_rmem": ["4 5 6", "4 5 7"]}}))
    assert [(one.name, one.sysctl) for one in found] == [
        (f"x:sysctl.net.ipv4.tcp_rmem={value}", {"net.ipv4.tcp_rmem": value}) for value in ("4 5 6", "4 5 7")
    ]


def test_one_profile_is_not_several() -> None:
    with pytest.raises(ValueError, match="sweeps over 2 profiles"):
        read_profile({"name": "wan", "delay": ["1ms", "2ms"]})


def test_numbers_without_quotes() -> None:
    found = list(read_links({"name": "line", "rate": "1M", "queue": [100, 200]}))
    assert [(link.name, link.up.queue_packets) for link in found] == [("line:queue=100", 100), ("line:queue=200", 200)]


def test_a_sweep_stands_in_a_text_as_toml_has_it() -> None:
    text = """
        name = "any"
        stacks = ["none"]
        workloads = ["ping"]
        tuning = ["default", { name = "x", sysctl = { net.ipv4.tcp_reordering = [3, 10] }, congestion = ["bbr"] }]
        link = ["wire", { name = "x", down = { rate = ["1M", "2M"] }, mtu = "1400..1500 step 100" }]
    """
    values = check(text, "any.toml").values
    assert [(one.name, one.spec()["sysctl"]) for one in values["tuning"][1:]] == [
        ("x:sysctl.net.ipv4.tcp_reordering=3,congestion=bbr", {"net.ipv4.tcp_reordering": "3"}),
        ("x:sysctl.net.ipv4.tcp_reordering=10,congestion=bbr", {"net.ipv4.tcp_reordering": "10"}),
    ]
    assert [(one.name, one.spec()["down"]["rate"], one.spec()["mtu"]) for one in values["link"][1:]] == [
        ("x:down.rate=1M,mtu=1400", 1e6, 1400),
        ("x:down.rate=1M,mtu=1500", 1e6, 1500),
        ("x:down.rate=2M,mtu=1400", 2e6, 1400),
        ("x:down.rate=2M,mtu=1500", 2e6, 1500),
    ]
