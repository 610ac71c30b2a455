"""The words of `tc` for a link, and what the kernel made of them."""

import json

import pytest

from tests.helpers.fakes import captured
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.network import link_command, qdiscs
from tunbench.runner.network.link_command import differences, shaper

MOST = 1_000_000_000
PLAIN = "overhead 24 linklayer ethernet"
ROOT = "qdisc replace dev eth0 root handle 2: tbf"


@pytest.mark.parametrize(
    ("link", "lines"),
    [
        (
            Link("any", Direction(100e6)),
            [
                f"{ROOT} rate 100000000bit burst 3028 peakrate 200000000bit mtu 1514 limit {MOST} mpu 84 {PLAIN}",
                "qdisc add dev eth0 parent 2:1 handle 3: pfifo limit 1000",
            ],
        ),
        (
            Link("any", Direction(100e6, queue_seconds=0.05)),
            [f"{ROOT} rate 100000000bit burst 3028 peakrate 200000000bit mtu 1514 limit 614684 mpu 84 {PLAIN}"],
        ),
        (
            Link("any", Direction(1e6, queue_packets=5), mtu=1492, framing="pppoe"),
            [
                f"{ROOT} rate 1000000bit burst 3012 peakrate 2000000bit mtu 1506 limit {MOST} mpu 84 overhead 32"
                " linklayer ethernet",
                "qdisc add dev eth0 parent 2:1 handle 3: pfifo limit 5",
            ],
        ),
        (
            Link("any", Direction(1e6, queue_seconds=0.05), mtu=1492, framing="atm"),
            [
                f"{ROOT} rate 1000000bit burst 3012 peakrate 2000000bit mtu 1506 limit 6024 mpu 0 overhead 26"
                " linklayer atm"
            ],
        ),
        (
            Link("any", Direction(1e12, queue_seconds=0.001), mtu=9000, framing="none"),
            [
                f"{ROOT} rate 1000000000000bit burst 18028 peakrate 2000000000000bit mtu 9014 limit 124997138 mpu 0"
                " overhead 0 linklayer ethernet"
            ],
        ),
        (Link("any", Direction(queue_packets=5)), []),
    ],
)
def test_a_rate_is_a_shaper_with_its_queue(link: Link, lines: list[str]) -> None:
    assert shaper("eth0", link, link.up) == lines


@pytest.mark.parametrize(("queue", "child"), [("fq_codel", "fq_codel"), ("fifo", "pfifo limit 1000")])
def test_a_queue_of_another_kind_stands_behind_the_same_shaper(queue: str, child: str) -> None:
    link = Link("any", Direction(100e6, queue=queue))
    assert shaper("eth0", link, link.up) == [
        f"{ROOT} rate 100000000bit burst 3028 peakrate 200000000bit mtu 1514 limit {MOST} mpu 84 {PLAIN}",
        f"qdisc add dev eth0 parent 2:1 handle 3: {child}",
    ]


@pytest.mark.parametrize(("framing", "words"), [("ethernet", "38 mpu 84 noatm"), ("atm", "40 mpu 0 atm")])
def test_cake_shapes_itself(framing: str, words: str) -> None:
    link = Link("any", Direction(1e6, queue="cake"), framing=framing)
    assert shaper("eth0", link, link.up, "parent 1:1") == [
        f"qdisc replace dev eth0 parent 1:1 handle 2: cake bandwidth 1000000bit overhead {words}"
    ]


def test_a_policer_drops_where_packets_come_out_and_has_nothing_where_they_enter() -> None:
    link = Link("any", Direction(1e6, queue="policer", burst=20_000))
    assert shaper("eth0", link, link.up) == []
    assert link_command.policer("to-a", link, link.up) == [
        "qdisc replace dev to-a clsact",
        "filter add dev to-a ingress prio 1 matchall action police rate 1000000bit burst 20000 mtu 1514 overhead 38"
        " mpu 84 linklayer ethernet conform-exceed drop/continue",
    ]


def test_jitter_of_a_link_changes_no_order() -> None:
    netem = link_command.delay("to-a", "from-a", 0.025, 0.01)[0]
    assert netem.endswith(" delay 25000us 10000us rate 1000000000000bit")


