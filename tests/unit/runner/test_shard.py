import os
import re
import threading
from pathlib import Path

import pytest

from tests.helpers import fakes
from tests.helpers.fakes import (
    CAPTURED,
    MARKER,
    Answer,
    Call,
    FakeEvents,
    FakeLabShell,
    captured,
    interface,
    move_home,
    shard,
)
from tunbench.journal.events import read_event
from tunbench.plan.shard import Shard
from tunbench.run.trial_folders import TrialFolders
from tunbench.runner import registry, stack, trials
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node import limits
from tunbench.runner.node.shell import Result
from tunbench.runner.shard import REST_SECONDS, live

PING, TCP = "ping:count=5,interval=0.01", "iperf3-tcp:duration=3"
PROOFS = {"none": "proof-none.pcap", "wireguard": "proof-wireguard.pcap", "vxlan": "proof-vxlan.pcap"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    return move_home(monkeypatch, tmp_path, "made")


def lived(home: Path, one: Shard, answers: dict[str, Answer] | None = None, proof: str = "") -> FakeEvents:
    lab, events = FakeLabShell(home, proof or PROOFS[one.stack.name], answers), FakeEvents()
    live(one.spec(), EmulatedNetwork(lab), events)
    assert all(process.ended for process in lab.started), "nothing is left running"
    assert events.told[-1]["name"] == "end"
    return events


def verdicts(events: FakeEvents) -> list[tuple[str, str]]:
    return [(trial["workload"], trial["verdict"]) for trial in events.of("trial")]


def phases(events: FakeEvents) -> list[str]:
    return [one["name"] for one in events.of("phase")]


@pytest.mark.parametrize("name", PROOFS)
def test_a_shard_lives(name: str, home: Path) -> None:
    events = lived(home, shard(name, 1, PING, TCP))
    assert verdicts(events) == [("up", "ok"), (PING, "ok"), (TCP, "ok")]
    assert phases(events) == [
        *("nodes", "underlay", "watch", "prepare", "up", "proof", "impair", "trial", "trial", "down", "end")
    ]
    assert [finding["layer"] for finding in events.of("proof")[0]["findings"]] == [name]
    times = [one["at"] for one in events.of("phase")]
    assert times == sorted(times)


def test_the_machine_rests_between_what_is_told_and_what_is_timed(home: Path) -> None:
    events = lived(home, shard("none", 1, PING))
    timed = [one["at"] for one in events.of("phase") if one["name"] in ("up", "trial")]
    rests = [trial["began"] - at for trial, at in zip(events.of("trial"), timed, strict=True)]
    assert [rest >= REST_SECONDS for rest in rests] == [True, True]


def test_samples_have_units_and_moments_and_raw_output_is_kept(home: Path) -> None:
    up, ping, tcp = lived(home, shard("none", 1, PING, TCP)).of("trial")
    [[metric, unit, value, at, pair, node]] = up["samples"]
    assert (metric, unit, at) == ("connect", "s", None)
    assert value >= 0
    assert ping["samples"][0][:2] == ["rtt", "s"]
    assert ["loss", "ratio", 0.0, None, "a-b", "a"] in ping["samples"]
    assert tcp["samples"][0][:2] == ["throughput", "bit/s"]
    assert ping["outputs"] == {"ping.txt": captured("ping-clean.txt")}
    assert tcp["outputs"] == {"iperf3.json": captured("iperf3-tcp.json")}
    assert (pair, node, ping["reason"], ping["logs"]) == ("a-b", "a", "", {})


def test_a_trial_that_fails_does_not_stop_the_next(home: Path) -> None:
    answers: dict[str, Answer] = {"ping -n -c 5 -i 0.01": Result(2, "", captured("ping-unreachable.txt"))}
    events = lived(home, shard("none", 1, PING, TCP), answers)
    assert verdicts(events) == [("up", "ok"), (PING, "failed"), (TCP, "ok")]
    trial = events.of("trial")[1]
    assert "Network is unreachable" in trial["reason"]
    assert trial["samples"] == []
    assert trial["outputs"] == {"ping.txt": captured("ping-unreachable.txt")}


def test_a_trial_that_fails_brings_the_tails_of_the_logs(home: Path) -> None:
    def serve(call: Call, log: Path) -> None:
        log.write_text("iperf3: error - unable to start listener\n")

    answers: dict[str, Answer] = {"iperf3 --client": captured("iperf3-connect.json")}
    lab = FakeLabShell(home, "proof-none.pcap", answers, {"iperf3": serve})
    live(shard("none", 1, TCP).spec(), EmulatedNetwork(lab), events := FakeEvents())
    trial = events.of("trial")[1]
    assert trial["reason"] == "iperf3: unable to connect to server: Connection refused"
    assert trial["logs"] == {"b/iperf3.log": "iperf3: error - unable to start listener\n"}


def test_a_missing_program_makes_its_trials_unsupported(home: Path) -> None:
    events = lived(home, shard("none", 1, TCP, PING), {'command -v "$0"\' iperf3': Result(127, "", "")})
    assert verdicts(events) == [("up", "ok"), (TCP, "unsupported"), (PING, "ok")]
    assert events.of("trial")[1]["reason"] == "the program iperf3 is not installed"


@pytest.mark.parametrize(
    ("answers", "verdict", "reason"),
    [
        ({'command -v "$0"\' wg': Result(127, "", "")}, "unsupported", "the program wg is not installed"),
        ({"type wireguard": Result(2, "", "Error: Unknown device type.\n")}, "unsupported", "module wireguard"),
        ({"type wireguard": Result(2, "", "Error: Operation not permitted.\n")}, "failed", "Operation not permitted"),
        ({"wg genkey": Result(1, "", "no randomness")}, "failed", "wg genkey"),
        ({"0.5 10.10.0.2": Result(1, "", "")}, "failed", "wireguard: b did not answer a"),
        ({"sysctl": Result(1, "", "read-only")}, "failed", "read-only"),
        ({"ip -batch": Result(1, "", "batch is broken")}, "failed", "batch is broken"),
    ],
)
def test_a_stack_that_does_not_come_up_gives_every_trial_its_verdict(
    answers: dict[str, Answer], verdict: str, reason: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "ANSWER_TIMEOUT", 0.05)
    events = lived(home, shard("wireguard", 1, PING, TCP), answers)
    assert verdicts(events) == [("up", verdict), (PING, verdict), (TCP, verdict)]
    for trial in events.of("trial"):
        assert reason in trial["reason"]
        assert trial["samples"] == []


def test_nodes_that_cannot_be_had_give_every_trial_its_verdict(home: Path) -> None:
    def refused(call: Call, log: Path) -> int:
        log.write_text("unshare: unshare failed: Operation not permitted\n")
        return 1

    lab = FakeLabShell(home, "proof-none.pcap", begins={"unshare": refused})
    live(shard("none", 1, PING).spec(), EmulatedNetwork(lab), events := FakeEvents())
    assert verdicts(events) == [("up", "failed"), (PING, "failed")]
    assert "Operation not permitted" in events.of("trial")[0]["reason"]
    assert all(process.ended == "killed" for process in lab.started)


def test_a_tunnel_whose_traffic_goes_around_it_gets_no_numbers(home: Path) -> None:
    events = lived(home, shard("wireguard", 1, PING, TCP), proof="proof-none.pcap")
    assert verdicts(events)[1:] == [(PING, "failed"), (TCP, "failed")]
    for trial in events.of("trial")[1:]:
        assert trial["reason"].startswith("wireguard: 0 packets on router/to-b show its evidence")
        assert trial["samples"] == []
    assert not any(" -c 5 -i 0.01 " in command or "iperf3" in command for command in events.commands)
    assert f"ip netns exec a ip link del {interface('wireguard')}" in events.commands


def test_what_was_brought_up_is_taken_down_after_the_trials(home: Path) -> None:
    events = lived(home, shard("vxlan", 2, PING))
    assert events.commands[-2:] == [f"ip netns exec {name} ip link del {interface('vxlan')}" for name in ("b", "a")]
    assert events.of("version") == [], "the first repeat has told them"


def test_the_first_repeat_tells_the_versions(home: Path) -> None:
    versions = {one["program"]: one["text"] for one in lived(home, shard("none", 1, PING, TCP)).of("version")}
    assert set(versions) == {"ping", "iperf3", "ip", "tcpdump", "kernel"}
    assert versions["iperf3"] == "iperf 3.12 (cJSON 1.7.15)"
    assert versions["ip"] == "unknown"


def test_what_leaves_the_lab_is_told(home: Path) -> None:
    lines = "".join(f"IP 10.0.1.2.{port} > 192.0.2.1.53: UDP, length 30\n" for port in range(25))
    [outside] = lived(home, shard("none", 2, PING), {"outside.pcap -n": lines}).of("outside")
    assert outside["packets"] == 25
    assert outside["first"] == lines.splitlines()[:20]


def test_where_nothing_leaves_nothing_is_told(home: Path) -> None:
    assert lived(home, shard("none", 2, PING)).of("outside") == []


def test_a_stack_that_fails_its_proof_has_no_time_to_come_up_either(home: Path) -> None:
    events = lived(home, shard("wireguard", 1, PING), proof="proof-none.pcap")
    assert verdicts(events) == [("up", "failed"), (PING, "failed")]
    assert all(trial["samples"] == [] for trial in events.of("trial"))


def test_a_daemon_that_dies_fails_every_trial_with_its_log(home: Path) -> None:
    def die(call: Call, log: Path) -> int:
        log.write_text(f"{log.parent.name}: Cannot allocate TUN/TAP dev dynamically\n")
        return 1

    answers: dict[str, Answer] = {"ping -n -I ": Result(1, "", "")}
    lab, events = FakeLabShell(home, "proof-none.pcap", answers, {"openvpn": die}), FakeEvents()
    live(shard("openvpn", 1, PING, TCP).spec(), EmulatedNetwork(lab), events)
    assert verdicts(events) == [("up", "failed"), (PING, "failed"), (TCP, "failed")]
    for trial in events.of("trial"):
        assert trial["reason"] == "openvpn: its daemon on a ended with status 1"
        assert trial["samples"] == []
        for name in ("a", "b"):
            assert trial["logs"][f"{name}/openvpn-0.log"] == f"{name}: Cannot allocate TUN/TAP dev dynamically\n"
    assert all(process.ended for process in lab.started)


def test_a_daemon_that_is_seen_to_have_died_after_the_workload_is_told_with_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_all(call: Call) -> Result:
        for process in lab.started:
            if "openvpn" in process.call.text:
                threading.Timer(0.05, process.kill).start()
        return Result(-9, "PING 10.10.0.2\n", "")

    monkeypatch.setitem(fakes.FILTERS, "udp port 1194 and udp[8] & 0xf8 = 0x48", lambda packet: True)
    lab, events = FakeLabShell(home, "proof-wireguard.pcap", {"-i 0.01": end_all}), FakeEvents()
    live(shard("openvpn", 1, PING).spec(), EmulatedNetwork(lab), events)
    [up, trial] = events.of("trial")
    assert (up["verdict"], trial["verdict"]) == ("ok", "failed")
    assert re.fullmatch("ping printed no summary: .*; openvpn: its daemon on a was ended by SIGKILL.*", trial["reason"])


def test_a_daemon_that_dies_before_the_proof_is_told_with_what_the_proof_did_not_see(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fakes.FILTERS, "udp port 1194 and udp[8] & 0xf8 = 0x48", lambda packet: False)
    lab, events = FakeLabShell(home, "proof-none.pcap", begins={"openvpn": lambda *_: -9}), FakeEvents()
    live(shard("openvpn", 1, PING).spec(), EmulatedNetwork(lab), events)
    for trial in events.of("trial"):
        assert re.match("openvpn: its daemon on a was ended by SIGKILL.*; .* show its evidence", trial["reason"])


@pytest.mark.parametrize(("proof", "verdict"), [("proof-vxlan.pcap", "ok"), ("proof-none.pcap", "failed")])
def test_what_the_proof_captured_is_kept_whatever_it_shows(
    proof: str, verdict: str, home: Path, tmp_path: Path
) -> None:
    one = shard("vxlan", 1, PING)
    folders = TrialFolders(tmp_path / "run", one.spec())
    events = lived(home, one, proof=proof)
    for event in events.told:
        folders.take(read_event({"shard": one.id, **event}))
    assert verdicts(events) == [("up", verdict), (PING, verdict)]
    [kept] = (tmp_path / "run").rglob("*.pcap")
    assert kept == tmp_path / "run/trials/vxlan/baseline/up/repeat-1/proof-0.pcap"
    assert kept.read_bytes() == (CAPTURED / proof).read_bytes()


def test_a_workload_that_measures_nothing_has_failed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.workload("ping"), "execute", lambda trial: None)
    events = lived(home, shard("none", 1, PING, TCP))
    assert verdicts(events) == [("up", "ok"), (PING, "failed"), (TCP, "ok")]
    assert events.of("trial")[1]["reason"] == "it ended without a result"


