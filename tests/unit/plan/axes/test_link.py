"""Links as plans write them: what holds for both directions, what for one, and what comes with Tunbench."""

from typing import Any

import pytest

from tunbench.plan.axes.link import read_links, shipped
from tunbench.runner.declare.link import DEFAULT_DELAY_SECONDS, DEFAULT_QUEUE_PACKETS, USUAL, Direction, Link


def link(**keys: Any) -> Link:
    [found] = read_links({"name": "any", **keys})
    return found


def test_the_shipped_links() -> None:
    of_test_beds = ["wr841n", "pi4", "x5647", "mesh-testbed-2026"]
    assert list(shipped()) == ["wire", "100M", "1G", "10G", "aggregates", "jumbo", *of_test_beds]
    assert shipped()["wire"] == Link("wire")
    rates = [shipped()[name].up.rate for name in ("100M", "1G", "10G", *of_test_beds)]
    assert rates == [1e8, 1e9, 1e10, 1e8, 1e9, 1e9, 1e9]
    assert [one.name for one in shipped().values() if not one.cuts] == ["aggregates"]
    assert [(one.name, one.mtu) for one in shipped().values() if one.mtu != 1500] == [("jumbo", 9000)]
    # A network without a base round trip makes TCP take every overtaking for a loss.
    bases = {name: one.base_round_trip for name, one in shipped().items()}
    assert {name: base for name, base in bases.items() if base != 4 * DEFAULT_DELAY_SECONDS} == {
        "pi4": pytest.approx(0.2e-3),
        "mesh-testbed-2026": pytest.approx(0.6e-3),
    }
    assert all(one.up == one.down for one in shipped().values())


def test_what_stands_outside_of_a_direction_holds_for_both() -> None:
    found = link(rate="50M", delay="1ms", queue=100)
    assert found.up == found.down == Direction(50e6, 0.001, 100)


def test_a_direction_says_what_is_other_in_it() -> None:
    found = link(rate="50M", queue=100, up={"rate": "5Mbit"}, down={"delay": "5ms", "queue": "20ms"})
    assert found.up == Direction(5e6, DEFAULT_DELAY_SECONDS, 100)
    assert found.down == Direction(50e6, 0.005, 0, 0.02)


def test_a_direction_alone_may_have_a_rate() -> None:
    found = link(up={"rate": "1M"}, queue="50ms")
    assert (found.up.rate, found.up.queue_seconds, found.down.rate) == (1e6, 0.05, 0)
    assert found.down.spec() == USUAL.spec()


@pytest.mark.parametrize(
    ("written", "packets", "seconds"),
    [(1, 1, 0), ("100", 100, 0), ("50ms", 0, 0.05), ("0.5s", 0, 0.5), (10_000_000, 10_000_000, 0), ("60s", 0, 60)],
)
def test_a_queue_has_packets_or_time(written: object, packets: int, seconds: float) -> None:
    found = link(rate="1M", queue=written)
    assert (found.up.queue_packets, found.up.queue_seconds) == (packets, seconds)


def test_a_queue_that_is_not_written_is_that_of_an_interface() -> None:
    assert link(rate="1M").up.queue_packets == DEFAULT_QUEUE_PACKETS


@pytest.mark.parametrize(("framing", "mtu"), [("ethernet", 1500), ("pppoe", 1492), ("atm", 1492), ("none", 1500)])
def test_a_framing_has_an_mtu_of_its_own(framing: str, mtu: int) -> None:
    assert link(framing=framing).mtu == mtu
    assert link(framing=framing, mtu=1280).mtu == 1280


@pytest.mark.parametrize(
    ("rate", "found"), [("1K", 1e3), ("1000G", 1e12), ("1000bit", 1e3), ("2.5Gbit", 2.5e9), ("64 k", 64e3)]
)
def test_a_rate_is_1_kbit_to_1_tbit_a_second(rate: str, found: float) -> None:
    assert link(rate=rate).down.rate == found


def test_a_delay_of_nothing_is_one() -> None:
    assert link(delay="0s").base_round_trip == 0
    assert link(delay="60s").base_round_trip == 240


def test_sweeps_are_named_by_their_values() -> None:
    found = read_links({"name": "x", "rate": "10M..30M step 10M", "down": {"delay": ["0s", "5ms"]}, "framing": ["atm"]})
    named = [(one.name, one.up.rate, one.down.delay) for one in found]
    assert named[:3] == [
        ("x:rate=10M,down.delay=0s,framing=atm", 10e6, 0),
        ("x:rate=10M,down.delay=5ms,framing=atm", 10e6, 0.005),
        ("x:rate=20M,down.delay=0s,framing=atm", 20e6, 0),
    ]
    assert len(named) == 6


@pytest.mark.parametrize(
    ("keys", "frame"),
    [({}, 1538), ({"mtu": 576}, 614), ({"framing": "atm", "mtu": 1500}, 33 * 53), ({"framing": "none"}, 1514)],
)
def test_a_policer_holds_full_frames_as_they_are_on_the_wire(keys: dict[str, Any], frame: int) -> None:
    assert link(rate="1M", queue="policer", **keys).up.burst == 10 * frame
    assert link(rate="1M", queue=f"policer:burst={frame}", **keys).down.burst == frame
    with pytest.raises(ValueError, match=f"lets no full frame pass, which takes {frame} B"):
        link(rate="1M", queue=f"policer:burst={frame - 1}", **keys)


def test_a_policer_holds_no_more_of_its_rate_than_the_kernel_counts() -> None:
    assert link(rate="8K", queue="policer:burst=274kB").up.burst == 274_000
    # The direction without a rate has no bucket.
    assert link(up={"rate": "8K"}, queue="policer").down.spec() == USUAL.spec()


@pytest.mark.parametrize("name", ["50M", "1-to-1", "A", "line"])
def test_a_link_may_be_named_by_its_rate(name: str) -> None:
    [found] = read_links({"name": name, "rate": "50M"})
    assert found.name == name
