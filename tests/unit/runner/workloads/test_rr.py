import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import edited, of, sound
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import rr
from tunbench.runner.workloads.shared import server_process

LISTENING = "LISTEN 0 128 10.0.2.2:11111 0.0.0.0:*\n"
NAMES = ("tcp", "udp", "tcp-lossy", "udp-lost", "udp-duplicates")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def parsed(name: str, proto: str, most: int = 2000) -> list[Sample]:
    return rr.parse(captured(f"rr-{name}.txt"), captured(f"rr-{name}.csv"), proto, most)


def trial(given: dict[str, str], shell: FakeShell, events: FakeEvents) -> Trial:
    client, server = two_nodes(shell, events)
    return Trial(resolve(rr.ABOUT.options, given, "rr"), client, server, PAIR_UNDERLAYS["ip"].endpoints)


def sockperf(printed: str, log: str = "", status: int | None = 0) -> FakeShell:
    """A shell in which the client of sockperf prints this and writes that log."""

    def answer(call: Call) -> Result:
        if log:
            Path(call.argv[-1]).write_text(log)
        return Result(status, printed, "")

    return FakeShell({"ss -H": LISTENING, "ping-pong": answer})


@pytest.mark.parametrize(("name", "counted", "received"), [("tcp", 109, 198), ("udp", 109, 197), ("tcp-lossy", 2, 4)])
def test_there_is_a_sample_for_each_round_trip_that_counts(name: str, counted: int, received: int) -> None:
    rate, *times = parsed(name, name[:3])
    # The test lasted 1 s.
    assert rate == Sample("transactions", received)
    assert {one.metric for one in times} == {"rtt"}
    assert len(times) == counted
    assert all(0.005 < one.value < 0.5 for one in times)


def test_a_round_trip_has_the_moment_of_its_request() -> None:
    _, first, second, *_ = parsed("tcp", "tcp")
    assert first.at == 0
    # The next request is sent when the reply has come.
    assert second.at == pytest.approx(first.value, abs=1e-6)


def test_few_of_many_round_trips_are_kept_and_the_same_each_time() -> None:
    every, few = parsed("tcp", "tcp")[1:], parsed("tcp", "tcp", most=10)[1:]
    assert len(few) == 10
    assert set(few) < set(every)
    assert few == parsed("tcp", "tcp", most=10)[1:]
    assert [one.at for one in few] == sorted(one.at or 0 for one in few)


def test_a_lost_datagram_has_failed_because_sockperf_waits_for_it() -> None:
    with pytest.raises(WorkloadFailed, match=r"lost after \d+ round trips: over UDP sockperf waits"):
        parsed("udp-lost", "udp")
    with pytest.raises(WorkloadFailed, match="lost after 6 round trips"):
        rr.parse(captured("rr-udp-lost-early.txt"), "", "udp", 10)


def test_tcp_sends_again_and_may_be_waiting_at_the_end() -> None:
    assert parsed("udp-lost", "tcp")


def test_a_reply_that_came_twice_has_failed_because_sockperf_sends_the_next_request_for_it() -> None:
    with pytest.raises(WorkloadFailed, match="10 messages came twice, 0 were lost: over UDP sockperf takes a copy"):
        parsed("udp-duplicates", "udp")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-server", "no result: .*No messages were received from the server. Is the server down"),
        ("refused", "no result: .*Can`t connect socket .errno=111 Connection refused"),
        ("killed", "no result: .*Starting test"),
    ],
)
def test_what_is_no_result_has_failed(name: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        rr.parse(captured(f"rr-{name}.txt"), "", "tcp", 10)


def test_a_test_without_a_round_trip_that_counts_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match=r"counts no round trip of 6: .*No valid observations found"):
        rr.parse(captured("rr-udp-lost-early.txt"), "", "tcp", 10)


def test_a_torn_log_has_failed() -> None:
    text, log = captured("rr-tcp.txt"), captured("rr-tcp.csv")
    # The last line but one is the last round trip: behind it there is a rule alone.
    for end in range(0, log.rindex("\n---"), 7):
        with pytest.raises(WorkloadFailed, match="sockperf counted 109 round trips and logged"):
            rr.parse(text, log[:end], "tcp", 10)


def test_a_log_out_of_order_has_failed() -> None:
    lines = captured("rr-tcp.csv").splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("0, "))
    a, b = lines[first].split(", "), lines[first + 1].split(", ")
    lines[first], lines[first + 1] = ", ".join([a[0], *b[1:]]), ", ".join([b[0], *a[1:]])
    with pytest.raises(WorkloadFailed, match="out of their order"):
        rr.parse(captured("rr-tcp.txt"), "\n".join(lines), "tcp", 10)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("Run] RunTime=1.000", "Run] RunTime=0.001", r"109 round trips in 0\.549 s, of 198 in 0\.001 s altogether"),
        ("ReceivedMessages=198", "ReceivedMessages=1", r"109 round trips in 0\.549 s, of 1 in 1 s altogether"),
        ("RunTime=0.549", "RunTime=99999.000", r"109 round trips in 99999\.000 s, of 198 in 1 s altogether"),
    ],
)
def test_more_that_counts_than_there_is_altogether_has_failed(before: str, after: str, message: str) -> None:
    text = captured("rr-tcp.txt")
    assert before in text
    with pytest.raises(WorkloadFailed, match=message):
        rr.parse(text.replace(before, after), captured("rr-tcp.csv"), "tcp", 10)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2.422953309, 5033.300", "0.000000001, 5033.300"),
        ("2.422953309, 5033.300", "2.422953309, 5.033"),
        ("2.422953309, 5033.300", "2.422955309, 5033.300"),
    ],
)
def test_a_round_trip_that_is_not_the_time_from_its_request_to_its_reply_has_failed(before: str, after: str) -> None:
    log = captured("rr-tcp.csv")
    assert before in log
    with pytest.raises(WorkloadFailed, match=r"logged .* µs from a request at 2\.417920009 s to its reply at"):
        rr.parse(captured("rr-tcp.txt"), log.replace(before, after), "tcp", 10)


