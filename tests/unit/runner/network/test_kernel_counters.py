"""What the kernel of a node has counted: fragments, and what IPsec refused."""

from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home
from tunbench.runner.declare.options import resolve
from tunbench.runner.network import kernel_counters
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import LocalShell
from tunbench.runner.tunnel import LayerContext
from tunbench.runner.tunnels import macsec
from tunbench.runner.tunnels.nebula import Nebula, statistics
from tunbench.runner.tunnels.openvpn import Openvpn
from tunbench.runner.tunnels.vxlan import Vxlan
from tunbench.runner.workload import Sample

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
    shell, events = FakeShell({"net/xfrm_stat": SNMP.format(**USUAL)}), FakeEvents()
    watch = kernel_counters.Watch([Node("a", shell, events)])
    shell.answers = {"net/xfrm_stat": SNMP.format(**{name: USUAL[name] + more.get(name, 0) for name in USUAL})}
    watch.look()
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


class Counting(Vxlan):
    """A layer with a counter of its own."""

    about = Vxlan.about._replace(refusals={"late": "came late", "torn": "were torn"})
    late = 3

    def refused(self, node: Node) -> dict[str, int]:
        return {"late": self.late, "torn": 1}


def test_a_socket_that_was_full_is_told_with_whose_it_was() -> None:
    shell, events = FakeShell({"net/xfrm_stat": captured("counters-idle.txt")}), FakeEvents()
    watch = kernel_counters.Watch([Node("b", shell, events)])
    shell.answers = {"net/xfrm_stat": captured("counters-full.txt")}
    watch.look()
    watch.tell("iperf3-udp", events)
    # Two sockets are still open, and a third one was closed.
    assert warnings(events) == [
        ("layer-drops", "iperf3-udp: b: 56 datagrams found the socket of a daemon full, at UDP port 4242, 51820"),
        (
            "socket-drops",
            "iperf3-udp: b: 27 datagrams found the socket of a program full that has ended since, as one of the "
            "workload's",
        ),
    ]
    assert [one["counters"] for one in events.of("kernel")] == [
        {"UdpRcvbufErrors": 65, "Udp6RcvbufErrors": 18, "udp-port-4242": 38, "udp-port-51820": 18}
    ]


def test_what_nodes_count_is_measured_and_0_where_nothing_was() -> None:
    shell = FakeShell({"net/xfrm_stat": captured("counters-idle.txt")})
    watch = kernel_counters.Watch([Node(name, shell, FakeEvents()) for name in ("a", "router")])
    watch.look()
    of_a = [Sample("layer-drops", 0, node="a"), Sample("socket-drops", 0, node="a"), Sample("packets-cut", 0, node="a")]
    assert watch.samples(["a"]) == of_a
    shell.answers = {"net/xfrm_stat": captured("counters-full.txt")}
    watch.look()
    assert watch.samples(["a"])[1] == Sample("socket-drops", 83, node="a")


def test_daemons_are_waited_for_until_their_counters_have_caught_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    move_home(monkeypatch, tmp_path)
    slept: list[float] = []
    monkeypatch.setattr("tunbench.runner.network.kernel_counters.time.sleep", slept.append)
    ends = dict(PAIR_UNDERLAYS["ip"].endpoints)
    options = resolve(Nebula.takes(), {}, "nebula")
    layer = Nebula(options, LayerContext(0, ends, Nebula.yields(options, 0, ends)))
    watch = kernel_counters.Watch([Node(name, FakeShell(), FakeEvents()) for name in ("a", "b")], [layer])
    watch.look()
    # Once before all nodes are looked at.
    assert slept == [0.5, 0.5]


def test_a_layer_tells_what_it_has_refused_where_it_acts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    move_home(monkeypatch, tmp_path)
    ends = dict(PAIR_UNDERLAYS["ip"].endpoints)
    options = resolve(Counting.takes(), {}, "vxlan")
    layer = Counting(options, LayerContext(0, ends, Counting.yields(options, 0, ends)))
    shell, events = FakeShell(), FakeEvents()
    watch = kernel_counters.Watch([Node(name, shell, events) for name in ("router", "a")], [layer])
    layer.late = 10
    watch.look()
    watch.tell("ping", events)
    assert warnings(events) == [("layer-drops", "ping: a: 7 packets came late")]
    assert watch.samples(["router", "a"]) == [Sample("layer-drops", 7, node="a")]
    # It has begun anew.
    layer.late = 2
    watch.look()
    watch.tell("ping", events)
    assert len(warnings(events)) == 1


