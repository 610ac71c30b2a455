"""Reports of iperf3 that contradict themselves give no numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.iperf3_reports import counts, loaded, of, scale
from tunbench.runner import registry
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.workloads import iperf3_tcp, iperf3_udp
from tunbench.runner.workloads.shared.iperf import iperf3_report


@pytest.mark.parametrize(("size", "seconds"), [(1, 0), (10**300, 1e-300)])
def test_bytes_in_no_time_have_failed(size: int, seconds: float) -> None:
    data = loaded("udp-reverse")
    data["end"]["sum_received"] |= {"bytes": size, "seconds": seconds}
    with pytest.raises(WorkloadFailed, match=r"iperf3 counted \S+ B in \S+ s as 5.00224e\+06 bit/s"):
        iperf3_udp.parse(data, reverse=True)


def test_bytes_in_the_time_of_a_sender_that_sent_nothing_have_failed() -> None:
    data = loaded("udp-bidir")
    data["end"]["sum_sent_bidir_reverse"] |= {"bytes": 0, "seconds": 0, "bits_per_second": 0}
    with pytest.raises(WorkloadFailed, match=r"iperf3 received 2.5012e\+06 B in 0 s"):
        iperf3_udp.parse(data, bidir=("a", "b"))


@pytest.mark.parametrize("direction", ["", iperf3_report.REVERSE_SUFFIX])
@pytest.mark.parametrize("what", ["sum_sent", "sum_received"])
@pytest.mark.parametrize(("name", "factor"), [("bytes", 0.9), ("seconds", 0), ("bits_per_second", 100)])
def test_a_rate_of_tcp_that_is_not_its_bytes_in_its_seconds_has_failed(
    direction: str, what: str, name: str, factor: float
) -> None:
    data = loaded("tcp-bidir")
    data["end"][what + direction][name] *= factor
    with pytest.raises(WorkloadFailed, match=rf"iperf3 counted .* B in .* s as .* bit/s at end\.{what}{direction}$"):
        iperf3_tcp.parse(data, ("a", "b"))


@pytest.mark.parametrize("name", ["tcp", "tcp-reverse"])
def test_a_rate_of_an_interval_that_is_not_its_bytes_in_its_seconds_has_failed(name: str) -> None:
    data = loaded(name)
    data["intervals"][0]["sum"]["bits_per_second"] = 1e12
    with pytest.raises(WorkloadFailed, match=r"iperf3 counted .* B in .* s as 1e\+12 bit/s at sum$"):
        iperf3_tcp.parse(data)


@pytest.mark.parametrize("changes", [{"start": 500.0, "end": 501.0}, {"end": 1e9}, {"start": 1.0}])
@pytest.mark.parametrize("name", ["tcp", "udp"])
def test_intervals_that_do_not_follow_one_another_have_failed(name: str, changes: dict[str, float]) -> None:
    data, parse = loaded(name), registry.workload(f"iperf3-{name}").parse
    parse(data)
    report = data["server_output_json"] if name == "udp" else data
    report["intervals"][0]["sum"] |= changes
    with pytest.raises(WorkloadFailed, match=r"iperf3 has an interval of 1\S* s from .* behind one until 0 s"):
        parse(data)


def lasting(counted: Any, seconds: float) -> None:
    """Lets a sum have so many seconds, and the rate of its bytes in them."""
    counted |= {"seconds": seconds, "bits_per_second": 8 * counted["bytes"] / seconds if seconds else 0}


def nothing_at_all(data: Any) -> None:
    for name in ("sum_sent", "sum_received"):
        data["end"][name]["bytes"] = 0
        lasting(data["end"][name], 0)


def changed(sums: list[Any], **values: object) -> None:
    for one in sums:
        one |= values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: lasting(data["end"]["sum_received"], 0.001),
            r"iperf3's server counted 0\.001 s of a test of 3\.\d+ s",
        ),
        (
            lambda data: lasting(data["end"]["sum_received"], 23.1),
            r"iperf3's server counted 23\.1 s of a test of 3\.\d+ s",
        ),
        (
            lambda data: data["end"]["sum_received"].update(bytes=0, seconds=0, bits_per_second=9e12),
            r"iperf3 counted 0 B in 0 s as 9e\+12 bit/s at end\.sum_received",
        ),
        (
            lambda data: data["end"]["sum_sent"].update(retransmits=1),
            "iperf3 sent 1 segments again, and 0 of its streams",
        ),
        (
            lambda data: data["end"]["streams"][1]["sender"].update(retransmits=1),
            "iperf3 sent 0 segments again, and 1 of its streams",
        ),
        (
            lambda data: lasting(data["end"]["sum_sent"], 0.001),
            r"iperf3 has intervals until 3\.\S* s of a test of 0\.001 s",
        ),
        (lambda data: lasting(data["end"]["sum_sent"], 4), r"iperf3 has intervals until 3\.\S* s of a test of 4 s"),
        (
            lambda data: scale(100, *counts(data, "sum")),
            r"iperf3 counted \S+ B in the intervals of a test of \S+ B",
        ),
        (
            lambda data: changed(counts(data, "sum"), retransmits=10**6),
            r"iperf3 sent 3000000 segments again in the intervals, and \d+ in all",
        ),
        (nothing_at_all, r"iperf3 counted \S+ B in the intervals of a test of 0 B"),
        (lambda data: data.update(intervals=[]), r"iperf3 counted 0 B in the intervals of a test of \S+ B"),
        (
            lambda data: changed(data["intervals"][1]["streams"], bytes=0),
            r"iperf3 counted \S+ B, and 0 B of its streams in an interval",
        ),
    ],
)
def test_sums_of_tcp_that_contradict_its_intervals_have_failed(change: Callable[[Any], object], message: str) -> None:
    data = loaded("tcp")
    change(data)
    with pytest.raises(WorkloadFailed, match=message):
        iperf3_tcp.parse(data)


def test_a_short_interval_without_bytes_is_left_out() -> None:
    data = loaded("tcp")
    last = data["intervals"][-1]["sum"]
    lasting(data["end"]["sum_sent"], last["end"] + 0.09)
    assert iperf3_tcp.parse(data)
    last["retransmits"] = 0
    data["end"]["sum_sent"]["retransmits"] += 5
    data["end"]["streams"][0]["sender"]["retransmits"] += 5
    assert iperf3_tcp.parse(data)
    behind = data["intervals"][1]["sum"]
    behind["start"] += 0.09
    lasting(behind, behind["seconds"] - 0.09)
    assert iperf3_tcp.parse(data)
    behind["start"] += 0.1
    lasting(behind, behind["seconds"] - 0.1)
    with pytest.raises(WorkloadFailed, match="iperf3 has an interval of"):
        iperf3_tcp.parse(data)


def sent_a_hundredfold(data: Any) -> None:
    scale(100, data["end"]["sum_sent"], *counts(data, "sum"))


def received_a_gigabyte(data: Any) -> None:
    scale(400, data["end"]["sum_received"], *counts(data, "sum"))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "udp",
            lambda data: scale(100, data["end"]["sum_sent"]),
            r"iperf3 counted 4\.9985e\+06 B in the intervals of a test of 4\.9985e\+08 B",
        ),
        ("udp", sent_a_hundredfold, r"iperf3 counted 4\.9985e\+08 B in 3845 datagrams of 1300 B"),
        (
            "udp",
            lambda data: lasting(data["end"]["sum_sent"], 0.001),
            r"iperf3 has intervals until 2\.00007 s of a test of 0\.001 s",
        ),
        (
            "udp",
            lambda data: data["end"]["sum"].update(lost_packets=0, lost_percent=0),
            r"iperf3 counted 0 datagrams lost at end\.sum, and 110 of its streams",
        ),
        (
            "udp",
            lambda data: data["end"]["sum"].update(packets=384_500, lost_percent=11_000 / 384_500),
            "iperf3 sent 3845 datagrams and counted 384500",
        ),
        (
            "udp",
            lambda data: scale(100, *counts(data["server_output_json"], "sum")),
            r"iperf3 counted 4\.8542e\+08 B in the intervals of a test of 4\.8542e\+06 B",
        ),
        (
            "udp-reverse",
            lambda data: scale(400, data["end"]["sum_received"]),
            r"iperf3 counted \S+ B in the intervals of a test of \S+ B",
        ),
        ("udp-reverse", received_a_gigabyte, r"iperf3 counted \S+ B in 9620 datagrams of 1300 B"),
    ],
)
def test_sums_of_udp_that_contradict_each_other_have_failed(
    name: str, change: Callable[[Any], object], message: str
) -> None:
    data = loaded(name)
    change(data)
    with pytest.raises(WorkloadFailed, match=message):
        iperf3_udp.parse(data, name == "udp-reverse")


def test_more_segments_again_than_there_were_bytes_have_failed() -> None:
    data = loaded("tcp")
    data["end"]["sum_sent"]["retransmits"] = 10**15
    with pytest.raises(WorkloadFailed, match=r"iperf3 sent \d+ B, and 1000000000000000 segments of it again"):
        iperf3_tcp.parse(data)


@pytest.mark.parametrize(("more", "sound"), [(0, True), (1, False)])
def test_segments_of_a_write_that_has_not_come_to_an_end_may_be_sent_again(more: int, sound: bool) -> None:
    data = loaded("tcp")
    block, streams = data["start"]["test_start"]["blksize"], data["end"]["streams"]
    again = int(data["end"]["sum_sent"]["bytes"]) + block * len(streams) + more
    data["end"]["sum_sent"]["retransmits"] = again
    for one in streams:
        one["sender"]["retransmits"] = 0
    streams[0]["sender"]["retransmits"] = again
    if sound:
        assert again in [one.value for one in iperf3_tcp.parse(data) if one.metric == "retransmits"]
    else:
        with pytest.raises(WorkloadFailed, match="segments of it again"):
            iperf3_tcp.parse(data)


@pytest.mark.parametrize("direction", ["", iperf3_report.REVERSE_SUFFIX])
def test_more_bytes_of_tcp_than_were_sent_have_failed(direction: str) -> None:
    data = loaded("tcp-bidir")
    data["end"][f"sum_received{direction}"]["bytes"] *= 1000
    data["end"][f"sum_received{direction}"]["bits_per_second"] *= 1000
    with pytest.raises(WorkloadFailed, match=r"iperf3 sent \d+ B, and \d+000 B arrived"):
        iperf3_tcp.parse(data, ("a", "b"))


def test_a_fraction_of_a_segment_has_failed() -> None:
    data = loaded("tcp")
    data["end"]["sum_sent"]["retransmits"] = 0.5
    with pytest.raises(WorkloadFailed, match=r"no whole number at end\.sum_sent\.retransmits: 0\.5"):
        iperf3_tcp.parse(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packets": 1.5, "lost_packets": 0}, r"no whole number at end\.sum\.packets: 1\.5"),
        ({"lost_packets": 0.5}, r"no whole number at end\.sum\.lost_packets: 0\.5"),
        ({"lost_packets": 3845}, r"iperf3 counted 3845 lost of 3845 datagrams as 2\.86086 %"),
        ({"lost_percent": 0}, "iperf3 counted 110 lost of 3845 datagrams as 0 %"),
        ({"jitter_ms": 999_000}, r"iperf3 counted a jitter of 999 s within 2\.00406 s"),
    ],
)
def test_counts_of_datagrams_that_contradict_each_other_have_failed(changes: dict[str, float], message: str) -> None:
    data = loaded("udp")
    data["end"]["sum"] |= changes
    with pytest.raises(WorkloadFailed, match=message):
        iperf3_udp.parse(data)


def test_a_jitter_of_an_interval_that_is_longer_than_the_test_until_then_has_failed() -> None:
    data = loaded("udp")
    data["server_output_json"]["intervals"][0]["sum"]["jitter_ms"] = 1001
    with pytest.raises(WorkloadFailed, match=r"iperf3 counted a jitter of 1\.001 s within 1\.00007 s"):
        iperf3_udp.parse(data)


@pytest.mark.parametrize("sums", ["sum_sent", "sum_received"])
def test_a_rate_of_udp_that_is_not_its_bytes_in_its_seconds_has_failed(sums: str) -> None:
    data = loaded("udp")
    data["end"][sums]["bits_per_second"] *= 100
    with pytest.raises(WorkloadFailed, match=rf"iperf3 counted .* B in .* s as .* bit/s at end\.{sums}$"):
        iperf3_udp.parse(data)


@pytest.mark.parametrize(
    ("late", "message"),
    [
        (3735, r"iperf3 counted 3735 datagrams of 1300 B out of order in 4\.8542e\+06 B"),
        (10**9, "out of order"),
        (0.5, r"no whole number at udp\.out_of_order: 0\.5"),
    ],
)
def test_more_datagrams_out_of_order_than_arrived_have_failed(late: float, message: str) -> None:
    data = loaded("udp")
    data["server_output_json"]["end"]["streams"][0]["udp"]["out_of_order"] = late
    with pytest.raises(WorkloadFailed, match=message):
        iperf3_udp.parse(data)


def test_of_datagrams_that_came_twice_more_may_be_out_of_order_than_were_sent() -> None:
    data = loaded("udp")
    data["server_output_json"]["end"]["streams"][0]["udp"]["out_of_order"] = 4000
    scale(2, data["end"]["sum_received"], *counts(data["server_output_json"], "sum"))
    assert of(iperf3_udp.parse(data), "out-of-order") == [4000]
