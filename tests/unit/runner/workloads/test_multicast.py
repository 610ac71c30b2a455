"""Datagrams to a group: what is told of them, and the program that sends and hears them."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner import stack as stacks
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.workloads import multicast
from tunbench.runner.workloads.shared import multicast_stream

HEARD = "ready\ngot 1 1000 3000\ngot 3 2000 5000\ngot 3 2000 6000\n"


def test_what_arrives_is_counted_once_and_timed() -> None:
    samples = multicast.parse(HEARD, 4, "b")
    assert [(one.metric, one.value, one.at, one.node) for one in samples] == [
        ("loss", 0.5, None, "b"),
        ("duplicates", 1, None, "b"),
        ("one-way-delay", 2e-6, 0.0, "b"),
        ("one-way-delay", 3e-6, 1e-6, "b"),
    ]


def test_where_nothing_arrives_all_is_lost() -> None:
    assert [(one.metric, one.value) for one in multicast.parse("ready\n", 4)] == [("loss", 1), ("duplicates", 0)]


@pytest.mark.parametrize(
    "text", ["", "Traceback\n", HEARD + "got 4 20", HEARD + "got 5 1 2\n", HEARD + "got 2 9000 8000\n"]
)
def test_what_makes_no_sense_is_no_result(text: str) -> None:
    with pytest.raises(WorkloadFailed):
        multicast.parse(text, 4)


def test_what_the_sender_tells_is_of_all_datagrams() -> None:
    assert multicast.refused("sent 4 1\n", 4) == 1
    for text in ("", "sent 3 0\n", "sent 4 5\n", "sent 4 0\nTraceback"):
        with pytest.raises(WorkloadFailed, match="the sender did not send all"):
            multicast.refused(text, 4)


@pytest.mark.parametrize(
    ("stack", "claims"),
    [
        ("gre", True),
        ("wireguard", False),
        ("wireguard+vxlan", True),
        ("openvpn", True),
        ("ipsec:mode=xfrm", True),
        ("ipsec:mode=vti", True),
        ("ipsec:mode=vti,daemon=libreswan", True),
        ("ipsec", False),
        ("tinc", True),
        ("openconnect", True),
        ("pptp", True),
        ("none", False),
        ("none:underlay=ethernet", True),
        ("ipvlan", True),
        ("ipvlan:mode=l3", False),
        ("ipvlan:mode=l3s", False),
    ],
)
def test_the_uppermost_layer_says_whether_a_stack_carries_multicast(stack: str, claims: bool) -> None:
    built = stacks.build(stack, dict(PAIR_UNDERLAYS["ip"].endpoints))
    assert multicast.carries(built) == claims


def test_the_program_hears_what_it_sends(tmp_path: Path) -> None:
    stop, where = tmp_path / "stop", ("4", "lo", multicast.GROUPS[4], "5999")
    argv = [sys.executable, "-I", "-S", str(multicast_stream.__file__)]
    hears = subprocess.Popen([*argv, "receive", *where, str(stop)], stdout=subprocess.PIPE, text=True)
    assert hears.stdout and hears.stdout.readline() == "ready\n"
    sent = subprocess.run([*argv, "send", *where, "5", "0.001", "100"], capture_output=True, text=True)
    time.sleep(0.3)
    stop.touch()
    told, _ = hears.communicate(timeout=10)
    assert multicast.refused(sent.stdout, 5) == 0
    samples = multicast.parse(f"ready\n{told}", 5)
    assert {one.metric: one.value for one in samples if one.at is None} == {"loss": 0, "duplicates": 0}


@pytest.mark.parametrize(
    ("stack", "underlay", "around"),
    [
        ("ipsec", "ip", ""),
        ("vxlan+ipsec", "ip", "ipsec"),
        ("vxlan+ipsec:mode=xfrm", "ip", ""),
        ("ipsec+vxlan", "ip", ""),
        ("ipsec:mode=transport+vxlan", "ip", ""),
        ("vxlan+ipsec+gre", "ip", ""),
        ("macsec+ipsec", "ethernet", "ipsec"),
        ("wireguard", "ip", ""),
        ("none", "ethernet", ""),
    ],
)
def test_multicast_that_would_go_around_policies_is_told(stack: str, underlay: str, around: str) -> None:
    under = PAIR_UNDERLAYS[underlay]
    nodes = {name: Node(name, FakeShell({}), FakeEvents()) for name in under.names}
    assert multicast.goes_around(Site(nodes, under, stacks.build(stack, under.endpoints))) == around
