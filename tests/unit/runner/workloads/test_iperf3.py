"""What the iperf3 workloads can do beyond one TCP stream there, or one UDP stream there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, captured, move_home, two_nodes
from tunbench.runner import registry
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import iperf3_tcp, iperf3_udp
from tunbench.runner.workloads.shared import iperf3, iperf3_report

CLIENT = "ip netns exec a iperf3 --client 10.0.2.2 --port 5201 --json"
LISTENING = "LISTEN 0 4096 *:5201 *:*\n"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def loaded(name: str) -> Any:
    return iperf3_report.load(captured(f"iperf3-{name}.json"))


def of(samples: list[Sample], metric: str, node: str = "", whole: bool = True) -> list[float]:
    return [one.value for one in samples if (one.metric, one.node, one.at is None) == (metric, node, whole)]


def executed(name: str, given: dict[str, str], output: str, **others: Answer) -> tuple[Trial, list[str], FakeShell]:
    answers: dict[str, Answer] = {**others, "ss -H": LISTENING, "--client": captured(f"iperf3-{output}.json")}
    shell, events = FakeShell(answers, {"iperf3": lambda *_: 0}), FakeEvents()
    client, server = two_nodes(shell, events)
    module = registry.workload(name)
    trial = Trial(resolve(module.ABOUT.options, given, name), client, server, PAIR_UNDERLAYS["ip"].endpoints)
    module.execute(trial)
    return trial, events.commands, shell


def lose(data: Any, streams: list[Any], suffix: str, lost: int, percent: float) -> None:
    """Lets the sums of a direction and the streams that received it tell of the same loss."""
    for sums in ("sum", "sum_received"):
        data["end"][sums + suffix] |= {"lost_packets": lost, "lost_percent": percent}
    for stream in streams:
        stream["udp"]["lost_packets"] = lost


def counts(report: Any, name: str) -> list[Any]:
    """The sums of that name in the intervals of a report, and those of their streams."""
    intervals = report["intervals"]
    return [one[name] for one in intervals] + [one for interval in intervals for one in interval["streams"]]


def scale(factor: float, *sums: Any) -> None:
    """Changes bytes and rate of each sum alike."""
    for counted in sums:
        counted["bytes"] *= factor
        counted["bits_per_second"] *= factor


def test_the_client_tells_the_state_of_its_tcp_for_each_stream_and_second() -> None:
    samples = iperf3_tcp.parse(loaded("tcp-bbr"))
    assert samples == [
        Sample("throughput", 4523332238.78269),
        Sample("retransmits", 0),
        Sample("throughput", 4524553640.211008, 0),
        Sample("retransmits", 0, 0),
        Sample("cwnd", 309872, 0),
        Sample("tcp-rtt", 36e-6, 0),
    ]


def test_a_server_that_sends_tells_nothing_of_its_tcp_as_it_goes_on() -> None:
    samples = iperf3_tcp.parse(loaded("tcp-reverse"))
    assert {one.metric for one in samples if one.at is not None} == {"throughput"}


def test_both_directions_at_once_have_the_nodes_that_received_and_sent() -> None:
    samples = iperf3_tcp.parse(loaded("tcp-bidir"), ("a", "b"))
    assert of(samples, "throughput", "b") == [3835050229.501278]
    # The client received for 2.000042 s; iperf3 itself divides by the 2.009357 s of the server.
    assert of(samples, "throughput", "a") == [8 * 1923087632 / 2.000042]
    assert of(samples, "throughput", "a", whole=False)[1] == 7714266037.375674
    assert of(samples, "retransmits", "a") == of(samples, "retransmits", "b") == [0]
    # Two streams and two seconds; the other two are the server's.
    assert of(samples, "cwnd", "a", whole=False)[2:] == [7587520, 1892536]
    assert of(samples, "tcp-rtt", "a", whole=False)[2:] == [1239e-6, 1074e-6]
    assert not of(samples, "cwnd", "b", whole=False)


def test_one_direction_is_no_result_for_two() -> None:
    with pytest.raises(WorkloadFailed, match=r"no sound number at end\.sum_received_bidir_reverse\.bits_per_second"):
        iperf3_tcp.parse(loaded("tcp"), ("a", "b"))


@pytest.mark.parametrize(
    ("given", "output", "arguments"),
    [
        ({"bytes": "5MB", "duration": "9"}, "tcp", "--bytes 5000000 --parallel 1"),
        ({"bidir": "on"}, "tcp-bidir", "--time 2 --parallel 1 --bidir"),
        ({"window": "64KiB", "length": "1000"}, "tcp", "--time 2 --parallel 1 --window 65536 --length 1000"),
        ({"zerocopy": "on"}, "tcp", "--time 2 --parallel 1 --zerocopy"),
    ],
)
def test_the_commands_of_tcp(given: dict[str, str], output: str, arguments: str) -> None:
    _, commands, _ = executed("iperf3-tcp", given, output)
    assert commands[-1] == f"{CLIENT} {arguments}"


def test_bytes_may_take_as_long_as_they_need_at_100_kbit_a_second() -> None:
    _, _, shell = executed("iperf3-tcp", {"bytes": "1MB"}, "tcp")
    assert next(call.timeout for call in shell.calls if "--client" in call.argv) == 8e6 / 1e5 + 20
    assert iperf3_tcp.seconds(resolve(iperf3_tcp.ABOUT.options, {"bytes": "100MB"}, "")) == 16
    assert iperf3_tcp.seconds(resolve(iperf3_tcp.ABOUT.options, {"duration": "7"}, "")) == 7


def test_bytes_of_which_none_had_arrived_are_no_result() -> None:
    data = loaded("tcp-bbr")
    data["end"]["sum_received"] |= {"bytes": 0, "bits_per_second": 0}
    shell = FakeShell({"ss -H": LISTENING, "--client": json.dumps(data)}, {"iperf3": lambda *_: 0})
    for given, failed in (({"bytes": "1kB"}, True), ({"duration": "1"}, False)):
        client, server = two_nodes(shell, FakeEvents())
        trial = Trial(resolve(iperf3_tcp.ABOUT.options, given, ""), client, server, PAIR_UNDERLAYS["ip"].endpoints)
        if failed:
            with pytest.raises(WorkloadFailed, match="ended before anything had arrived"):
                iperf3_tcp.execute(trial)
        else:
            iperf3_tcp.execute(trial)
            assert of(trial.samples, "throughput") == [0]


@pytest.mark.parametrize("name", ["iperf3-tcp", "iperf3-udp"])
def test_reverse_and_bidir_exclude_each_other(name: str) -> None:
    with pytest.raises(ValueError, match="reverse and bidir exclude each other"):
        executed(name, {"reverse": "on", "bidir": "on"}, "tcp-bidir")


@pytest.mark.parametrize("mss", ["1", "87", "9217"])
def test_an_mss_that_the_kernel_or_iperf3_refuses_is_refused(mss: str) -> None:
    with pytest.raises(ValueError, match=f'option mss: "{mss}" is out of range: allowed is 0, or 88 to 9216'):
        resolve(iperf3_tcp.ABOUT.options, {"mss": mss}, "iperf3-tcp")
    assert resolve(iperf3_tcp.ABOUT.options, {"mss": "88"}, "")["mss"] == 88


def test_a_congestion_control_that_is_there_is_not_loaded() -> None:
    with pytest.raises(WorkloadFailed, match="used the congestion control 'cubic' instead of reno"):
        executed("iperf3-tcp", {"congestion": "reno"}, "tcp-bidir", sysctl="reno cubic\n")
    _, commands, _ = executed("iperf3-tcp", {"congestion": "cubic"}, "tcp-bidir", sysctl="reno cubic\n")
    assert commands[-1] == f"{CLIENT} --time 2 --parallel 1 --congestion cubic"
    assert not [command for command in commands if "modprobe" in command]


def test_a_congestion_control_that_is_not_there_is_loaded() -> None:
    loaded = iter(["reno cubic\n", "reno cubic bbr\n"])
    _, commands, _ = executed(
        "iperf3-tcp", {"congestion": "bbr"}, "tcp-bbr", sysctl=lambda _: Result(0, next(loaded), "")
    )
    assert commands[0] == "ip netns exec a modprobe tcp_bbr"
    assert commands[-1].endswith("--congestion bbr")


def test_a_congestion_control_that_the_kernel_lacks_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="this kernel does not have the congestion control nv"):
        executed("iperf3-tcp", {"congestion": "nv"}, "tcp", sysctl="reno cubic\n")


def test_what_iperf3_says_of_a_congestion_control_is_the_reason() -> None:
    with pytest.raises(WorkloadFailed, match="unable to set TCP_CONGESTION: Supplied congestion control"):
        loaded("congestion")


def test_udp_back_is_what_the_client_received() -> None:
    samples = iperf3_udp.parse(loaded("udp-reverse"), reverse=True)
    assert of(samples, "throughput") == [pytest.approx(5002237.427283613)]
    assert of(samples, "throughput", whole=False)[1] == 5002389.862367193
    assert of(samples, "jitter") == [0.000790653128645791 / 1000]
    assert (of(samples, "loss"), of(samples, "out-of-order")) == ([0], [0])


def test_the_order_of_arrival_is_the_receivers() -> None:
    there, back = loaded("udp"), loaded("udp-reverse")
    there["end"]["streams"][0]["udp"]["out_of_order"] = 7
    back["end"]["streams"][0]["udp"]["out_of_order"] = 7
    assert of(iperf3_udp.parse(there), "out-of-order") == [2295]
    assert of(iperf3_udp.parse(back, reverse=True), "out-of-order") == [7]


def test_a_rest_of_the_last_second_is_no_sample() -> None:
    data = loaded("udp-unlimited")
    assert len(data["server_output_json"]["intervals"]) == 2
    samples = iperf3_udp.parse(data)
    assert [(one.metric, one.at) for one in samples if one.at is not None] == [("throughput", 0), ("jitter", 0)]
    assert of(samples, "loss") == [8253 / 53960]
    assert of(samples, "throughput") == [pytest.approx(475283408.6, rel=1e-3)]


def test_udp_both_ways_has_the_nodes_that_received() -> None:
    trial, commands, _ = executed("iperf3-udp", {"bidir": "on", "parallel": "2", "rate": "5M"}, "udp-bidir")
    assert commands[-1] == f"{CLIENT} --udp --bitrate 5000000 --length 1300 --time 2 --parallel 2 --bidir " + (
        "--get-server-output"
    )
    samples = trial.samples
    assert of(samples, "throughput", "b") == [pytest.approx(2 * 5002229.924)]
    assert of(samples, "throughput", "a") == [8 * 2501200 / 2.000068]
    assert of(samples, "jitter", "b") == [pytest.approx((0.0012632808 + 0.00139243107) / 2000)]
    assert of(samples, "jitter", "a") == [pytest.approx((0.00049072638 + 0.00033941908) / 2000)]
    assert len(of(samples, "throughput", "a", whole=False)) == len(of(samples, "throughput", "b", whole=False)) == 2
    assert {one.node for one in samples} == {"a", "b"}


def test_losses_of_both_ways_are_kept_apart() -> None:
    shell = FakeShell({"ss -H": LISTENING}, {"iperf3": lambda *_: 0})
    data = loaded("udp-bidir")
    lose(data, data["end"]["streams"][2:3], iperf3_report.REVERSE_SUFFIX, 481, 25)
    shell.answers["--client"] = json.dumps(data)
    client, server = two_nodes(shell, FakeEvents())
    options = resolve(iperf3_udp.ABOUT.options, {"bidir": "on"}, "")
    trial = Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints)
    iperf3_udp.execute(trial)
    assert (of(trial.samples, "loss", "a"), of(trial.samples, "loss", "b")) == ([0.25], [0])


def test_what_was_on_its_way_when_the_client_stopped_is_neither_received_nor_lost() -> None:
    data = loaded("udp-reverse-late")
    assert data["end"]["sum"]["packets"] == 1077
    assert data["end"]["sum_received"]["packets"] == 956
    samples = iperf3_udp.parse(data, reverse=True)
    assert of(samples, "throughput") == [8 * 1242800 / 2.000067]
    # The percentage is of the 1077 that were sent.
    lose(data, data["end"]["streams"], "", 239, 23900 / 1077)
    assert of(iperf3_udp.parse(data, reverse=True), "loss") == [0.25]


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


def test_a_rate_of_0_is_as_fast_as_it_goes() -> None:
    _, commands, _ = executed("iperf3-udp", {"rate": "0"}, "udp-unlimited")
    assert commands[-1] == f"{CLIENT} --udp --bitrate 0 --length 1300 --time 2 --get-server-output"
    with pytest.raises(ValueError, match=r'"999" is out of range: allowed is 0, or 1000 to 1000000000000'):
        resolve(iperf3_udp.ABOUT.options, {"rate": "999"}, "")


@pytest.mark.parametrize("failures", range(iperf3.TRIES + 1))
def test_a_test_by_udp_that_did_not_come_to_its_end_is_begun_again(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def measure(*_: object, **__: object) -> dict[str, Any]:
        begun.append("a test")
        if len(begun) <= failures:
            raise WorkloadFailed("the datagram that opens the stream was lost")
        return {}

    trial: Any = None
    monkeypatch.setattr(iperf3, "measure", measure)
    if failures < iperf3.TRIES:
        assert iperf3.measure_udp(trial, 1.0) == {}
    else:
        with pytest.raises(WorkloadFailed, match="was lost"):
            iperf3.measure_udp(trial, 1.0)
    assert len(begun) == min(failures + 1, iperf3.TRIES)


def test_datagrams_that_came_twice_are_not_told_on_the_way_back() -> None:
    data = loaded("udp-reverse")
    scale(2, data["end"]["sum_received"], *counts(data, "sum"))
    assert of(iperf3_udp.parse(data, reverse=True), "throughput") == [pytest.approx(2 * 5002237.427283613)]
