import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import Answer, Begin, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.listener import hears, without_listener
from tunbench.runner import registry
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import iperf3_tcp, iperf3_udp, ping
from tunbench.runner.workloads.shared import arrivals, server_process
from tunbench.runner.workloads.shared.iperf import iperf3_report


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def values(samples: list[Sample], metric: str) -> list[float]:
    return [one.value for one in samples if one.metric == metric]


def moments(samples: list[Sample]) -> list[float]:
    return [one.at for one in samples if one.at is not None]


def test_a_clean_ping_has_a_round_trip_time_for_each_reply() -> None:
    samples = ping.parse(captured("ping-clean.txt"), 0.01)
    assert len(values(samples, "rtt")) == 5
    assert all(0 < rtt < 0.001 for rtt in values(samples, "rtt"))
    assert moments(samples) == [0.0, 0.01, 0.02, 0.03, 0.04]
    assert (values(samples, "loss"), values(samples, "duplicates")) == ([0], [0])


def test_losses_and_duplicates_of_a_ping_are_counted_and_a_duplicate_is_no_round_trip() -> None:
    samples = ping.parse(captured("ping-loss-dup.txt"), 0.01)
    assert len(values(samples, "rtt")) == 24
    assert values(samples, "rtt")[:2] == pytest.approx([0.00167, 0.00215])
    assert moments(samples)[4:8] == [0.05, 0.06, 0.07, 0.08]
    assert values(samples, "loss") == [pytest.approx(0.2)]
    assert values(samples, "duplicates") == [3]


def test_a_ping_without_any_reply_is_a_loss_of_everything() -> None:
    for name in ("ping-all-lost.txt", "ping-gateway-unreachable.txt"):
        samples = ping.parse(captured(name), 0.01)
        assert [(one.metric, one.value) for one in samples] == [("loss", 1.0), ("duplicates", 0)]


def test_replies_may_come_late_and_out_of_order() -> None:
    samples = ping.parse(captured("ping-slow.txt"), 0.05)
    assert values(samples, "rtt")[:2] == [0.813, 1.5]
    assert sorted(moments(samples)) == pytest.approx([0.05 * number for number in range(8)])
    assert moments(samples)[0] == 0.35


def test_a_reply_to_what_was_never_sent_was_corrupted_and_is_no_sample() -> None:
    text = captured("ping-corrupt.txt")
    assert "icmp_seq=16413" in text
    samples = ping.parse(text, 0.01)
    assert len(values(samples, "rtt")) == 23
    assert max(moments(samples)) == pytest.approx(0.29)
    assert values(samples, "loss") == [pytest.approx(0.2)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ping-unreachable.txt", r"ping printed no summary: 'ping: connect: Network is unreachable'"),
        ("ping-small.txt", "ping counted 3 replies and printed 0"),
    ],
)
def test_what_is_no_result_of_ping_has_failed(name: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        ping.parse(captured(name), 0.01)


def test_a_ping_that_was_torn_has_failed() -> None:
    text = captured("ping-loss-dup.txt")
    for end in range(text.index(" received")):
        with pytest.raises(WorkloadFailed, match="no summary"):
            ping.parse(text[:end], 0.01)


def test_a_ping_whose_middle_is_missing_has_failed() -> None:
    lines = captured("ping-clean.txt").splitlines(keepends=True)
    with pytest.raises(WorkloadFailed, match="counted 5 replies and printed 4"):
        ping.parse("".join(lines[:2] + lines[3:]), 0.01)


@pytest.mark.parametrize(
    "summary",
    [
        "0 packets transmitted, 0 received",
        "1 packets transmitted, 2 received",
        "5 packets transmitted, 5 received",
        "50 packets transmitted, 5 received, 0% packet loss, time 60ms",
        "5 packets transmitted, 5 received, 90% packet loss, time 60ms",
        "3 packets transmitted, 2 received, 33.334% packet loss, time 60ms",
    ],
)
def test_a_summary_that_makes_no_sense_has_failed(summary: str) -> None:
    with pytest.raises(WorkloadFailed, match="makes no sense"):
        ping.parse(summary, 0.01)


@pytest.mark.parametrize(
    ("sent", "received", "percentage"),
    [(3, 2, "33.3333"), (3, 1, "66.6667"), (7, 1, "85.7143"), (1000, 999, "0.1"), (10_000_000, 9_999_999, "1e-05")],
)
def test_six_digits_of_a_loss_are_enough(sent: int, received: int, percentage: str) -> None:
    # As far as the replies, which are missing here.
    with pytest.raises(WorkloadFailed, match=f"counted {received} replies and printed 0"):
        ping.parse(f"{sent} packets transmitted, {received} received, {percentage}% packet loss, time 60ms", 0.01)


@pytest.mark.parametrize("sent", ["-5", "1.5", "9" * 24, "x5"])
def test_a_summary_that_does_not_begin_its_line_is_none(sent: str) -> None:
    with pytest.raises(WorkloadFailed, match="ping printed no summary"):
        ping.parse(captured("ping-clean.txt").replace("5 packets", f"{sent} packets"), 0.01)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("time=0.015", "time=900000", r"ping printed 0\.011 to 900000 ms and summed up 0\.011 to 0\.031 ms"),
        ("time=0.031", "time=0.030", r"ping printed 0\.011 to 0\.03 ms and summed up 0\.011 to 0\.031 ms"),
        ("= 0.011/", "= 0.001/", r"ping printed 0\.011 to 0\.031 ms and summed up 0\.001 to 0\.031 ms"),
        ("= 0.011/0.015/0.031/", "= 900.000/0.100/0.050/", "summary makes no sense: rtt min/avg/max/mdev = 900"),
        ("\nrtt ", "\nno ", "ping summed up none of 5 round-trip times"),
    ],
)
def test_replies_that_contradict_what_ping_sums_up_have_failed(before: str, after: str, message: str) -> None:
    text = captured("ping-clean.txt")
    assert before in text
    with pytest.raises(WorkloadFailed, match=message):
        ping.parse(text.replace(before, after), 0.01)


