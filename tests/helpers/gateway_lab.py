"""Nodes behind gateways on this kernel: run as the first process of namespaces of its own, it does what it is told.

unshare … python -m tests.helpers.gateway_lab ACCESS KIND QUESTION

ACCESS is the JSON of a plan's, KIND one of an underlay, QUESTION a function here.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.helpers import gateway_talk, stun
from tests.helpers.fakes import FakeEvents
from tunbench.labs.native.lab import NAMESPACES
from tunbench.plan.axes.access import read_accesses
from tunbench.runner import stack
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.network import fragment_counters, underlay
from tunbench.runner.network.access import gateways, portmap, tried
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.network.network import Nodes
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.node import HOME, Node
from tunbench.runner.node.shell import LocalShell, wait_until
from tunbench.runner.proof import capture

QUICK = Link("quick", Direction(delay=0), Direction(delay=0))
SERVERS = ("11.1.0.10", "11.1.0.11")
"""Addresses outside the lab, which the edge has: of global scope, since no others are translated to IPv6."""

PYTHON = str(Path(sys.executable).resolve())
"""What nodes start: in their /tmp there is no environment of a checkout that lies in ours."""

TALK = HOME / "talk.py"
"""Each node has a /tmp of its own: all see what is in the lab's folder."""


def asked(access: Any, question: str, *words: str, kind: str = "ip") -> tuple[Any, dict[str, dict[str, int]]]:
    """What comes of a question behind these accesses: what its function returns, and what gateways dropped by rule."""
    argv = [
        "unshare",
        *NAMESPACES,
        sys.executable,
        "-m",
        "tests.helpers.gateway_lab",
        json.dumps(access),
        kind,
        question,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*argv, *words], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    answer, dropped = json.loads(done.stdout.splitlines()[-1])
    return answer, dropped


def behaviour(nodes: Nodes) -> Any:
    """What a STUN client on `a` finds out of its NAT."""
    program = HOME / "stun.py"
    nodes["edge"].write(program, Path(stun.__file__).read_text())
    nodes["edge"].start(PYTHON, str(program), "serve", *SERVERS, log="stun")
    assert nodes["edge"].until("sh", "-c", "ss -lunH | grep -q 3479", timeout=10)
    return json.loads(nodes["a"].run(PYTHON, str(program), "ask", SERVERS[0], timeout=30))


def punched(nodes: Nodes) -> Any:
    """Who hears whom where both ends send to each other, and the first packet of one comes too early."""
    other = _begun(nodes["b"], "punch", "6000", "10.0.1.2", "0", "1")
    mine = _said(nodes["a"], "punch", "6000", "10.0.2.2", "0.5")
    return {"a": mine, "b": other()}


def after_silence(nodes: Nodes, seconds: str) -> Any:
    """Whether what comes from outside arrives after a silence."""
    _begun(nodes["edge"], "answer_twice", SERVERS[0], "7000", seconds)
    return _said(nodes["a"], "hear_twice", SERVERS[0], "7000", seconds)


def after_silence_of_tcp(nodes: Nodes, seconds: str) -> Any:
    """Whether what comes from outside by a connection arrives after a silence."""
    nodes["edge"].start(PYTHON, str(TALK), "tell_twice", SERVERS[0], "443", seconds, log="tell_twice")
    assert nodes["edge"].until("sh", "-c", f"ss -tlnH src {SERVERS[0]} | grep -q .", timeout=10)
    return _said(nodes["a"], "told_twice", SERVERS[0], "443", seconds)


def where_cut(nodes: Nodes, under: Underlay) -> Any:
    """Where fragments are counted of a datagram of 3000 bytes out, and of one in that fits all but the access."""
    events, bare = FakeEvents(), stack.build("none", under.endpoints)
    with fragment_counters.watched(under, nodes, bare) as watch:
        _passes(nodes["a"], nodes["edge"], SERVERS[0])
        _said(nodes["edge"], "send", "10.0.1.2", "7000", "1460")
        listed = nodes["gateway-a"].ask("nft", "-j", "list", "table", "inet", "fragments").stdout
        watch.tell("one", events)
        watch.tell("none", events)
    after = nodes["gateway-a"].ask("nft", "list", "tables").stdout
    return {"told": events.told, "listed": listed, "after": after}


