"""What a stack leaves behind is found by comparing what was there before and after."""

import os
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner.network import leftovers
from tunbench.runner.node import node as node_module
from tunbench.runner.node.node import Node

DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  eth0:    1086      13    0    0    0     0          0         0     1086      13    0    0    0     0       0          0
  gre0:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
 gre-0:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
"""  # noqa: E501 (as the kernel prints it)

IF_INET6 = """\
fd000000000000010000000000000002 02 40 00 82     eth0
fe80000000000000e8d7fffffe3a1b01 02 40 20 80     eth0
"""

ROUTE6 = """\
fd000000000000010000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
ff000000000000000000000000000000 08 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001     eth0
"""  # noqa: E501

ROUTE = """\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0101000A	0003	0	0	0	00000000	0	0	0
"""

FIB_TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.1.0/24 2 0 2
"""

XFRM = """\
src 10.0.1.2 dst 10.0.2.2
\tproto esp spi 0xc0ffee01 reqid 1 mode tunnel
\tlastused 2026-01-01 00:00:09
"""


def test_interfaces_are_those_that_the_kernel_does_not_make_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "ROOT", tmp_path)
    (shown := tmp_path / "proc/7/root/proc/1/net").mkdir(parents=True)
    (shown / "dev").write_text(DEV)
    assert leftovers.snapshot([node("", "7")], {"gre0", "tunl0"}) == {
        "a: interface lo",
        "a: interface eth0",
        "a: interface gre-0",
    }
    assert "a: interface gre0" in leftovers.snapshot([node("", "7")]), "nobody needs its module"


def test_addresses_and_routes_are_those_that_were_given() -> None:
    assert list(leftovers._addresses6(IF_INET6.splitlines())) == ["address fd000000000000010000000000000002 on eth0"]
    assert list(leftovers._routes6(ROUTE6.splitlines())) == ["route fd000000000000010000000000000000 on eth0"]
    assert list(leftovers._routes(ROUTE.splitlines())) == ["route eth0 00000000 0101000A"]
    assert set(leftovers._addresses(FIB_TRIE.splitlines())) == {
        "address or network 0.0.0.0",
        "address or network 10.0.1.0",
    }


def node(answer: str, holder: str = "none") -> Node:
    return Node("a", FakeShell({"ip -batch": answer}), FakeEvents(), ["nsenter", "--target", holder, "--"])


def test_states_are_known_by_what_does_not_move() -> None:
    later = XFRM.replace("00:00:09", "00:00:10")
    assert leftovers.snapshot([node(XFRM)]) == leftovers.snapshot([node(later)]) == {"a: src 10.0.1.2 dst 10.0.2.2"}


def test_what_is_new_stands_out() -> None:
    assert leftovers.snapshot([node(XFRM)]) - leftovers.snapshot([node("")]) == {"a: src 10.0.1.2 dst 10.0.2.2"}


def test_a_real_process_has_interfaces_and_processes() -> None:
    seen = leftovers.snapshot([node("", str(os.getpid()))])
    assert "a: interface lo" in seen
    assert any(one.startswith("a: process ") for one in seen)


def test_a_node_that_is_gone_has_left_nothing() -> None:
    assert leftovers.snapshot([node("", "999999999")]) == frozenset()
