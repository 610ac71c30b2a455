import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import VALUES, edited, of, replaced, sound, walk
from tunbench.runner import invocation
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import http

LISTENING = "LISTEN 0 511 10.0.2.2:8080 0.0.0.0:*\n"
IPV6 = {name: Overlay("wg", f"fd10:0::{number}", 64, 1420) for number, name in enumerate("ab", start=1)}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def values(samples: list[Sample], metric: str) -> list[float]:
    return [one.value for one in samples if one.metric == metric]


def trial(
    given: dict[str, str], result: Result, ipv6: bool = False, listening: str = LISTENING
) -> tuple[Trial, FakeShell, FakeEvents]:
    shell, events = FakeShell({"ss -H": listening, "hey": result}), FakeEvents()
    client, server = two_nodes(shell, events)
    overlays = IPV6 if ipv6 else PAIR_UNDERLAYS["ip"].endpoints
    return Trial(resolve(http.ABOUT.options, given, "http"), client, server, overlays), shell, events


def test_every_request_has_its_latency_and_its_moment() -> None:
    samples = http.parse(captured("hey-clean.json"), 20, 10_000)
    assert values(samples, "request-rate") == [pytest.approx(20 / 0.00728414)]
    assert values(samples, "throughput") == [pytest.approx(20 * 80_000 / 0.00728414)]
    assert values(samples, "failures") == [0]
    latencies = [one for one in samples if one.metric == "latency"]
    assert len(latencies) == 20
    assert all(1e-5 < one.value < 0.01 for one in latencies)
    # Moments count from the first request, and are finer than the four places of hey's own CSV.
    assert min(one.at or 0 for one in latencies) == 0
    assert len({one.at for one in latencies}) == 20
    assert {one.metric for one in samples} == set(http.ABOUT.metrics)


@pytest.mark.parametrize(
    ("name", "requests", "good"),
    [("limited", 10, 3), ("killed", 400, 266)],
)
def test_requests_that_fail_are_no_latency(name: str, requests: int, good: int) -> None:
    samples = http.parse(captured(f"hey-{name}.json"), requests, 10_000)
    total = json.loads(captured(f"hey-{name}.json"))["total"]
    assert values(samples, "failures") == [pytest.approx(1 - good / requests)]
    assert len(values(samples, "latency")) == good
    assert values(samples, "request-rate") == [pytest.approx(good / total)]
    assert values(samples, "throughput") == [pytest.approx(good * 80_000 / total)]


@pytest.mark.parametrize(
    ("name", "requests", "message"),
    [
        ("refused", 10, "by 200: .*connection refused"),
        ("timeout", 4, "by 200: .*Client.Timeout exceeded"),
        ("tls-on-plain", 4, "by 200: .*server gave HTTP response to HTTPS client"),
        ("missing", 10, "by 200: the answer was 404"),
    ],
)
def test_no_good_answer_at_all_has_failed(name: str, requests: int, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        http.parse(captured(f"hey-{name}.json"), requests, 10_000)


@pytest.mark.parametrize("size", [9999, 10_001])
def test_an_object_of_another_size_has_failed(size: int) -> None:
    with pytest.raises(WorkloadFailed, match=rf"hey reports 200000 B in .* s for 20 objects of {size} B"):
        http.parse(captured("hey-clean.json"), 20, size)


def test_requests_that_are_not_in_the_report_have_failed() -> None:
    with pytest.raises(WorkloadFailed, match="hey reports on 20 answers and 0 errors of 25 requests"):
        http.parse(captured("hey-clean.json"), 25, 10_000)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("latencies", 900, r"hey reports an answer 900\.003 s after the first request, and 0\.00728414 s for all"),
        ("starts", 900, r"hey reports an answer 900\.001 s after the first request"),
        ("starts", 0, r"hey reports an answer 0\.00808456 s after the first request"),
        ("codes", 200.5, r"hey reports the status 200\.5, which is no whole number"),
    ],
)
def test_answers_that_contradict_the_rest_of_the_report_have_failed(key: str, value: float, message: str) -> None:
    data = json.loads(captured("hey-clean.json"))
    data[key][0] = value
    with pytest.raises(WorkloadFailed, match=message):
        http.parse(json.dumps(data), 20, 10_000)


def test_a_total_that_is_shorter_than_its_requests_has_failed() -> None:
    data = json.loads(captured("hey-clean.json"))
    with pytest.raises(WorkloadFailed, match=r"an answer 0\.00725662 s after the first request, and 0\.007 s for all"):
        http.parse(json.dumps(data | {"total": 0.007}), 20, 10_000)


def test_a_total_that_is_longer_than_its_requests_has_failed() -> None:
    data = json.loads(captured("hey-clean.json"))
    assert http.parse(json.dumps(data | {"total": 1.007}), 20, 10_000)
    with pytest.raises(WorkloadFailed, match=r"an answer 0\.00725662 s after the first request, and 1\.008 s for all"):
        http.parse(json.dumps(data | {"total": 1.008}), 20, 10_000)


