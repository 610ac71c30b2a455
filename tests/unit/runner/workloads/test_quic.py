"""Downloads over QUIC: what clients say and when, what arrives, and what is lost."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tunbench.runner import invocation
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import LocalShell, Result
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import quic
from tunbench.runner.workloads.quic import line_moments, programs, report
from tunbench.runner.workloads.quic.programs import IMPLEMENTATIONS

CONNECTIONS, DOWNLOAD, TIMEOUT = (captured(f"quic-{name}.txt") for name in ("connections", "download", "timeout"))
MARKS = IMPLEMENTATIONS["ngtcp2"].marks
LISTENING = "UNCONN 0 0 10.0.2.2:4433 0.0.0.0:*\n"
DIGEST = f"{'ab' * 32}  /x\n"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def test_what_a_client_said_is_its_handshake_and_first_byte() -> None:
    samples, failure = report.parse(CONNECTIONS, MARKS, 3)
    assert not failure
    assert [(one.metric, round(one.value, 9), one.at) for one in samples] == [
        ("handshake", 0.01697821, 0.0),
        ("first-byte", 0.049622107, 0.0),
        ("handshake", 0.012193323, 0.21252),
        ("first-byte", 0.033760023, 0.21252),
        ("handshake", 0.019397782, 0.394018),
        ("first-byte", 0.036636971, 0.394018),
    ]


def test_a_client_that_ended_well_without_a_handshake_has_failed() -> None:
    samples, failure = report.parse(TIMEOUT, MARKS, 2)
    assert samples == []
    assert failure == (
        "2 of 2 connections had no answer: the handshake did not end (status 0 after 2.18 s, ERR_HANDSHAKE_TIMEOUT)"
    )


def test_what_others_measured_is_kept_beside_one_that_failed() -> None:
    samples, failure = report.parse(CONNECTIONS + captured("quic-no-server.txt"), MARKS, 4)
    assert len(samples) == 6
    assert failure.startswith("1 of 4 connections had no answer: the handshake did not end (status 0 after 3.08 s")


def test_one_that_said_nothing_behind_its_handshake_is_told_as_such() -> None:
    text = (
        "run\nsaid 0 pkt tx pkn=0 dcid=1 type=Initial len=0\nsaid 7 QUIC handshake has completed\nend 124 9000000000\n"
    )
    assert report.parse(text, MARKS, 1) == (
        [],
        "1 of 1 connections had no answer: nothing came behind the handshake (status 124 after 9 s)",
    )


@pytest.mark.parametrize("text", ["", "Traceback\n", CONNECTIONS[:-1], CONNECTIONS + "end\n", CONNECTIONS + "run\n"])
def test_what_is_torn_has_failed(text: str) -> None:
    with pytest.raises(WorkloadFailed, match="did not come to its end"):
        report.parse(text, MARKS, 3)


def test_connections_are_counted_and_in_order() -> None:
    with pytest.raises(WorkloadFailed, match="3 connections of 4 were begun"):
        report.parse(CONNECTIONS, MARKS, 4)
    early = CONNECTIONS.replace("said 16978210 QUIC", "said 96978210 QUIC")
    with pytest.raises(WorkloadFailed, match="before the handshake"):
        report.parse(early, MARKS, 3)
    with pytest.raises(WorkloadFailed, match="said something after its"):
        report.parse(CONNECTIONS.replace("end 0 212519664", "end 0 2519664"), MARKS, 3)


def test_a_quiet_download_takes_its_time_less_what_a_client_takes_beside_it() -> None:
    beside = report.start_and_end(CONNECTIONS, MARKS)
    assert beside == pytest.approx(0.212519664 - 0.049622107), "the median of three"
    assert report.duration(DOWNLOAD, MARKS, says_when=False, beside=beside) == pytest.approx(0.4365398 - beside)
    with pytest.raises(WorkloadFailed, match="had everything as it began"):
        report.duration(DOWNLOAD, MARKS, says_when=False, beside=1.0)
    with pytest.raises(WorkloadFailed, match="no client had an answer"):
        report.start_and_end(TIMEOUT, MARKS)


def test_a_client_that_says_when_is_believed() -> None:
    said = "run\nsaid 5 connecting to x\nsaid 20 connected at\nsaid 1000000005 response received in\nend 0 1300000000\n"
    marks = IMPLEMENTATIONS["quinn"].marks
    assert report.duration(said, marks, says_when=True, beside=9.0) == pytest.approx(1.0)
    [handshake, first_byte], _ = report.parse(said, marks, 1)
    assert handshake.value == pytest.approx(15e-9)
    assert first_byte.value == pytest.approx(1.0)
    with pytest.raises(WorkloadFailed, match=r"nothing came behind the handshake|the handshake did not end"):
        report.duration(said.replace("response received in", "failed"), marks, says_when=True, beside=0)


def test_when_the_kernel_heard_quinn_is_when_quinn_says_it_was() -> None:
    """quinn tells its own time from the same beginning: both clocks agree to the microseconds of a write."""
    text = captured("quinn-connections.txt")
    samples, failure = report.parse(text, IMPLEMENTATIONS["quinn"].marks, 3)
    assert not failure
    own = [float(one) / 1000 for one in re.findall(r"connected at ([\d.]+)ms", text)]
    heard = [one.value for one in samples if one.metric == "handshake"]
    assert own == pytest.approx(heard, abs=30e-6)
    took = report.duration(captured("quinn-download.txt"), IMPLEMENTATIONS["quinn"].marks, says_when=True, beside=0)
    assert took == pytest.approx(0.011913 + 0.108617, abs=100e-6), "connected at, and response received in"


def test_why_quinn_failed_is_told_in_its_words() -> None:
    samples, failure = report.parse(captured("quinn-refused.txt"), IMPLEMENTATIONS["quinn"].marks, 1)
    assert samples == []
    assert failure == (
        "1 of 1 connections had no answer: the handshake did not end (status 1 after 15.1 s, ERROR: failed to connect: "
        "aborted by peer: the cryptographic handshake failed: error 120)"
    )


def test_a_client_that_hung_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="the client ended with status 124"):
        report.duration(captured("quic-hung.txt"), MARKS, says_when=False, beside=0.1)
    assert report.ending(captured("quic-download-timeout.txt")) == (
        "the client ended with status 0 after 2.11 s, and said: ngtcp2_conn_handle_expiry: ERR_HANDSHAKE_TIMEOUT"
    )


def test_probes_of_the_mtu_are_no_retransmits() -> None:
    assert report.lost(captured("quic-log.txt"), 2_000_000) == 0
    assert report.lost("sent 1749\nprobe 1RTT 2\nlost Initial 2\nlost 1RTT 3\nlost 1RTT 2\n", 2_000_000) == 2
    for text in ("", "sent 3\n", "sent 1749\nlost 1RTT 2\nlost 1RTT 2\n", "sent 1749\nlost 2\n"):
        with pytest.raises(WorkloadFailed):
            report.lost(text, 2_000_000)


def counted(log: Path) -> str:
    """What the awk of this machine picks from a qlog."""
    words = ("sh", "-c", f'cat "$0" | {quic.COUNTED}', str(log))
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_a_qlog_with_losses_is_counted_as_its_json_says(tmp_path: Path) -> None:
    log = Path(__file__).parents[3] / "captured" / "quic-qlog.txt"
    # Each record begins with a separator: RFC 7464, section 2.2.
    events = [json.loads(line) for line in log.read_text().split("\x1e") if '"data":' in line]
    sent, lost = (
        [one["data"] for one in events if one["name"] == name]
        for name in ("transport:packet_sent", "recovery:packet_lost")
    )
    numbers = {one["header"]["packet_number"] for one in lost}
    probes = {
        one["header"]["packet_number"]
        for one in sent
        if [frame["frame_type"] for frame in one["frames"]] == ["ping", "padding"]
    }
    assert (len(sent), len(numbers), len(numbers & probes)) == (88, 37, 1)
    # The log also tells of the client's probes, whose numbers mean other packets.
    assert report.lost(counted(log), 40_000) == 36
    cut = tmp_path / "cut.txt"
    cut.write_bytes(log.read_bytes()[:53_248])
    with pytest.raises(WorkloadFailed, match=r"the server's log was not counted: .*and is cut off"):
        report.lost(counted(cut), 40_000)


LOST = st.sets(st.integers(0, 5000))


@given(lost=LOST, probes=LOST)
def test_each_lost_packet_counts_once_and_no_probe(lost: set[int], probes: set[int]) -> None:
    lines = [*(f"probe 1RTT {one}" for one in probes), *(f"lost 1RTT {one}" for one in lost)]
    assert report.lost("".join(f"{line}\n" for line in ["sent 5001", *lines]), 1000) == len(lost - probes)


MOMENTS = st.lists(st.integers(0, 10**10), min_size=3, max_size=3)


@given(runs=st.lists(MOMENTS, min_size=1, max_size=5))
def test_moments_are_what_was_said_whatever_they_are(runs: list[list[int]]) -> None:
    texts = (
        "pkt tx pkn=0 type=Initial",
        "QUIC handshake has completed",
        "frm rx 4 1RTT STREAM(0x0b) id=0x0 offset=0 l",
    )
    ordered = [sorted(moments) for moments in runs]
    lines = ["\n".join(f"said {at} {text}" for at, text in zip(one, texts, strict=True)) for one in ordered]
    whole = "".join(f"run\n{said}\nend 0 {one[2] + 1}\n" for said, one in zip(lines, ordered, strict=True))
    samples, failure = report.parse(whole, MARKS, len(runs))
    assert not failure
    told = [(round(1e9 * one.value), one.metric) for one in samples]
    assert told == [
        pair for begin, done, first in ordered for pair in ((done - begin, "handshake"), (first - begin, "first-byte"))
    ]


def test_the_program_tells_when_what_was_said(tmp_path: Path) -> None:
    says = "import sys,time; w = sys.stderr.write; w('begin'); w(' 0\\n'); time.sleep(.05); w('done 1'); print('out')"
    argv = [sys.executable, "-I", "-S", str(line_moments.__file__), "2", "10", "begin|done", str(tmp_path / "out")]
    told = LocalShell().run([*argv, sys.executable, "-c", says], timeout=30)
    assert told.status == 0, told.stderr
    for run in report.read(told.stdout):
        [(begin, first), (end, last)] = run.said
        assert (begin, first, last, run.status) == (0, "begin 0", "done 1", 0)
        assert 0.05 <= end <= run.took
    assert (tmp_path / "out").read_text() == "out\n"
    told = LocalShell().run([*argv[:4], "1", "0.2", *argv[6:], "sleep", "5"], timeout=30)
    assert [(run.status, run.said) for run in report.read(told.stdout)] == [(line_moments.TOO_LONG, [])]


PACKETS = 8_300
"""About as many carry 10 MB, each with some 70 B of headers."""


def rising(size: int) -> Callable[[Call], Result]:
    """An interface at which so many bytes more have arrived at each look."""
    looks = count()

    def counted(call: Call) -> Result:
        number = next(looks)
        return Result(0, json.dumps([{"stats64": {"rx": {"bytes": number * size, "packets": number * PACKETS}}}]), "")

    return counted


def trial(given: dict[str, str], answers: dict[str, Answer]) -> tuple[Trial, FakeShell]:

    usual: dict[str, Answer] = {
        "ss -Hlun": LISTENING,
        "line_moments.py 3": CONNECTIONS,
        "line_moments.py 1": DOWNLOAD,
        "ip -s -j link": rising(10_000_000 + 70 * PACKETS),
        "sha256sum": DIGEST,
        "awk": "sent 9000\nlost 1RTT 7\n",
    }
    shell = FakeShell(answers | {key: answer for key, answer in usual.items() if key not in answers})
    client, server = two_nodes(shell, FakeEvents())
    options = resolve(quic.ABOUT.options, {"connections": "3", **given}, "quic")
    return Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints), shell


def test_a_trial_has_all_that_is_measured() -> None:
    done, shell = trial({"congestion": "bbr"}, {})
    quic.execute(done)
    assert {one.metric for one in done.samples} == set(quic.ABOUT.metrics)
    assert [one.value for one in done.samples if one.metric == "retransmits"] == [1]
    quiet, logging = (one.call.text for one in shell.started)
    assert "--cc=bbr" in quiet and "--qlog-dir" not in quiet and "--qlog-dir" in logging
    clients = [text for text in shell.texts if "gtlsclient " in text]
    assert ["--download" in text for text in clients] == [False, False, True], "to keep a file costs throughput"
    assert [" -q " in text for text in clients] == [False, True, True]
    assert [text.split()[:2] for text in shell.texts[-2:]] == [["rm", "-rf"], ["rm", "-rf"]]


def test_a_client_of_quinn_verifies_the_server_and_logs_nothing() -> None:
    said = "run\nsaid 0 connecting to x\nsaid 2 connected at\nsaid 5000000 response received in\nend 0 6000000\n"
    done, shell = trial({"impl": "quinn"}, {"line_moments.py 3": said * 3, "line_moments.py 1": said})
    quic.execute(done)
    assert {one.metric for one in done.samples} == {"throughput", "handshake", "first-byte", "download-cost"}
    assert [one.value for one in done.samples if one.metric == "throughput"] == [pytest.approx(8e7 / 0.005)]
    [client, *_] = [text for text in shell.texts if "quinn-client " in text]
    assert "--ca " in client and "--bind 0.0.0.0:0" in client
    assert any("subjectAltName=IP:10.0.2.2" in text for text in shell.texts)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"line_moments.py 3": TIMEOUT + captured("quic-no-server.txt")}, "^3 of 3 connections had no answer"),
        ({"ip -s -j link": rising(0)}, "^at most -381800 B of the file can have arrived, of 10000000 B"),
        # With its headers it is more than the file.
        ({"ip -s -j link": rising(9_700_000 + 70 * PACKETS)}, "^at most 9899200 B of the file can have arrived"),
        ({"ip -s -j link": "[]"}, "ip told no counters of"),
        ({"ip -s -j link": '[{"stats64": {"rx": {"bytes": 77}}}]'}, "ip told no counters of"),
        ({"/root/object.bin": DIGEST.replace("a", "c")}, "the file that arrived is not the one that was sent"),
        ({"awk": ""}, "the server's log was not counted"),
        ({"ss -Hlun": ""}, "the gtlsserver server did not listen on udp port 4433"),
    ],
)
def test_a_failure_leaves_nothing_behind(
    answers: dict[str, Answer], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tunbench.runner.workloads.shared.server_process.LISTEN_TIMEOUT", 0.05)
    done, shell = trial({}, answers)
    with pytest.raises(WorkloadFailed, match=message):
        quic.execute(done)
    assert all(process.ended == "stopped" for process in shell.started)
    assert [text.split()[:2] for text in shell.texts[-2:]] == [["rm", "-rf"], ["rm", "-rf"]]


def test_a_connection_that_failed_is_told_with_what_was_measured() -> None:
    one_failed = CONNECTIONS.partition("run\n")[2].partition("run\n")
    text = "run\n" + one_failed[0] + "run\n" + one_failed[0] + captured("quic-no-server.txt")
    done, _ = trial({}, {"line_moments.py 3": text})
    with pytest.raises(WorkloadFailed, match=r"^1 of 3 connections had no answer"):
        quic.execute(done)
    assert {one.metric for one in done.samples} == set(quic.ABOUT.metrics)


def test_ipv6_is_written_as_each_program_reads_it() -> None:
    shell = FakeShell({"ss": LISTENING})
    client, server = two_nodes(shell, FakeEvents())
    overlays = {name: Overlay("wg", f"fd10:0::{number}", 64, 1420) for number, name in enumerate("ab", start=1)}
    done = Trial(resolve(quic.ABOUT.options, {}, "quic"), client, server, overlays)
    served = quic._prepared(done, client.home, server.home)
    assert programs.gtlsserver(served, "cubic", None)[-4:-2] == ["fd10:0::2", "4433"]
    assert programs.gtlsclient(served, "x", None, True)[-3:] == [
        "fd10:0::2",
        "4433",
        "https://[fd10:0::2]:4433/x",
    ]
    assert "[fd10:0::2]:4433" in programs.quinn_server(served, "cubic", None)
    assert "[::]:0" in programs.quinn_client(served, "x", None, True)


def test_quinn_has_one_congestion_control() -> None:
    with pytest.raises(ValueError, match=r"^quinn has no congestion control bbr: it has cubic$"):
        invocation.read("quic:impl=quinn,congestion=bbr")


def test_what_is_needed_follows_from_the_implementation() -> None:
    assert invocation.read("quic").needs.addons == ("ngtcp2",)
    assert invocation.read("quic").needs.tools == ()
    assert invocation.read("quic:impl=quinn").needs.tools == ("quinn",)
    assert invocation.read("quic:impl=quinn").needs.addons == ()