@pytest.mark.parametrize("change", ["SentMessages=1;", "RunTime=0.000 sec; Warm", "RunTime=50.001 sec; Warm"])
def test_counts_that_make_no_sense_have_failed(change: str) -> None:
    text = captured("rr-tcp.txt")
    for before in ("SentMessages=199;", "RunTime=1.000 sec; Warm"):
        if before.partition("=")[0] == change.partition("=")[0]:
            text = text.replace(before, change)
    assert text != captured("rr-tcp.txt")
    with pytest.raises(WorkloadFailed, match=r"make no sense|no result"):
        rr.parse(text, captured("rr-tcp.csv"), "tcp", 10)


@given(seed=st.integers(0, 2**32), proto=st.sampled_from(["tcp", "udp"]))
def test_output_that_was_edited_gives_sound_values_or_has_failed(seed: int, proto: str) -> None:
    dice = random.Random(seed)
    name = dice.choice(NAMES)
    text, log = captured(f"rr-{name}.txt"), captured(f"rr-{name}.csv")
    sound(of("rr", lambda changed: rr.parse(changed, log, proto, 50), []), edited(text, dice))
    sound(of("rr", lambda changed: rr.parse(text, changed, proto, 50), []), edited(log, dice))


@pytest.mark.parametrize(("given", "tcp"), [({}, " --tcp"), ({"proto": "udp", "size": "200", "duration": "3"}, "")])
def test_the_commands(given: dict[str, str], tcp: str) -> None:
    name = "tcp" if tcp else "udp"
    shell, events = sockperf(captured(f"rr-{name}.txt"), captured(f"rr-{name}.csv")), FakeEvents()
    done = trial(given, shell, events)
    rr.execute(done)
    log = done.client.home / "rr.csv"
    server, until, client, removal = events.commands
    assert server.startswith(f"ip netns exec b sockperf server{tcp} --ip 10.0.2.2 --port 11111 >>")
    assert f"ss {'-Hltn' if tcp else '-Hlun'} 'sport = :11111'" in until
    size, duration = given.get("size", "64"), given.get("duration", "1")
    assert client == (
        f"ip netns exec a sockperf ping-pong{tcp} --ip 10.0.2.2 --port 11111 --msg-size {size} --time {duration}"
        f" --full-rtt --full-log {log}"
    )
    assert removal == f"ip netns exec a rm -f {log}"
    assert [process.ended for process in shell.started] == ["stopped"]
    assert done.outputs == {"sockperf.txt": captured(f"rr-{name}.txt")}
    assert {one.metric for one in done.samples} == set(rr.ABOUT.metrics)


def test_a_client_that_does_not_end_has_failed_and_leaves_nothing_behind() -> None:
    shell = sockperf("Starting test...", "torn", status=None)
    done = trial({}, shell, FakeEvents())
    with pytest.raises(WorkloadFailed, match="did not end within 20 s after the test's duration"):
        rr.execute(done)
    assert shell.texts[-1].startswith("rm -f ")
    assert [process.ended for process in shell.started] == ["stopped"]
    assert done.outputs == {"sockperf.txt": "Starting test..."}


def test_a_client_that_wrote_no_log_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="Connection refused"):
        rr.execute(trial({}, sockperf(captured("rr-refused.txt")), FakeEvents()))


def test_a_server_that_does_not_listen_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "LISTEN_TIMEOUT", 0.05)
    shell = FakeShell({"ss -H": ""})
    with pytest.raises(WorkloadFailed, match="sockperf server did not listen on udp port 11111"):
        rr.execute(trial({"proto": "udp"}, shell, FakeEvents()))
    assert [process.ended for process in shell.started] == ["stopped"]


def test_ipv6_is_unsupported() -> None:
    shell = FakeShell()
    client, server = two_nodes(shell, FakeEvents())
    overlays = {name: Overlay("wg", f"fd10:0::{number}", 64, 1420) for number, name in enumerate("ab", start=1)}
    with pytest.raises(Unsupported, match=r"sockperf 3\.7 does not know IPv6"):
        rr.execute(Trial(resolve(rr.ABOUT.options, {}, "rr"), client, server, overlays))
    assert not shell.calls


@pytest.mark.parametrize("words", ["[Total Run] RunTime=1.000 sec; ", "[Valid Duration] RunTime=1.000 sec; "])
def test_a_long_line_is_read_in_no_more_time_than_its_length_needs(words: str) -> None:
    began = time.process_time()
    text = f"{words * 6000}\n{captured('rr-tcp.txt')}"
    assert rr.parse(text, captured("rr-tcp.csv"), "tcp", 2000) == parsed("tcp", "tcp")
    assert time.process_time() - began < 0.5