def test_a_total_with_requests_that_failed_is_no_longer_than_hey_may_run() -> None:
    data = json.loads(captured("hey-killed.json"))
    assert http.parse(json.dumps(data | {"total": 60}), 400, 10_000)
    with pytest.raises(WorkloadFailed, match=r"an answer 0\.0928657 s after the first request, and 60\.1 s for all"):
        http.parse(json.dumps(data | {"total": 60.1}), 400, 10_000)


def test_a_torn_report_has_failed() -> None:
    text = captured("hey-clean.json").strip()
    for end in range(len(text)):
        with pytest.raises(WorkloadFailed, match="no JSON"):
            http.parse(text[:end], 20, 10_000)


@pytest.mark.parametrize(("text", "message"), [("[]", "is no object"), ("{}", "no errors"), ("[" * 99999, "no JSON")])
def test_other_json_has_failed(text: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        http.parse(text, 20, 10_000)


def test_every_value_may_be_anything() -> None:
    data = json.loads(captured("hey-clean.json"))
    for container, key in walk(data):
        before = container[key]
        for value in VALUES:
            container[key] = value
            sound(of("http", lambda text: http.parse(text, 20, 10_000), []), json.dumps(data))
        container[key] = before


@given(seed=st.integers(0, 2**32))
def test_reports_that_were_changed_give_sound_values_or_have_failed(seed: int) -> None:
    dice = random.Random(seed)
    name, requests = dice.choice([("clean", 20), ("limited", 10), ("killed", 400)])
    text = captured(f"hey-{name}.json")
    sound(of("http", lambda changed: http.parse(changed, requests, 10_000), []), edited(text, dice))
    sound(
        of("http", lambda changed: http.parse(changed, requests, 10_000), []),
        json.dumps(replaced(json.loads(text), dice)),
    )


def test_the_commands() -> None:
    done, shell, events = trial({"requests": "20", "concurrency": "5"}, Result(0, captured("hey-clean.json"), ""))
    http.execute(done)
    folder = done.server.home / "http-8080"
    made, filled, server, _, client, removal = events.commands
    assert made == f"ip netns exec b mkdir -p {folder}/root"
    assert filled == f"ip netns exec b openssl rand -out {folder}/root/object.bin 10000"
    assert server.startswith(f"ip netns exec b nginx -e stderr -p {folder}/ -c {folder}/nginx.conf >>")
    assert client == (f"ip netns exec a hey -n 20 -c 5 -t 60 -o '{http.REPORT}' http://10.0.2.2:8080/object.bin")
    assert removal == f"ip netns exec b rm -rf {folder}"
    assert shell.calls[-2].timeout == 60
    assert [process.ended for process in shell.started] == ["stopped"]
    (configuration,) = events.of("file")
    assert "        listen 10.0.2.2:8080;\n" in configuration["text"]
    assert done.outputs == {"hey.json": captured("hey-clean.json")}
    assert len(done.samples) == 23


def test_tls_has_a_key_that_is_not_journaled_and_a_new_connection_each_time() -> None:
    given = {"requests": "20", "concurrency": "5", "tls": "on", "keepalive": "off"}
    done, _, events = trial(given, Result(0, captured("hey-clean.json"), ""), ipv6=True)
    http.execute(done)
    folder = done.server.home / "http-8080"
    (key,) = (command for command in events.commands if " req -x509 " in command)
    assert key.endswith(f"-keyout {folder}/server.key -out {folder}/server.crt")
    (configuration,) = events.of("file")
    assert "        listen [fd10:0::2]:8080 ssl;\n" in configuration["text"]
    assert f"        ssl_certificate_key {folder}/server.key;\n" in configuration["text"]
    client = next(command for command in events.commands if " hey " in command)
    assert " -disable-keepalive -o " in client
    assert client.endswith(" 'https://[fd10:0::2]:8080/object.bin'")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (Result(None, "", ""), "hey did not end within 60 s"),
        (Result(1, "", captured("hey-usage.txt")), "hey ended with status 1: -n cannot be less than -c"),
        (Result(0, captured("hey-refused.json"), ""), "connection refused"),
    ],
)
def test_a_failure_keeps_the_output_and_leaves_nothing_behind(result: Result, message: str) -> None:
    done, shell, _ = trial({"requests": "10", "concurrency": "5"}, result)
    with pytest.raises(WorkloadFailed, match=message):
        http.execute(done)
    assert done.outputs["hey.json"] == result.stdout
    assert [process.ended for process in shell.started] == ["stopped"]
    assert shell.texts[-1].startswith("rm -rf ")


def test_requests_must_be_a_multiple_of_those_at_once() -> None:
    with pytest.raises(ValueError, match="15 requests are no multiple of 10 at once"):
        invocation.read("http:requests=15,concurrency=10")
