"""iperf 2: what client and server print, and the commands."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.listener import hears, without_listener
from tunbench.runner import registry
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import iperf2_tcp, iperf2_udp
from tunbench.runner.workloads.shared import arrivals, server_process
from tunbench.runner.workloads.shared.arrivals import Heard
from tunbench.runner.workloads.shared.iperf import iperf2

LISTENING = "LISTEN 0 4096 *:5001 *:*\n"
USUAL = "--port 5001 --enhanced --interval 1 --format b"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def printed(name: str) -> tuple[str, str]:
    return captured(f"iperf2-{name}-client.txt"), captured(f"iperf2-{name}-server.txt")


def whole(samples: list[Sample]) -> dict[str, float]:
    found = [(one.metric, one.value) for one in samples if one.at is None]
    assert len(found) == len(dict(found))
    return dict(found)


def series(samples: list[Sample], metric: str) -> list[tuple[float | None, float]]:
    return [(one.at, one.value) for one in samples if one.metric == metric and one.at is not None]


def test_tcp_has_what_the_server_received_and_the_state_of_the_clients_tcp() -> None:
    samples = iperf2_tcp.parse(*printed("tcp"))
    assert whole(samples) == {"throughput": 9473726, "retransmits": 105}
    assert [at for at, _ in series(samples, "throughput")] == [0, 1, 2]
    assert [rate for _, rate in series(samples, "throughput")] == pytest.approx([12777632, 6139520, 9567130], rel=1e-4)
    assert series(samples, "retransmits") == [(0, 70), (1, 34), (2, 1)]
    assert series(samples, "cwnd") == [(0, 8192), (1, 8192), (2, 19456)]
    assert series(samples, "tcp-rtt") == [(0, 0.010015), (1, 0.010779), (2, 0.010082)]


def test_tcp_by_bytes_may_be_shorter_than_an_interval() -> None:
    samples = iperf2_tcp.parse(*printed("tcp-bytes"))
    assert whole(samples) == {"throughput": 16528812, "retransmits": 6}
    assert series(samples, "retransmits") == [(0, 6)]
    [(at, rate)] = series(samples, "throughput")
    assert at == 0
    assert rate == pytest.approx(16528812, rel=1e-3)


def test_streams_are_added_up_here_because_iperfs_own_sums_are_broken() -> None:
    client, server = printed("tcp-parallel")
    assert "[SUM] 0.0000--1767225610.7182 sec" in client
    samples = iperf2_tcp.parse(client, server, 3)
    # The third stream was the last to end.
    assert whole(samples) == {"throughput": pytest.approx(3 * 6376268), "retransmits": 0}
    assert series(samples, "throughput")[:2] == [(0, 8 * (795012 + 794316 + 795012)), (1, 8 * 2392096)]
    assert Counter(one.at for one in samples if one.metric == "cwnd") == {0: 3, 1: 3, 2: 3}


@pytest.mark.parametrize("streams", [1, 2, 4])
def test_every_stream_must_have_its_total(streams: int) -> None:
    with pytest.raises(WorkloadFailed, match=f"the iperf client printed no total for each of {streams} streams"):
        iperf2_tcp.parse(*printed("tcp-parallel"), streams)


def test_bytes_that_did_not_arrive_are_no_result() -> None:
    with pytest.raises(WorkloadFailed, match="iperf sent 5015932 B, and 3714180 B arrived"):
        iperf2_tcp.parse(*printed("tcp-pause"))


def test_a_server_that_was_not_there_has_failed() -> None:
    refused = captured("iperf2-tcp-refused-client.txt")
    with pytest.raises(WorkloadFailed, match="no total for each of 1 streams: 'tcp connect failed: Connection refused"):
        iperf2_tcp.parse(refused, "")
    with pytest.raises(WorkloadFailed, match="the iperf server printed no total for each of 1 streams: ''"):
        iperf2_udp.parse(captured("iperf2-udp-refused-client.txt"), "")


def test_a_connection_that_was_reset_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="iperf sent 6064283 B, and 2370436 B arrived"):
        iperf2_tcp.parse(*printed("tcp-reset"))


def test_a_state_of_tcp_that_is_missing_is_no_result() -> None:
    client, server = printed("tcp-bytes")
    assert whole(iperf2_tcp.parse(client.replace(" 16K/", " NA/"), server))["retransmits"] == 6
    with pytest.raises(WorkloadFailed, match="printed no state of TCP"):
        iperf2_tcp.parse(client.replace(" 16K/", " ?/"), server)


def test_udp_has_loss_jitter_and_order_as_the_server_saw_them() -> None:
    samples = iperf2_udp.parse(*printed("udp"))
    expected = {"throughput": 19501214, "jitter": 0.002263, "loss": 85 / 3850, "out-of-order": 2659}
    assert whole(samples) == pytest.approx(expected)
    assert series(samples, "throughput") == [(0, 19468800), (1, 19562400)]


def test_what_its_end_has_overtaken_is_not_lost() -> None:
    heard = Heard(tail=[(40000, 3848), (40000, -3850), (40000, 3849), (40000, 3847), (40000, -3851)])
    assert whole(iperf2_udp.parse(*printed("udp"), heard=heard))["loss"] == 83 / 3850


def test_an_end_of_a_stream_that_is_sent_again_is_no_lost_datagram() -> None:
    found = whole(iperf2_udp.parse(*printed("udp-end-lost")))
    assert found["loss"] == 14 / 771


def test_the_streams_of_udp_are_added_up() -> None:
    samples = iperf2_udp.parse(*printed("udp-parallel"), 3)
    found = whole(samples)
    assert found["loss"] == 25 / 588
    assert found["jitter"] == pytest.approx((0.435 + 0.435 + 0.054) / 3000)
    assert found["throughput"] == pytest.approx(8 * 731900 / 2.0082, rel=1e-4)
    assert series(samples, "throughput") == [(0, 8 * 366600), (1, 8 * 361400)]


def test_datagrams_that_came_twice_count_as_out_of_order() -> None:
    found = whole(iperf2_udp.parse(*printed("udp-duplicates")))
    assert (found["loss"], found["out-of-order"]) == (0, 9)


def test_more_datagrams_out_of_order_than_arrived_have_failed() -> None:
    client, server = printed("udp")
    late = "2659 datagrams received out-of-order"
    assert whole(iperf2_udp.parse(client, server.replace(late, f"3765{late[4:]}")))["out-of-order"] == 3765
    with pytest.raises(WorkloadFailed, match="counted 3766 datagrams out of order of 3765 that arrived"):
        iperf2_udp.parse(client, server.replace(late, f"3766{late[4:]}"))


@pytest.mark.parametrize("name", ["udp-bytes", "udp-ipv6"])
def test_udp_by_bytes_and_over_ipv6_is_read(name: str) -> None:
    samples = iperf2_udp.parse(*printed(name))
    assert whole(samples)["throughput"] == pytest.approx(2e7, rel=0.001)
    assert len(series(samples, "throughput")) == 1


def test_a_path_that_was_cut_has_failed_because_the_end_is_not_known_to_the_server() -> None:
    with pytest.raises(WorkloadFailed, match="iperf counted 0 lost of 146 datagrams, and had sent 292"):
        iperf2_udp.parse(*printed("udp-cut"))


@pytest.mark.parametrize(("name", "parse"), [("tcp", iperf2_tcp.parse), ("udp", iperf2_udp.parse)])
@pytest.mark.parametrize("which", [0, 1])
def test_what_was_torn_has_failed(name: str, parse: Callable[[str, str], list[Sample]], which: int) -> None:
    texts = printed(name)
    # The last thing that is read: of UDP's client, how many datagrams it sent.
    mark = {("tcp", 0): " us  117", ("tcp", 1): "bits/sec  434=", ("udp", 0): " datagrams\n", ("udp", 1): "85/3850 ("}
    for end in range(texts[which].rindex(mark[name, which])):
        torn = list(texts)
        torn[which] = texts[which][:end]
        with pytest.raises(WorkloadFailed):
            parse(*torn)


def test_a_rate_that_does_not_fit_the_bytes_and_the_time_has_failed() -> None:
    client, server = printed("tcp-bytes")
    with pytest.raises(WorkloadFailed, match=r"the iperf server printed 300000 B in 0.1452 s as 1.65288e\+06 bit/s"):
        iperf2_tcp.parse(client, server.replace("16528812 bits", "1652881 bits"))


def executed(
    name: str, given: dict[str, str], prints: str, client: Result | None = None, family: int = 4
) -> tuple[Trial, list[str], FakeShell]:
    """Executes; the server has printed its report when it is started."""
    texts = printed(prints)
    answers: dict[str, Answer] = {"ss -H": LISTENING, "--client": client or texts[0], "sysctl": "reno cubic\n"}

    def begin(call: Call, log: Path) -> None:
        log.write_text(texts[1])

    shell, events = FakeShell(answers, {**hears(), "iperf --server": begin}), FakeEvents()
    here, there = two_nodes(shell, events)
    module = registry.workload(name)
    overlays = PAIR_UNDERLAYS["ip"].endpoints
    if family == 6:
        overlays = {node: Overlay("wireguard-0", f"fd10::{at}", 64, 1400) for at, node in enumerate("ab", start=1)}
    trial = Trial(resolve(module.ABOUT.options, given, name), here, there, overlays)
    try:
        module.execute(trial)
    except WorkloadFailed as reason:
        trial.outputs["reason"] = str(reason)
    return trial, without_listener(events.commands), shell


@pytest.mark.parametrize(
    ("given", "common", "arguments"),
    [
        ({}, "", "--time 2 --parallel 1"),
        ({"bytes": "1MB", "duration": "9"}, "", "--num 1000000 --parallel 1"),
        ({"window": "64KiB", "length": "1000"}, "--window 65536 ", "--time 2 --parallel 1 --len 1000"),
        ({"congestion": "reno"}, "", "--time 2 --parallel 1 --tcp-congestion reno"),
        ({"mss": "100", "length": "1000"}, "", "--time 2 --parallel 1 --mss 100 --len 1000"),
    ],
)
def test_the_commands_of_tcp(given: dict[str, str], common: str, arguments: str) -> None:
    trial, commands, shell = executed("iperf2-tcp", given, "tcp")
    assert re.fullmatch(rf"ip netns exec b iperf --server {common}{USUAL} >>\S+/b/iperf-5001\.log 2>&1 &", commands[0])
    assert commands[1:] == [
        "until ip netns exec b ss -Hltn 'sport = :5001' | grep -q .; do sleep 0.02; done",
        f"ip netns exec a iperf --client 10.0.2.2 {common}{USUAL} {arguments}",
    ]
    assert shell.started[0].ended == "killed"
    assert trial.outputs == dict(zip(("iperf-client.txt", "iperf-server.txt"), printed("tcp"), strict=True))
    assert whole(trial.samples)["retransmits"] == 105


def test_the_commands_of_udp() -> None:
    trial, commands, _ = executed("iperf2-udp", {"rate": "20M", "length": "1300", "window": "1MiB"}, "udp")
    common = "--udp --len 1300 --window 1048576"
    assert commands[0].startswith(f"ip netns exec b iperf --server {common} {USUAL} >>")
    assert commands[1] == "until ip netns exec b ss -Hlun 'sport = :5001' | grep -q .; do sleep 0.02; done"
    assert commands[2] == (
        f"ip netns exec a iperf --client 10.0.2.2 {common} {USUAL} --bandwidth 20000000 --time 2 --parallel 1"
    )
    assert whole(trial.samples)["out-of-order"] == 2659


def test_over_ipv6_both_are_told() -> None:
    _, commands, _ = executed("iperf2-tcp", {}, "tcp", family=6)
    assert commands[0].startswith(f"ip netns exec b iperf --server --ipv6_domain {USUAL} >>")
    assert commands[2].startswith(f"ip netns exec a iperf --client fd10::2 --ipv6_domain {USUAL} ")


@pytest.mark.parametrize(
    ("name", "given", "limit"),
    [
        ("iperf2-tcp", {"duration": "3"}, 3),
        ("iperf2-tcp", {"bytes": "1MB", "parallel": "2"}, 160),
        ("iperf2-udp", {"bytes": "1MB", "rate": "20k"}, 800),
    ],
)
def test_a_test_may_take_its_time_and_two_minutes(
    name: str, given: dict[str, str], limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The captured server has seen one connection alone, and is not waited for.
    monkeypatch.setattr(iperf2, "wait_until", lambda *_: True)
    _, _, shell = executed(name, given, name.removeprefix("iperf2-"))
    assert next(call.timeout for call in shell.calls if "--client" in call.argv) == limit + 120


def test_a_server_that_does_not_listen_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "LISTEN_TIMEOUT", 0.05)
    monkeypatch.setitem(globals(), "LISTENING", "")
    trial, _, shell = executed("iperf2-tcp", {}, "tcp")
    assert trial.outputs["reason"] == "the iperf server did not listen on tcp port 5001 in 0.05 s"
    assert shell.started[0].ended == "killed"


def test_of_a_client_that_does_not_end_the_seconds_before_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, _, shell = executed("iperf2-tcp", {"bytes": "1MB"}, "tcp", Result(None, "", ""))
    assert trial.outputs["reason"].startswith("iperf did not end within 120 s")
    assert [one.at for one in trial.samples] == [0, 1, 2]
    assert shell.started[0].ended == "killed"


def test_the_server_may_need_longer_than_the_client_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iperf2, "CLIENT_GRACE", 0.05)
    trial, _, _ = executed("iperf2-tcp", {}, "tcp-reset")
    assert trial.outputs["reason"].startswith("iperf sent 6064283 B, and 2370436 B")


def test_what_an_earlier_server_printed_is_not_read(home: Path) -> None:
    (home / "b" / "iperf-5001.log").write_text("[  1] 0.0000-9.0000 sec  9 Bytes  8 bits/sec\n")
    trial, _, _ = executed("iperf2-tcp", {}, "tcp")
    assert whole(trial.samples)["throughput"] == 9473726


@pytest.mark.parametrize("name", ["iperf2-tcp", "iperf2-udp"])
def test_every_sample_has_a_metric_that_was_declared(name: str) -> None:
    module = registry.workload(name)
    found = {one.metric for one in module.parse(*printed(name.removeprefix("iperf2-")))}
    assert found == set(module.ABOUT.metrics) - set(arrivals.METRICS)


@pytest.mark.parametrize("size", ["1", "999"])
def test_fewer_bytes_than_iperf_can_send_are_refused(size: str) -> None:
    with pytest.raises(ValueError, match="out of range: allowed is 0, or 1000 to"):
        resolve(iperf2_tcp.ABOUT.options, {"bytes": size}, "")


def lacking(text: str, line: str) -> str:
    """The text without the one line that has this in it."""
    [found] = [one for one in text.splitlines(keepends=True) if line in one]
    return text.replace(found, "")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text * 2, r"an interval from 0 to 2\.3244 s behind one until 2\.3244 s"),
        (lambda text: text.replace("767440 Bytes", "76744000 Bytes"), r"7\.6744e\+07 B in 1 s as 6\.13952e\+06 bit/s"),
        (
            lambda text: text.replace("1.0000-2.0000 sec  767440", "0.5000-0.7000 sec  153488"),
            r"an interval from 0\.5 to 0\.7 s behind one until 1 s",
        ),
        (lambda text: lacking(text, "0.0000-1.0000"), "an interval from 1 to 2 s behind one until 0 s"),
        (lambda text: lacking(text, "1.0000-2.0000"), r"an interval from 2 to 2\.3244 s behind one until 1 s"),
        (lambda text: lacking(text, "2.0000-2.3244"), r"no interval of the last 0\.3244 s, with 387928 B"),
        (
            lambda text: text.replace("767440 Bytes  6139520", "767441 Bytes  6139528"),
            "no interval of the last 0 s, with -1 B",
        ),
    ],
)
def test_intervals_that_contradict_each_other_or_the_total_have_failed(
    spoil: Callable[[str], str], message: str
) -> None:
    client, server = printed("tcp")
    with pytest.raises(WorkloadFailed, match=f"the iperf server printed {message}"):
        iperf2_tcp.parse(client, spoil(server))


def test_an_interval_that_is_lacking_at_the_client_has_failed() -> None:
    client, server = printed("tcp")
    with pytest.raises(WorkloadFailed, match=r"the iperf client printed an interval from 2 to 2\.3331 s behind one"):
        iperf2_tcp.parse(lacking(client, "1.0000-2.0000"), server)


def test_a_short_interval_at_the_end_is_not_printed_and_none_without_bytes() -> None:
    client, server = printed("tcp")
    short = lacking(server.replace("2.3244", "2.2500").replace("9473726", "9787000"), "2.0000-2.2500")
    assert len(series(iperf2_tcp.parse(client, short), "throughput")) == 2
    late = server.replace("0.0000-2.3244", "0.0000-3.9000").replace("9473726", "5646302")
    assert whole(iperf2_tcp.parse(client, late))["throughput"] == 5646302


def test_a_total_of_fewer_bytes_than_its_intervals_has_failed() -> None:
    client, server = printed("udp")
    with pytest.raises(WorkloadFailed, match=r"no interval of the last 0\.0079 s, with -4\.38945e\+06 B"):
        iperf2_udp.parse(client, server.replace("4894500 Bytes  19501214", "489450 Bytes  1950121"))


def test_a_loss_that_is_not_its_share_has_failed() -> None:
    client, server = printed("udp")
    with pytest.raises(WorkloadFailed, match=r"counted 850 lost of 3850 datagrams as 2\.2 %"):
        iperf2_udp.parse(client, server.replace("85/3850", "850/3850"))