def test_replies_that_have_mostly_the_same_number_have_failed() -> None:
    text = captured("ping-clean.txt")
    with pytest.raises(WorkloadFailed, match="ping printed 5 first replies to 1 requests"):
        ping.parse(re.sub(r"icmp_seq=\d", "icmp_seq=1", text), 0.01)
    # The number of a reply that was corrupted may be that of another one.
    assert len(values(ping.parse(text.replace("icmp_seq=2", "icmp_seq=3"), 0.01), "rtt")) == 5


def test_the_size_leaves_room_for_the_time_of_sending() -> None:
    with pytest.raises(ValueError, match="out of range"):
        resolve(ping.ABOUT.options, {"size": "15"}, "ping")


def test_tcp_has_a_throughput_for_the_whole_and_for_each_second() -> None:
    samples = iperf3_tcp.parse(iperf3_report.load(captured("iperf3-tcp.json")))
    # The test had two streams.
    of_each = {"throughput": 4, "sent": 1, "retransmits": 4, "resent": 1, "cwnd": 6, "tcp-rtt": 6}
    assert Counter(one.metric for one in samples) == of_each
    assert sorted(set(moments(samples))) == pytest.approx([0, 1, 2], abs=0.01)
    assert all(1e9 < value < 1e11 for value in values(samples, "throughput"))


def test_tcp_in_reverse_is_what_the_client_received() -> None:
    data = iperf3_report.load(captured("iperf3-tcp-reverse.json"))
    samples = iperf3_tcp.parse(data)
    sums = [Sample("throughput", 13525991738.338728), Sample("sent", 13539166178.473555), Sample("retransmits", 0)]
    assert samples[:3] == sums
    assert data["start"]["test_start"]["reverse"] == 1


def test_udp_has_loss_jitter_and_order_as_the_server_saw_them() -> None:
    samples = {one.metric: one.value for one in iperf3_udp.parse(iperf3_report.load(captured("iperf3-udp.json")))}
    # One of them is missing behind the last one that the server saw.
    assert samples["loss"] == pytest.approx(111 / 3845)
    assert samples["jitter"] == pytest.approx(0.0020255632)
    assert samples["out-of-order"] == 2295
    assert samples["throughput"] == pytest.approx(19993340.2 * (1 - 111 / 3845))


def test_udp_without_the_servers_report_has_failed() -> None:
    data = iperf3_report.load(captured("iperf3-udp.json"))
    del data["server_output_json"]
    with pytest.raises(WorkloadFailed, match=r"no list at server_output_json\.end\.streams"):
        iperf3_udp.parse(data)


