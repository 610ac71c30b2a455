"""What the iperf3 workloads can do beyond one TCP stream there, or one UDP stream there."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import Answer, Begin, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.iperf3_reports import counts, loaded, lose, of, scale
from tests.helpers.listener import hears, without_listener
from tunbench.runner import registry
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import iperf3_tcp, iperf3_udp
from tunbench.runner.workloads.shared.arrivals import Expected, Heard
from tunbench.runner.workloads.shared.iperf import iperf3, iperf3_report

CLIENT = "ip netns exec a iperf3 --client 10.0.2.2 --port 5201 --json"
BEGINS: dict[str, Begin] = {**hears(), "iperf3": lambda *_: 0}
LISTENING = "LISTEN 0 4096 *:5201 *:*\n"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def executed(name: str, given: dict[str, str], output: str, **others: Answer) -> tuple[Trial, list[str], FakeShell]:
    answers: dict[str, Answer] = {**others, "ss -H": LISTENING, "--client": captured(f"iperf3-{output}.json")}
    shell, events = FakeShell(answers, BEGINS), FakeEvents()
    client, server = two_nodes(shell, events)
    module = registry.workload(name)
    trial = Trial(resolve(module.ABOUT.options, given, name), client, server, PAIR_UNDERLAYS["ip"].endpoints)
    module.execute(trial)
    return trial, without_listener(events.commands), shell


def test_the_client_tells_the_state_of_its_tcp_for_each_stream_and_second() -> None:
    samples = iperf3_tcp.parse(loaded("tcp-bbr"))
    assert samples == [
        Sample("throughput", 4523332238.78269),
        Sample("sent", 4524553589.67744),
        Sample("retransmits", 0),
        Sample("resent", 0),
        Sample("throughput", 4524553640.211008, 0),
        Sample("retransmits", 0, 0),
        Sample("cwnd", 309872, 0),
        Sample("tcp-rtt", 36e-6, 0),
    ]


@pytest.mark.parametrize(("name", "output"), [("iperf3-tcp", "tcp"), ("iperf3-udp", "udp")])
@pytest.mark.parametrize(("dscp", "words"), [("46", ["--dscp", "46"]), ("0", [])])
def test_the_client_is_told_the_dscp(name: str, output: str, dscp: str, words: list[str]) -> None:
    # The server answers in kind: it is told nothing.
    _, commands, _ = executed(name, {"dscp": dscp}, output)
    told = [one.split() for one in commands if "--dscp" in one]
    assert [argv[argv.index("--dscp") : argv.index("--dscp") + 2] for argv in told] == ([words] if words else [])
    assert all("--client" in argv for argv in told)


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


def test_segments_sent_again_are_a_share_of_all_that_were_sent() -> None:
    data = loaded("tcp-reverse")
    sent, ends = data["end"]["sum_sent"], data["end"]["streams"]
    for one in (sent, *(stream["sender"] for stream in ends)):
        one["retransmits"] = 100 if one is sent else 100 / len(ends)
    again = of(iperf3_tcp.parse(data), "resent", "")
    assert again == [100 / (math.ceil(sent["bytes"] / 1448) + 100)]
    # Smaller segments are more of them.
    data["start"]["tcp_mss"] = 536
    assert of(iperf3_tcp.parse(data), "resent", "") == [100 / (math.ceil(sent["bytes"] / 536) + 100)]
    data["start"]["tcp_mss"] = 0
    with pytest.raises(WorkloadFailed, match="iperf3 told of segments of 0 B"):
        iperf3_tcp.parse(data)


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
    shell = FakeShell({"ss -H": LISTENING}, BEGINS)
    data = loaded("udp-bidir")
    lose(data, data["end"]["streams"][2:3], iperf3_report.REVERSE_SUFFIX, 481, 25)
    shell.answers["--client"] = json.dumps(data)
    client, server = two_nodes(shell, FakeEvents())
    options = resolve(iperf3_udp.ABOUT.options, {"bidir": "on"}, "")
    trial = Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints)
    iperf3_udp.execute(trial)
    assert (of(trial.samples, "loss", "a"), of(trial.samples, "loss", "b")) == ([0.25], [0])


def test_what_was_heard_when_the_client_had_stopped_is_not_lost() -> None:
    data = loaded("udp-reverse-late")
    assert data["end"]["sum"]["packets"] == 1077
    assert data["end"]["sum_received"]["packets"] == 956
    heard = {"a": Heard(tail=[(35197, number) for number in range(900, 1077)])}
    samples = iperf3_udp.parse(data, reverse=True, heard=heard)
    assert of(samples, "throughput") == [8 * 1242800 / 2.000067]
    assert of(samples, "loss") == [1 / 1077]
    assert of(iperf3_udp.parse(data, reverse=True, heard={"a": heard["a"]._replace(early=1)}), "loss") == [0]
    # The percentage is of the 1077 that were sent.
    lose(data, data["end"]["streams"], "", 239, 23900 / 1077)
    assert of(iperf3_udp.parse(data, reverse=True, heard=heard), "loss") == [240 / 1077]


def test_a_rate_of_0_is_as_fast_as_it_goes() -> None:
    _, commands, shell = executed("iperf3-udp", {"rate": "0"}, "udp-unlimited")
    assert [text for text in shell.texts if " 4 eth0 1 5201 iperf3 1300 0 1.9 " in text], "no share is heard of"
    assert commands[-1] == f"{CLIENT} --udp --bitrate 0 --length 1300 --time 2 --get-server-output"
    with pytest.raises(ValueError, match=r'"999" is out of range: allowed is 0, or 1000 to 1000000000000'):
        resolve(iperf3_udp.ABOUT.options, {"rate": "999"}, "")


def test_buffers_of_udp_are_what_is_asked_for() -> None:
    _, commands, _ = executed("iperf3-udp", {"rate": "0", "window": "2MB"}, "udp-unlimited")
    assert " --window 2000000 " in commands[-1]


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

    client, server = two_nodes(FakeShell({}, BEGINS), FakeEvents())
    options = resolve(iperf3_udp.ABOUT.options, {}, "")
    trial = Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints)
    monkeypatch.setattr(iperf3, "measure", measure)
    if failures < iperf3.TRIES:
        assert iperf3.measure_udp(trial, Expected(1.0), [server]) == ({}, {"b": Heard([], [])})
    else:
        with pytest.raises(WorkloadFailed, match="was lost"):
            iperf3.measure_udp(trial, Expected(1.0), [server])
    assert len(begun) == min(failures + 1, iperf3.TRIES)


def test_datagrams_that_came_twice_are_not_told_on_the_way_back() -> None:
    data = loaded("udp-reverse")
    scale(2, data["end"]["sum_received"], *counts(data, "sum"))
    assert of(iperf3_udp.parse(data, reverse=True), "throughput") == [pytest.approx(2 * 5002237.427283613)]