def what_is_tried(nodes: Nodes, under: Underlay) -> Any:
    """What is counted of tries by UDP and by TCP to two ports each, by ping, and by a datagram from outside."""
    nodes["edge"].start(PYTHON, str(TALK), "take", "tcp", SERVERS[0], "443", log="tcp-443")
    assert nodes["edge"].until("sh", "-c", "ss -tlnH sport = :443 | grep -q .", timeout=10)
    with tried.counting(under, nodes) as gateways_that_count:
        for kind, port in (("udp", "53"), ("tcp", "443"), ("tcp", "80")):
            _said(nodes["a"], "reach", kind, SERVERS[0], port)
        nodes["a"].ask("ping", "-n", "-c", "2", "-i", "0.1", "-W", "0.6", SERVERS[0])
        _said(nodes["edge"], "send", under.endpoints["a"].address, "7000", "9")
        found = tried.read(gateways_that_count, nodes)
        listed = nodes["gateway-a"].ask("nft", "-j", "list", "table", "inet", "tried").stdout
    after = nodes["gateway-a"].ask("nft", "list", "tables").stdout
    return {"rows": [list(row) for row in found if row.gateway == "gateway-a"], "listed": listed, "after": after}


def let_out(nodes: Nodes) -> Any:
    """What leaves for the network."""
    places = [("udp", "443"), ("udp", "53"), ("tcp", "443"), ("tcp", "80")]
    for kind, port in places:
        nodes["edge"].start(PYTHON, str(TALK), "take", kind, SERVERS[0], port, log=f"{kind}-{port}")
        assert nodes["edge"].until("sh", "-c", f"ss -{kind[0]}lnH sport = :{port} | grep -q .", timeout=10)
    found = {f"{kind}:{port}": _said(nodes["a"], "reach", kind, SERVERS[0], port) for kind, port in places}
    return {**found, "icmp": nodes["a"].ask("ping", "-n", "-c", "1", "-W", "0.6", SERVERS[0]).status == 0}


def ports_of_tcp(nodes: Nodes) -> Any:
    """The ports that two servers see behind connections from 6000 and 6001."""
    for address in SERVERS:
        nodes["edge"].start(PYTHON, str(TALK), "tell_ports", address, "443", log=f"ports-{address}")
        assert nodes["edge"].until("sh", "-c", f"ss -tlnH src {address} | grep -q .", timeout=10)
    return [_said(nodes["a"], "seen_from", one, "443", own) for one, own in zip(SERVERS, ("6000", "6001"), strict=True)]


def too_large(nodes: Nodes, there: str = SERVERS[0]) -> Any:
    """What becomes of packets that are too large for the link behind the gateway, and may not be cut."""
    return of_size(nodes, "1452" if ":" in there else "1472", there)


def of_size(nodes: Nodes, size: str, there: str = SERVERS[0]) -> Any:
    """What becomes of datagrams with so many bytes, which may not be cut."""
    far = _far(nodes, there)
    heard = _begun(far, "hear", "7000", gateway_talk.any_for(there))
    out = _said(nodes["a"], "send_large", there, "7000", size)
    back = _begun(far, "large_back", there, "7001", size)
    came = _said(nodes["a"], "call", there, "7001")
    return {"out": _fate(out, heard()[0]), "in": _fate(back(), came)}


def _far(nodes: Nodes, address: str) -> Node:
    """The node that an address beyond the gateway belongs to: over IPv6 one with a role."""
    return nodes[CONTROL if ":" in address else "edge"]


def _fate(sent: str, came: int) -> str:
    return sent if sent == "refused" else "passed" if came else "lost"


def in_fragments(nodes: Nodes, there: str = SERVERS[0], here: str = "10.0.1.2") -> Any:
    """Whether datagrams of 3000 bytes pass, which leave in fragments."""
    far = _far(nodes, there)
    return {"out": _passes(nodes["a"], far, there), "in": _passes(far, nodes["a"], here)}


def _passes(sender: Node, receiver: Node, address: str) -> bool:
    heard = _begun(receiver, "hear", "7000", gateway_talk.any_for(address))
    _said(sender, "send", address, "7000", "3000")
    return bool(heard()[0] == 3000)


def seen_on_the_way(nodes: Nodes, there: str) -> Any:
    """Where a datagram of 1000 bytes comes from, where it goes, and how long it is: on three places of its way."""
    places = {"a": "eth0", "carrier-a": "wan", CONTROL: "eth0"}
    files = {name: nodes[name].home / "seen.pcap" for name in places}
    with ExitStack() as captures:
        for name, interface in places.items():
            captures.enter_context(capture.capturing(nodes[name], interface, files[name], "udp port 7000"))
        _said(nodes["a"], "send", there, "7000", "1000")
        time.sleep(0.3)
    return {name: _first_of(nodes[name].read_bytes(file)) for name, file in files.items()}