MACSEC = """\
4: macsec-0: protect on validate strict sc off sa off encrypt on send_sci on end_station off scb off replay on window 8
    cipher suite: GCM-AES-128, using ICV length 16
    TXSC: 02766c0000010001 on SA 0
    stats: OutPktsUntagged InPktsUntagged OutPktsTooLong InPktsNoTag InPktsBadTag InPktsUnknownSCI InPktsNoSCI InPktsOverrun
                         0              0              0           2            0                0           0             0
    stats: OutPktsProtected OutPktsEncrypted OutOctetsProtected OutOctetsEncrypted
                          0               24                  0               2088
        0: PN 25, state on, key 00000000000000000000000000000000
        stats: OutPktsProtected OutPktsEncrypted
                              0               24
    RXSC: 02766c0000020001, state on
    stats: InOctetsValidated InOctetsDecrypted InPktsUnchecked InPktsDelayed InPktsOK InPktsInvalid InPktsLate InPktsNotValid InPktsNotUsingSA InPktsUnusedSA
                           0              2108               0             0       24             0         91              5                0              0
        0: PN 25, state on, key 00000000000000000000000000000000
        stats: InPktsOK InPktsInvalid InPktsNotValid InPktsNotUsingSA InPktsUnusedSA
                     24             0              5                0              0
"""  # noqa: E501


def test_macsec_is_asked_why_it_drops_frames() -> None:
    found = macsec.parse(MACSEC)
    assert {name: count for name, count in found.items() if count} == {
        "InPktsLate": 91,
        "InPktsNotValid": 5,
    }
    assert found.keys() == macsec.REFUSALS.keys()
    assert macsec.parse("Cannot find device") == {}


def test_openvpn_is_asked_by_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    move_home(monkeypatch, tmp_path)
    said = "Authenticate/Decrypt packet error: "
    log = tmp_path / "a" / "openvpn-0.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(
        f"{said}bad packet ID (may be a replay): [ #9 ]\n{said}packet HMAC authentication failed\nother\n" * 2
        + "AEAD Decrypt error: cipher final failed\n"
    )
    ends = dict(PAIR_UNDERLAYS["ip"].endpoints)
    options = resolve(Openvpn.takes(), {}, "openvpn")
    layer = Openvpn(options, LayerContext(0, ends, Openvpn.yields(options, 0, ends)))
    node = Node("a", LocalShell(), FakeEvents())
    assert layer.refused(node) == {"openvpn-replayed": 2, "openvpn-unauthentic": 3}
    log.unlink()
    assert layer.refused(node) == {}


def test_nebula_is_asked_by_its_statistics_and_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    move_home(monkeypatch, tmp_path)
    ends = dict(PAIR_UNDERLAYS["ip"].endpoints)
    options = resolve(Nebula.takes(), {"port": "4243"}, "nebula")
    layer = Nebula(options, LayerContext(0, ends, Nebula.yields(options, 0, ends)))
    shell = FakeShell({"/dev/tcp/127.0.0.1/$0": captured("nebula-metrics.txt"), "Failed to decrypt": "50\n"})
    found = layer.refused(Node("a", shell, FakeEvents()))
    assert found == {"nebula-unknown": 250, "nebula-unsent": 0, "nebula-unauthentic": 50}
    assert found.keys() == layer.declared.refusals.keys()
    assert shell.texts[0].endswith("4243 /metrics")
    # A daemon that is gone shows nothing.
    assert layer.refused(Node("a", FakeShell(), FakeEvents())) == {}


def test_a_million_is_written_with_an_exponent() -> None:
    assert statistics.parse("messages_tx_recv_error 1.25e+06\n") == {"nebula-unknown": 1_250_000}


def test_a_kernel_may_lack_all_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    move_home(monkeypatch, tmp_path)
    assert kernel_counters.counted(Node("a", FakeShell(), FakeEvents())) == {}
