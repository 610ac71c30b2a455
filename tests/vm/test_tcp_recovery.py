"""Why links have a delay: TCP takes for lost what is late by a quarter of the least round trip (RACK, RFC 8985)."""

import statistics
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(1200)]

RECOVERY = "net.ipv4.tcp_recovery"

WITHOUT_RACK = f'{{ name = "without-rack", sysctl = {{ "{RECOVERY}" = "0" }} }}'

OF_ONE_WIDTH = f'{{ name = "of-one-width", sysctl = {{ "{RECOVERY}" = "3" }} }}'
"""RACK whose window stays a quarter of the least round trip, whatever it learns. Source: Linux, ip-sysctl.rst."""

JITTERS = (("within", "1.5ms"), ("beyond", "4ms"))


def test_a_base_matters_because_of_rack_and_not_without_it(tmp_path: Path) -> None:
    links = '[{ name = "bare", delay = "0ms" }, { name = "based" }]'
    text = plan(["none"], '["medium"]', ["iperf3-tcp:duration=10"], repeats=4, link=links)
    record = execute(tmp_path / "run", text.replace("[lab]", f'tuning = ["default", {WITHOUT_RACK}]\n[lab]'))
    carried = {
        (link, tuning): statistics.median(values(record, "throughput", "none", link=link, tuning=tuning))
        for link in ("bare", "based")
        for tuning in ("default", "without-rack")
    }
    print(carried)
    assert carried["based", "default"] > 1.6 * carried["bare", "default"]
    assert carried["based", "without-rack"] == pytest.approx(carried["bare", "without-rack"], rel=0.25)


def test_what_is_late_by_less_than_a_quarter_of_the_round_trip_is_not_lost(tmp_path: Path) -> None:
    """Jitter of J each way over 10 ms: late by 2J at most, and a quarter of the least round trip is (20.3 ms − 2J) ÷ 4.

    So 2.03 ms are the bound: with 1.5 it is 3.0 of 4.3 ms, and with 4 it is 8.0 of 3.1.
    """
    profiles = ", ".join(f'{{ name = "{name}", delay = "10ms", jitter = "{jitter}" }}' for name, jitter in JITTERS)
    text = plan(["none"], f"[{profiles}]", ["iperf3-tcp:duration=3"], repeats=2, link='{ name = "50M", rate = "50M" }')
    record = execute(tmp_path / "run", text.replace("[lab]", f"tuning = {OF_ONE_WIDTH}\n[lab]"))
    within, beyond = (values(record, "resent", "none", profile=name) for name, _ in JITTERS)
    print(within, beyond)
    assert max(within) < 0.001
    assert min(beyond) > 0.005