def test_a_log_that_could_grow_no_more_fails_the_trial(home: Path) -> None:
    def flood(call: Call, log: Path) -> int:
        with log.open("wb") as file:
            file.truncate(limits.MAX_FILE)
        return 0

    lab, events = FakeLabShell(home, "proof-none.pcap", begins={"iperf3": flood}), FakeEvents()
    live(shard("none", 1, TCP, PING).spec(), EmulatedNetwork(lab), events)
    assert verdicts(events) == [("up", "ok"), (TCP, "failed"), (PING, "ok")]
    assert events.of("trial")[1]["reason"] == "the log b/iperf3.log has grown to 128 MiB"


def test_a_trial_has_the_paths_that_were_seen_and_those_behind_it_the_last_of_them(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def came_of(path: str | None = None, after: str | None = None) -> trials.Executed:
        return trials.Executed(Verdict.OK, "", [], {}, path, after)

    outcomes = iter([came_of(), came_of("direct, derp from 3 s", "derp"), came_of(), came_of("", ""), came_of()])
    monkeypatch.setattr(trials, "prove", lambda *_: "direct")
    monkeypatch.setattr(trials, "execute", lambda *_: next(outcomes))
    events = lived(home, shard("none", 1, PING, TCP, PING, TCP, PING))
    told = [trial["path"] for trial in events.of("trial")]
    # A proof that failed leaves no path behind.
    assert told == ["direct", "direct", "direct, derp from 3 s", "derp", "", ""]


def test_what_is_left_on_the_router_is_told(home: Path) -> None:
    # Of a, b and the router, before and after.
    lists = iter([*[""] * 5, "100: from all lookup 42\n"])

    def listed(call: Call) -> Result:
        return Result(0, next(lists) if call.stdin.startswith("rule show") else "", "")

    events = lived(home, shard("none", 1, PING), {"ip -batch -": listed})
    left = [one["text"] for one in events.of("warning") if one["name"] == "left-behind"]
    assert left == ["router: 100: from all lookup 42"]
