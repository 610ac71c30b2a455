"""What is tried at gateways: the sets in which it is counted, and what stands in them."""

from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network import underlay
from tunbench.runner.network.access import tried
from tunbench.runner.network.access.tried import Tried
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

HOME = Access("home", nat="port-restricted", firewall="no-udp")
ROUTED = Access("routed")

ROWS = [
    Tried("gateway-a", "out", "tcp", 443, 4, 0),
    Tried("gateway-a", "out", "icmp", 0, 2, 0),
    Tried("gateway-a", "in", "udp", 7000, 1, 1),
    Tried("gateway-a", "out", "tcp", 80, 1, 0),
    Tried("gateway-a", "out", "udp", 53, 1, 1),
]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def under(access: Access | None) -> underlay.Underlay:
    return underlay.of("ip", PAIR, accesses=Accesses("any", access))


def rules(access: Access) -> str:
    return tried.rules(under(access).gateways["a"][0])


def nodes(access: Access | None, shell: FakeShell) -> dict[str, Node]:
    return {name: Node(name, shell, FakeEvents()) for name in under(access).names}


def test_what_is_seen_and_did_not_pass_was_dropped() -> None:
    assert tried.parse(captured("tried.json"), "gateway-a") == ROWS


def test_what_was_tried_in_vain_is_said_by_port() -> None:
    assert (
        tried.dropped(ROWS) == "gateway-a dropped 1 of udp:7000 from outside; gateway-a dropped 1 of udp:53 from inside"
    )
    many = [Tried("gateway-a", "out", "icmp", 0, 9, 9)] * 7
    assert tried.dropped(many).endswith("gateway-a dropped 9 of icmp from inside; and 2 more")
    assert tried.dropped([row for row in ROWS if not row.dropped]) == ""


def test_where_connections_are_kept_in_mind_answers_are_not_counted() -> None:
    text = rules(HOME)
    counted = [line.strip() for line in text.splitlines() if "update" in line]
    assert all("ct direction original" in line for line in counted)
    # Both ways before and behind what it filters, and what comes for itself; of each what has ports, and the rest.
    assert len(counted) == 10
    assert [line.strip() for line in text.splitlines() if "hook" in line] == [
        "type filter hook forward priority filter - 10; policy accept;",
        "type filter hook forward priority filter + 10; policy accept;",
        "type filter hook input priority filter - 10; policy accept;",
    ]


def test_where_they_are_not_nothing_is_made_to_be_kept() -> None:
    text = rules(ROUTED)
    # A rule that asks for a connection makes the kernel track them.
    assert "ct " not in text
    assert "input" not in text
    assert sum("update" in line for line in text.splitlines()) == 4


def test_counting_ends_with_what_it_is_for() -> None:
    shell = FakeShell()
    with tried.counting(under(HOME), nodes(HOME, shell)) as some:
        assert [one.node for one in some] == ["gateway-a", "gateway-b"]
        assert sum(text.startswith("nft -f") for text in shell.texts) == 2
    assert shell.texts[-2:] == ["nft delete table inet tried"] * 2


@pytest.mark.parametrize("lacks", ["command -v", "nft -f"])
def test_a_gateway_that_cannot_count_is_left_out(lacks: str) -> None:
    shell = FakeShell({lacks: Result(1, "", "no")})
    with tried.counting(under(HOME), nodes(HOME, shell)) as some:
        assert list(some) == []
        assert tried.read(some, nodes(HOME, shell)) == []
    assert not any("delete" in text for text in shell.texts)


def test_without_gateways_nothing_is_done() -> None:
    shell = FakeShell()
    with tried.counting(under(None), nodes(None, shell)) as some:
        assert list(some) == []
    assert shell.calls == []


def test_what_is_no_element_of_a_set_is_left_out() -> None:
    odd = '{"nftables": [{"set": {"name": "seen-ports", "elem": [7, {"elem": {"val": {"concat": ["lan"]}}}]}}, {}]}'
    assert tried.parse(odd, "gateway-a") == []