def _first_of(pcap: bytes) -> list[Any]:
    """The addresses and the length of the first IP packet of a capture of Ethernet frames."""
    packet = pcap[24 + 16 + 14 :]
    if packet[0] >> 4 == 6:
        ends, length = (packet[8:24], packet[24:40]), 40 + int.from_bytes(packet[4:6])
    else:
        ends, length = (packet[12:16], packet[16:20]), int.from_bytes(packet[2:4])
    return [*(str(ip_address(end)) for end in ends), length]


def segment_sizes(nodes: Nodes) -> Any:
    """The MSS of a SYN as it arrives."""
    return {"out": _mss(nodes["a"], nodes["edge"], SERVERS[0]), "in": _mss(nodes["edge"], nodes["a"], "10.0.1.2")}


def _mss(client: Node, server: Node, address: str) -> int:
    pcap = server.home / "syn.pcap"
    with capture.capturing(server, "eth0", pcap, "tcp[tcpflags] == tcp-syn"):
        client.ask(PYTHON, str(TALK), "reach", "tcp", address, "7000")
    text = server.ask("tcpdump", "-n", "-r", str(pcap)).stdout
    return int(re.findall(r"mss ([0-9]+)", text)[0])


def marks(nodes: Nodes) -> Any:
    """The octet of DSCP and ECN as it arrives, where it was sent as expedited forwarding and ECT(1)."""
    heard = _begun(nodes["edge"], "hear", "7000")
    _said(nodes["a"], "send", SERVERS[0], "7000", "10", str(0xB9))
    return heard()[1]


def echoes(nodes: Nodes) -> Any:
    """Which echoes come back over IPv6: of a to what stands outside and to b, and of both to a."""
    number = {"a": "1", "b": "2", CONTROL: f"{underlay.ROLES[CONTROL]:x}"}
    places = [("a", CONTROL), ("a", "b"), (CONTROL, "a"), ("b", "a")]
    ping = ("ping", "-n", "-c", "1", "-W", "0.6")
    return [nodes[name].ask(*ping, f"fd00:0:0:{number[there]}::2").status == 0 for name, there in places]


def open_port(nodes: Nodes, *protocols: str) -> Any:
    """What comes of asking for an open port by each protocol: what is got, whether it is reached, and what is told."""
    found = {}
    for number, protocol in enumerate(protocols):
        port = str(7000 + number)
        got = _said(nodes["a"], f"ask_by_{protocol.replace('-', '_')}", "10.2.1.1", port)
        heard = _begun(nodes["a"], "hear", port)
        _said(nodes[CONTROL], "send", got[0] if got else "12.0.1.2", port, "9")
        found[protocol] = [got, heard()[0] == 9]
    return {**found, "opened": portmap.opened(nodes["gateway-a"])}


def outside(nodes: Nodes, *addresses: str) -> Any:
    """Whether the end of the world answers for addresses outside the lab."""
    # The edge looks for duplicates of its address first.
    return [nodes["a"].ask("ping", "-n", "-c", "1", "-W", "4", address).status == 0 for address in addresses]


def _said(node: Node, *words: str) -> Any:
    return json.loads(node.run(PYTHON, str(TALK), *words, timeout=30))


def _begun(node: Node, *words: str) -> Callable[[], Any]:
    """Begins a conversation that waits for another node; what is returned waits for its end."""
    process, log = node.start(PYTHON, str(TALK), *words, log=words[0]), node.log(words[0])
    # Another conversation of the node may have a port of its own.
    port = next(word for word in words if word.isdigit() and len(word) == 4)
    assert node.until("sh", "-c", f"ss -lunH | grep -q ':{port} '", timeout=10)

    def ended() -> Any:
        assert wait_until(lambda: process.poll() is not None, 10)
        return json.loads(node.read(log).splitlines()[-1])

    return ended


WITH_UNDERLAY = (what_is_tried.__name__, where_cut.__name__)
"""The questions that look at the underlay as well."""


def main(access: str, kind: str, question: str, *words: str) -> None:
    for folder in ("/run", str(HOME.parent)):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    events, network = FakeEvents(), EmulatedNetwork(LocalShell())
    under = underlay.of(kind, link=QUICK, roles=[CONTROL], accesses=next(iter(read_accesses(json.loads(access)))))
    with network.nodes(under, events) as nodes:
        network.connect(under, nodes, events)
        TALK.write_text(Path(gateway_talk.__file__).read_text())
        given = (nodes, under) if question in WITH_UNDERLAY else (nodes, *words)
        answer = globals()[question](*given)
        filtering = [*(one.node for one in under.all_gateways), under.middle]
        dropped = {name: gateways.dropped(nodes[name]) for name in filtering}
    print(json.dumps([answer, dropped]))


if __name__ == "__main__":
    main(*sys.argv[1:])