@pytest.mark.parametrize(("packets", "lost"), [(0, 0), (3, 4)])
def test_impossible_counts_of_datagrams_have_failed(packets: int, lost: int) -> None:
    data = iperf3_report.load(captured("iperf3-udp.json"))
    data["end"]["sum"] |= {"packets": packets, "lost_packets": lost}
    with pytest.raises(WorkloadFailed, match=f"iperf3 counted {lost} lost of {packets} datagrams"):
        iperf3_udp.parse(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (captured("iperf3-connect.json"), "iperf3: unable to connect to server: Connection refused"),
        (captured("iperf3-killed.json"), "iperf3: interrupt - the client has terminated"),
        (captured("iperf3-tcp.json")[:-3], "iperf3 printed no JSON"),
        ("", "iperf3 printed no JSON"),
        ("[" * 100_000, "iperf3 printed no JSON"),
        ("[]", "is no object"),
    ],
)
def test_what_is_no_result_of_iperf3_has_failed(text: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        iperf3_report.load(text)


@pytest.mark.parametrize("value", [True, None, "1", -1, float("nan"), float("inf"), 10**400, [], {}])
def test_what_is_no_sound_number_has_failed(value: Any) -> None:
    with pytest.raises(WorkloadFailed, match=r"no sound number at end\.sum: "):
        iperf3_report.number({"end": {"sum": value}}, "end", "sum")
    with pytest.raises(WorkloadFailed, match=r"no sound number at end\.sum\.deeper: None"):
        iperf3_report.number({"end": {"sum": value}}, "end", "sum", "deeper")


def executed(name: str, given: dict[str, str], answers: dict[str, Answer]) -> tuple[Trial, list[str], FakeShell]:
    shell, events = FakeShell(answers, {**hears(), **ONE_OFF}), FakeEvents()
    client, server = two_nodes(shell, events)
    module = registry.workload(name)
    trial = Trial(resolve(module.ABOUT.options, given, name), client, server, PAIR_UNDERLAYS["ip"].endpoints)
    module.execute(trial)
    return trial, without_listener(events.commands), shell


ONE_OFF: dict[str, Begin] = {"iperf3": lambda *_: 0}
"""A server of one test has ended when its client has."""

LISTENING = "LISTEN 0 4096 *:5201 *:*\n"
SERVER = "ip netns exec b iperf3 --server --one-off --port 5201"
CLIENT = "ip netns exec a iperf3 --client 10.0.2.2 --port 5201 --json"


def test_the_command_of_ping() -> None:
    given = {"count": "5", "interval": "10ms", "size": "1000"}
    trial, commands, shell = executed("ping", given, {"ping": captured("ping-clean.txt")})
    assert commands == ["ip netns exec a ping -n -c 5 -i 0.01 -s 1000 -W 5 10.0.2.2"]
    # Five intervals of 10 ms, each up to 20 ms late, and 15 s.
    assert shell.calls[0].timeout == pytest.approx(5 * 0.03 + 15)
    assert trial.outputs == {"ping.txt": captured("ping-clean.txt")}
    assert len(trial.samples) == 7


def test_what_ping_says_of_a_failure_is_the_reason() -> None:
    with pytest.raises(WorkloadFailed, match="Network is unreachable"):
        executed("ping", {}, {"ping": Result(2, "", captured("ping-unreachable.txt"))})


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({}, "--time 2 --parallel 1"),
        (
            {"duration": "3", "parallel": "4", "reverse": "on", "mss": "1200"},
            "--time 3 --parallel 4 --reverse --set-mss 1200",
        ),
    ],
)
def test_the_commands_of_tcp(given: dict[str, str], arguments: str) -> None:
    answers: dict[str, Answer] = {"ss -H": LISTENING, "--client": captured("iperf3-tcp.json")}
    trial, commands, shell = executed("iperf3-tcp", given, answers)
    assert commands[0].startswith(f"{SERVER} >>")
    assert commands[1:] == [
        "until ip netns exec b ss -Hltn 'sport = :5201' | grep -q .; do sleep 0.02; done",
        f"{CLIENT} {arguments}",
    ]
    assert shell.started[0].ended == "stopped"
    assert trial.outputs == {"iperf3.json": captured("iperf3-tcp.json")}


def test_the_commands_of_udp() -> None:
    answers: dict[str, Answer] = {"ss -H": LISTENING, "--client": captured("iperf3-udp.json")}
    _, commands, _ = executed("iperf3-udp", {"rate": "20M", "length": "1300", "duration": "2"}, answers)
    assert commands[0].startswith(f"{SERVER} --json >>")
    assert commands[2] == f"{CLIENT} --udp --bitrate 20000000 --length 1300 --time 2 --get-server-output"


def test_a_server_that_does_not_listen_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "LISTEN_TIMEOUT", 0.05)
    with pytest.raises(WorkloadFailed, match="did not listen on tcp port 5201"):
        executed("iperf3-tcp", {}, {"ss -H": ""})


def test_a_client_that_does_not_end_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="iperf3 did not end within 20 s after the test's duration"):
        executed("iperf3-tcp", {}, {"ss -H": LISTENING, "--client": Result(None, "{", "")})


def test_raw_output_is_kept_of_a_failure_too() -> None:
    shell = FakeShell(
        {"ss -H": LISTENING, "--client": Result(1, captured("iperf3-connect.json"), "iperf3: error\n")}, ONE_OFF
    )
    client, server = two_nodes(shell, FakeEvents())
    trial = Trial(resolve(iperf3_tcp.ABOUT.options, {}, "iperf3-tcp"), client, server, PAIR_UNDERLAYS["ip"].endpoints)
    with pytest.raises(WorkloadFailed):
        iperf3_tcp.execute(trial)
    assert trial.outputs == {"iperf3.json": captured("iperf3-connect.json"), "iperf3.stderr": "iperf3: error\n"}
    assert [process.ended for process in shell.started] == ["stopped"]


@pytest.mark.parametrize("name", ["ping", "iperf3-tcp", "iperf3-udp"])
def test_every_sample_has_a_metric_that_was_declared(name: str) -> None:
    module = registry.workload(name)
    text = captured({"ping": "ping-loss-dup.txt"}.get(name, f"{name}.json"))
    samples = module.parse(text, 0.01, True) if name == "ping" else module.parse(iperf3_report.load(text))
    assert {one.metric for one in samples} == set(module.ABOUT.metrics) - set(arrivals.METRICS)
