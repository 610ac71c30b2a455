"""Over a link of known rate and queue, goodput and loaded latency are what the link has."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts

pytestmark = pytest.mark.vm

RATE = 20e6
"""Bits a second of the link, in frames."""

QUEUE = 200
"""Packets that wait for it at most."""

PROFILE = f'[{{ name = "slow", rate = "{RATE:.0f}", limit = "{QUEUE}" }}]'


def test_the_goodput_is_the_links_rate_less_the_headers(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["none"], PROFILE, ["goodput:highest=100M"]))
    # Headers of UDP, IPv4 and Ethernet.
    payload = RATE * 1300 / (1300 + 8 + 20 + 14)
    for metric in ("goodput", "goodput-lossy"):
        [found] = values(record, metric, "none")
        assert payload / 1.05 * 0.99 < found < payload * 1.01
    assert 3 <= len(values(record, "trial-rate", "none", whole=False)) <= 12


def test_a_loaded_link_adds_what_its_queue_takes(tmp_path: Path) -> None:
    # WireGuard sends packets of the size that the link takes. Over `none` the kernel hands netem many at once (TSO),
    # and netem's limit counts them as one.
    workload = "loaded-latency:direction=up"
    record = execute(tmp_path / "run", plan(["wireguard"], PROFILE, [workload]))
    assert verdicts(record)["wireguard", workload] == ("ok", "")
    # TCP fills the queue, and empties a part of it where a packet was dropped.
    full = QUEUE * 1514 * 8 / RATE
    [increase] = values(record, "increase-up", "wireguard")
    assert 0.5 * full < increase < 1.05 * full
    [rpm] = values(record, "rpm-up", "wireguard")
    assert 60 / (1.05 * full) < rpm < 60 / (0.5 * full)
    # Of a packet of 1,440 bytes, 20 are IPv4's and 32 are TCP's with its timestamps.
    [throughput] = values(record, "throughput-up", "wireguard")
    assert throughput == pytest.approx(RATE * 1388 / 1514, rel=0.05)
