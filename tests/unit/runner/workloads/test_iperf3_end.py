"""What iperf3 does not count itself: the datagrams behind the last one that arrived."""

from typing import Any

import pytest

from tests.helpers.fakes import captured
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.workloads import goodput, iperf3_udp
from tunbench.runner.workloads.shared.arrivals import Heard
from tunbench.runner.workloads.shared.iperf import iperf3_report

NAMES = ("a", "b")


def loaded(name: str) -> Any:
    return iperf3_report.load(captured(f"{name}.json"))


def silent_after(seconds: int, data: Any, report: Any, suffix: str = "") -> None:
    """Lets the receiver, whose report it is, have nothing more behind so many of its intervals, which are a second."""
    for interval in report["intervals"][seconds:]:
        for counted in (interval[f"sum{suffix}"], *(one for one in interval["streams"] if not one["sender"])):
            counted |= {"bytes": 0, "bits_per_second": 0, "packets": 0, "lost_packets": 0, "lost_percent": 0}
    size, seen, lost = (
        sum(interval[f"sum{suffix}"][name] for interval in report["intervals"])
        for name in ("bytes", "packets", "lost_packets")
    )
    percent = 100 * lost / data["end"][f"sum{suffix}"]["packets"]
    received = data["end"][f"sum_received{suffix}"]
    received |= {"bytes": size, "bits_per_second": 8 * size / received["seconds"], "packets": seen}
    for counted in (received, data["end"][f"sum{suffix}"]):
        counted |= {"lost_packets": lost, "lost_percent": percent}
    if report is not data:
        report["end"]["sum"] |= {"packets": seen, "lost_packets": lost}
    for stream in report["end"]["streams"]:
        if not stream["udp"]["sender"]:
            stream["udp"] |= {"lost_packets": lost / len(report["end"]["streams"]), "out_of_order": 0}


def told(data: Any, **given: Any) -> dict[str, float]:
    """What is told of the whole test, of the last node that received."""
    return {one.metric: one.value for one in iperf3_udp.parse(data, **given) if one.at is None}


def test_what_is_lost_at_the_end_is_lost() -> None:
    data = loaded("iperf3-udp")
    silent_after(1, data, data["server_output_json"])
    whole = told(data)
    assert whole["loss"] == pytest.approx(1 - 2408900 / 1300 / 3845)
    assert whole["throughput"] == pytest.approx(8 * 2408900 / 2.000066)


def test_what_never_arrives_is_lost() -> None:
    data = loaded("iperf3-udp")
    silent_after(0, data, data["server_output_json"])
    assert (told(data)["loss"], told(data)["throughput"]) == (1, 0)


def test_what_is_lost_at_the_end_of_both_ways_is_lost() -> None:
    data = loaded("iperf3-udp-bidir")
    silent_after(1, data, data["server_output_json"])
    there = {one.metric: one.value for one in iperf3_udp.parse(data, bidir=NAMES) if (one.at, one.node) == (None, "b")}
    assert there["loss"] == 0.5
    assert there["throughput"] == pytest.approx(8 * 1250600 / 2.000068)
    back = told(data, bidir=NAMES)
    assert (back["loss"], back["throughput"]) == (0, 8 * 2501200 / 2.000068)
    silent_after(1, data, data, iperf3_report.REVERSE_SUFFIX)
    back = told(data, bidir=NAMES)
    assert back["loss"] == 0.5
    assert back["throughput"] == 8 * 1250600 / 2.000068


def test_what_is_lost_at_the_end_of_the_way_back_is_lost() -> None:
    data = loaded("iperf3-udp-reverse-late")
    silent_after(1, data, data)
    whole = told(data, reverse=True)
    assert whole["loss"] == 1 - 479 / 1077
    assert whole["throughput"] == 8 * 622700 / 2.000067


def behind(data: Any, missing: int) -> Any:
    """The data, with so many datagrams of 1300 B that the server did not see at the end."""
    seen = data["server_output_json"]["end"]["sum"]
    seen["packets"] -= missing
    size = data["end"]["sum_received"]["bytes"] - 1300 * missing
    data["end"]["sum_received"] |= {"bytes": size, "packets": seen["packets"]}
    data["end"]["sum_received"]["bits_per_second"] = 8 * size / data["end"]["sum_received"]["seconds"]
    return data


def test_what_arrives_when_the_server_has_stopped_to_count_is_not_lost() -> None:
    # Two streams: the server saw 1876 of 1924 datagrams, and the others came behind the last one that it saw.
    arriving = [(stream, number) for number in range(900, 963) for stream in (38886, 57796)]
    for heard, lost in ((Heard(), 48), (Heard(tail=arriving), 0), (Heard(tail=arriving[:-3]), 3)):
        there = iperf3_udp.parse(behind(loaded("iperf3-udp-bidir"), 48), bidir=NAMES, heard={"b": heard})
        found = {one.metric: one.value for one in there if (one.at, one.node) == (None, "b")}
        assert found["loss"] == lost / 1924
        assert found["throughput"] == pytest.approx(8 * 1300 * (1924 - lost) / 2.000068)


def twice(data: Any, count: int) -> Any:
    """The data, with so many more datagrams of 1300 B that came twice, for which no loss could be taken away."""
    more = 1 + 1300 * count / data["end"]["sum_received"]["bytes"]
    intervals = data["server_output_json"]["intervals"]
    for counted in (data["end"]["sum_received"], *(two for one in intervals for two in (one["sum"], *one["streams"]))):
        counted["bytes"] *= more
        counted["bits_per_second"] *= more
    return data


def test_a_datagram_that_came_twice_counts_once() -> None:
    data = twice(loaded("iperf3-udp"), 300)
    assert told(data)["loss"] == 111 / 3845
    assert told(data)["throughput"] == pytest.approx(19993340.2 * (1 - 111 / 3845))


@pytest.mark.parametrize("more", [-1, 2296])
def test_bytes_that_are_not_those_of_the_datagrams_have_failed(more: int) -> None:
    data = twice(loaded("iperf3-udp"), more)
    with pytest.raises(
        WorkloadFailed, match=r"iperf3 received \S+ B, and counted 3734 datagrams of 1300 B and 2295 out"
    ):
        iperf3_udp.parse(data)


def test_bytes_of_a_trial_of_goodput_that_are_not_those_of_its_datagrams_have_failed() -> None:
    data = loaded("goodput-clean")
    data["server_output_json"]["end"]["sum"]["packets"] = 173
    with pytest.raises(WorkloadFailed, match=r"iperf3 received 2\.2503e\+06 B, and counted 173 datagrams of 1300 B"):
        goodput.parse(data, 18e6)
