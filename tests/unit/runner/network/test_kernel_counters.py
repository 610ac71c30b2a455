"""What the kernel of a node has counted: fragments, and what IPsec refused."""

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner.network import kernel_counters
from tunbench.runner.node.node import Node

SNMP = """\
Ip: Forwarding DefaultTTL InReceives FragOKs FragFails FragCreates ReasmFails OutTransmits
Ip: 1 64 900 {ok} {fails} {creates} 0 900
Icmp: InMsgs InErrors
Icmp: 4 0
Tcp: RtoAlgorithm MaxConn
Tcp: 1 -1
Ip6InReceives                   \t28
Ip6FragOKs                      \t0
Ip6FragCreates                  \t0
Ip6ReasmFails                   \t{not_joined}
XfrmInError             \t0
XfrmInStateSeqError     \t{late}
XfrmFwdHdrError         \t7
"""


USUAL = {"ok": 10, "fails": 1, "creates": 20, "not_joined": 3, "late": 5}


def told(**more: int) -> FakeEvents:
    """What is told of a node of which the counters have grown by that."""
    shell, events = FakeShell({"/proc/net/snmp": SNMP.format(**USUAL)}), FakeEvents()
    watch = kernel_counters.Watch([Node("a", shell, events)])
    shell.answers = {"/proc/net/snmp": SNMP.format(**{name: USUAL[name] + more.get(name, 0) for name in USUAL})}
    watch.tell("ping", events)
    return events


def warnings(events: FakeEvents) -> list[tuple[str, str]]:
    return [(one["name"], one["text"]) for one in events.of("warning")]


def test_nothing_is_told_where_nothing_was_counted() -> None:
    assert told().told == []


def test_fragments_are_told_with_the_packets_that_they_were() -> None:
    events = told(ok=100, creates=200)
    assert events.of("kernel") == [
        {"event": "kernel", "node": "a", "workload": "ping", "counters": {"IpFragOKs": 100, "IpFragCreates": 200}}
    ]
    assert warnings(events) == [("fragmented", "ping: a: 100 packets left in 200 fragments")]


def test_fragments_of_which_some_are_lost_cost_whole_packets() -> None:
    assert warnings(told(ok=1, creates=2, not_joined=4)) == [
        ("fragmented", "ping: a: 1 packets left in 2 fragments; 4 were not put together again")
    ]
    # A node that only receives has sent none.
    assert warnings(told(not_joined=4)) == []


def test_the_reason_of_a_refusal_is_told() -> None:
    events = told(late=46)
    assert [one["counters"] for one in events.of("kernel")] == [{"XfrmInStateSeqError": 46}]
    assert warnings(events) == [("layer-drops", "ping: a: 46 packets came later than the replay window holds")]


def test_a_kernel_may_lack_all_of_it() -> None:
    assert kernel_counters.counted(Node("a", FakeShell(), FakeEvents())) == {}
