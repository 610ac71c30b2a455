"""Over a link of known rate and queue, goodput and loaded latency are what the link has."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts

pytestmark = pytest.mark.vm

RATE = 10e6
"""Bits a second of the link, on the wire."""

QUEUE = 200
"""Packets that wait for it at most."""

LINK = f'{{ name = "slow", rate = "{RATE / 1e6:.0f}M", queue = {QUEUE} }}'

AT_THE_FAR_END = f'{{ name = "slow", down = {{ rate = "{RATE / 1e6:.0f}M", queue = {QUEUE} }} }}'
"""Where no sender of its own is held back by a full queue: it drops."""

HEADERS = 8 + 20 + 14 + 24
"""Bytes beside a datagram's payload: UDP, IPv4, Ethernet, and its check sequence, preamble and gap."""


def test_the_goodput_is_the_links_rate_less_the_headers(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', ["goodput:highest=50M"], link=AT_THE_FAR_END))
    payload = RATE * 1300 / (1300 + HEADERS)
    for metric in ("goodput", "goodput-lossy"):
        [found] = values(record, metric, "none")
        assert payload / 1.05 * 0.99 < found < payload * 1.01
    assert 3 <= len(values(record, "trial-rate", "none", whole=False)) <= 12


@pytest.mark.parametrize("stack", ["none", pytest.param("wireguard", marks=pytest.mark.long)])
def test_a_loaded_link_adds_what_its_queue_takes(stack: str, tmp_path: Path) -> None:
    workload = "loaded-latency:direction=up"
    record = execute(tmp_path / "run", plan([stack], '["baseline"]', [workload], link=AT_THE_FAR_END))
    assert verdicts(record)[stack, workload] == ("ok", "")
    # TCP fills the queue, and empties a part of it where a packet was dropped.
    full = QUEUE * 1538 * 8 / RATE
    [increase] = values(record, "increase-up", stack)
    assert 0.5 * full < increase < 1.05 * full
    [rpm] = values(record, "rpm-up", stack)
    assert 60 / (1.05 * full) < rpm < 60 / (0.5 * full)
    # Of what is on the wire 24 bytes are Ethernet's besides its header, 20 are IPv4's and 32 are TCP's with timestamps.
    payload = {"none": 1448, "wireguard": 1440 - 20 - 32}[stack]
    on_the_wire = {"none": 1538, "wireguard": 1514 + 24}[stack]
    [throughput] = values(record, "throughput-up", stack)
    assert throughput == pytest.approx(RATE * payload / on_the_wire, rel=0.05)
    assert {"queue-drops"} <= {warning.name for warning in record.warnings}


def test_what_the_senders_buffer_holds_when_the_time_is_over_is_waited_for(tmp_path: Path) -> None:
    """iperf 2 closes its socket after a second, and the link needs half a minute for what the kernel has of it."""
    workload = "iperf2-tcp:duration=1,window=200kB"
    link = '{ name = "slow", rate = "100k" }'
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', [workload], link=link))
    assert verdicts(record)["none", workload] == ("ok", "")
    [throughput] = values(record, "throughput", "none")
    assert throughput == pytest.approx(1e5 * 1448 / 1538, rel=0.05)