def test_netem_stands_before_the_shaper_of_the_link_that_packets_enter() -> None:
    link = Link("any", Direction(100e6))
    netem, tbf, pfifo = link_command.impaired("eth0", ["limit", "7", "delay", "1us"], link, link.up)
    assert netem == "qdisc replace dev eth0 root handle 1: netem limit 7 delay 1us"
    assert tbf.startswith("qdisc replace dev eth0 parent 1:1 handle 2: tbf rate 100000000bit ")
    assert pfifo == "qdisc add dev eth0 parent 2:1 handle 3: pfifo limit 1000"


@pytest.mark.parametrize("direction", [None, Direction()])
def test_netem_stands_alone_where_there_is_no_rate(direction: Direction | None) -> None:
    lines = link_command.impaired("eth0", ["limit", "7"], Link("any"), direction)
    assert lines == ["qdisc replace dev eth0 root handle 1: netem limit 7"]


def test_a_delay_is_netem_on_an_interface_that_packets_are_led_through() -> None:
    assert link_command.delay("to-a", "from-a", 150e-6) == [
        "qdisc add dev from-a root netem limit 100000 delay 150us",
        "qdisc replace dev to-a clsact",
        "filter add dev to-a ingress matchall action mirred egress redirect dev from-a",
    ]
    assert (
        link_command.delay("to-a", "from-a", 0.0125)[0] == "qdisc add dev from-a root netem limit 100000 delay 12500us"
    )


def test_a_long_delay_has_room_for_all_that_comes_in_its_time() -> None:
    # 10 Gbit/s × 0.6 s are 500,000 packets of 1500 bytes.
    assert link_command.delay("to-a", "from-a", 0.6)[0] == "qdisc add dev from-a root netem limit 500000 delay 600000us"


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link("any", Direction(50e6)), "rate 50000000bit 24"),
        (Link("any", Direction(1e6), framing="pppoe"), "rate 1000000bit 32"),
        # An overhead of 26 bytes, and 48 of a cell in 53.
        (Link("any", Direction(2e6), framing="atm"), "rate 2000000bit 26 48 5"),
        (Link("any", Direction(100e6), mtu=9000), "rate 100000000bit 24"),
        (Link("any", Direction(100e6)), ""),
        (Link("any", Direction(1e9)), ""),
        (Link("any"), ""),
        # The line is faster than what its policer lets pass.
        (Link("any", Direction(1e6, queue="policer", burst=20_000)), ""),
    ],
)
def test_what_a_narrow_link_takes_to_send_a_frame_is_netems_rate(link: Link, words: str) -> None:
    assert link_command.sending(link, link.up) == words
    lines = link_command.delay("to-a", "from-a", 150e-6, sent=words)
    assert lines[0] == f"qdisc add dev from-a root netem limit 100000 delay 150us {words}".strip()


def test_jitter_changes_no_order_on_a_narrow_link_either() -> None:
    lines = link_command.delay("to-a", "from-a", 0.01, 0.004, "rate 1000000bit 24")
    assert lines[0] == "qdisc add dev from-a root netem limit 100000 delay 10000us 4000us rate 1000000bit 24"


LINK = Link("any", Direction(50e6))
SHOWN = qdiscs.by_kind(captured("qdisc-link.json"))["tbf"]


def test_what_the_kernel_installed_is_what_was_asked() -> None:
    assert differences(LINK, LINK.up, SHOWN) == []


def test_whole_bytes_a_second_are_no_difference() -> None:
    odd = Direction(50_000_007.0)
    assert differences(LINK, odd, SHOWN) == []


@pytest.mark.parametrize(
    ("link", "found"),
    [
        (Link("any", Direction(60e6)), ["rate: asked for 6e+07 bit/s, installed is 5e+07"]),
        (Link("any", Direction(50e6), framing="pppoe"), ["overhead: asked for 32 B, installed is 24"]),
        (Link("any", Direction(50e6), framing="none"), ["overhead: asked for 0 B, installed is 24"]),
    ],
)
def test_a_difference_is_told(link: Link, found: list[str]) -> None:
    assert differences(link, link.up, SHOWN) == found


@pytest.mark.parametrize("shown", [{}, json.loads('{"kind": "tbf", "options": {}}')])
def test_a_shaper_that_is_not_there_is_told(shown: dict[str, object]) -> None:
    assert differences(LINK, LINK.up, shown) == [
        "rate: asked for 5e+07 bit/s, installed is 0",
        "overhead: asked for 24 B, installed is 0",
    ]
