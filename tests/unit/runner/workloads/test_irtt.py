"""Round trips that irtt tells: what is made of them, and what cannot be."""

import itertools
import json
import math
import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import captured
from tests.helpers.outputs import edited, replaced
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.workloads.shared import irtt


def test_round_trips_are_those_of_the_replies() -> None:
    trips = irtt.parse(captured("irtt-clean.json"))
    assert (trips.sent, trips.loss) == (5, 0)
    times = json.loads(captured("irtt-clean.json"))["stats"]["rtt"]
    assert statistics.fmean(rtt for _, rtt in trips.answered) == pytest.approx(times["mean"] / 1e9, rel=1e-4)
    assert statistics.median(rtt for _, rtt in trips.answered) == pytest.approx(times["median"] / 1e9)
    moments = [sent for sent, _ in trips.answered]
    assert [late - early for early, late in itertools.pairwise(moments)] == pytest.approx([0.01] * 4, 0.1)


def test_requests_without_a_reply_are_lost() -> None:
    trips = irtt.parse(captured("irtt-loss.json"))
    assert (trips.sent, len(trips.answered)) == (10, 8)
    assert trips.loss == pytest.approx(json.loads(captured("irtt-loss.json"))["stats"]["packet_loss_percent"] / 100)


def test_a_test_that_a_stray_reply_ended_has_failed() -> None:
    # The reply to its second attempt to connect arrived during the test; irtt's status was 0.
    with pytest.raises(WorkloadFailed, match=r"irtt's test ended early: receive_err .*-2051"):
        irtt.parse(captured("irtt-reopened.json"))


@pytest.mark.parametrize("name", ["irtt-timeout.txt", "irtt-refused.txt"])
def test_what_irtt_prints_without_a_server_has_failed(name: str) -> None:
    with pytest.raises(WorkloadFailed, match=r"irtt printed no JSON: '.*(no reply from server|connection refused)'"):
        irtt.parse(captured(name))


def test_json_that_was_torn_has_failed() -> None:
    text = captured("irtt-clean.json").strip()
    for end in range(0, len(text), 7):
        with pytest.raises(WorkloadFailed, match="irtt printed no JSON"):
            irtt.parse(text[:end])


@pytest.mark.parametrize("lost", ["maybe", None, False, 0, ["false"]])
def test_a_loss_that_is_not_told_has_failed(lost: object) -> None:
    data = json.loads(captured("irtt-clean.json"))
    data["round_trips"][2]["lost"] = lost
    with pytest.raises(WorkloadFailed, match="does not say whether"):
        irtt.parse(json.dumps(data))


@pytest.mark.parametrize("rtt", [-1, 1.5, "1", None, True, 10**14])
def test_a_time_that_makes_no_sense_has_failed(rtt: object) -> None:
    data = json.loads(captured("irtt-clean.json"))
    data["round_trips"][2]["delay"]["rtt"] = rtt
    with pytest.raises(WorkloadFailed, match=r"no sound time at delay\.rtt"):
        irtt.parse(json.dumps(data))


def moved(trip: Any, who: str, what: str, nanoseconds: int) -> None:
    trip["timestamps"][who][what]["monotonic"] += nanoseconds


def slower(data: Any, nanoseconds: int) -> None:
    """Lets a reply arrive later, and its round trip take longer."""
    moved(data["round_trips"][2], "client", "receive", nanoseconds)
    data["round_trips"][2]["delay"]["rtt"] += nanoseconds


def answered_before(data: Any, nanoseconds: int) -> None:
    """Lets the server have sent a reply so long before its request came."""
    inside = data["round_trips"][2]["timestamps"]["server"]
    inside["send"]["monotonic"] = inside["receive"]["monotonic"] - nanoseconds
    came = (data["round_trips"][2]["timestamps"]["client"][name]["monotonic"] for name in ("receive", "send"))
    data["round_trips"][2]["delay"]["rtt"] = next(came) - next(came) + nanoseconds
    data["stats"]["rtt"]["max"] = max(one["delay"]["rtt"] for one in data["round_trips"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: answered_before(data, 5 * 10**9),
            r"irtt counted a round trip of 5000\d+ ns, -5000000000 ns in the server",
        ),
        (
            lambda data: data["round_trips"][2]["delay"].update(rtt=5 * 10**9),
            r"irtt counted a round trip of 5000000000 ns, \d+ ns in the server, from \d+ to \d+ ns",
        ),
        (
            lambda data: slower(data, 5 * 10**9),
            r"irtt counted 5 requests, 5 replies and 100877 ns at most, and tells of 5",
        ),
        (lambda data: data["stats"].update(packets_sent=500), r"irtt counted 500 requests, 5 replies"),
        (
            lambda data: data["stats"].update(packets_sent=500, packets_received=1, packet_loss_percent=99.8),
            r"irtt counted 500 requests, 5 replies",
        ),
        (lambda data: data["stats"]["rtt"].update(n=1), r"irtt counted 5 requests, 1 replies"),
        (lambda data: data["stats"].pop("rtt"), r"irtt counted 5 requests, None replies and None ns"),
        (lambda data: data.update(round_trips=3 * data["round_trips"]), r"irtt's round trip 5 has the number 0"),
        (lambda data: data["round_trips"][2].update(seqno=1), r"irtt's round trip 2 has the number 1"),
        (lambda data: data["round_trips"][1].update(seqno=True), r"irtt's round trip 1 has the number True"),
        (lambda data: data["round_trips"].reverse(), r"irtt's round trip 0 has the number 4"),
        (
            lambda data: moved(data["round_trips"][2], "client", "send", -(10**7) - 10**6),
            r"irtt's requests are not in the order of their sending",
        ),
        (
            lambda data: moved(data["round_trips"][2], "client", "receive", -(10**6)),
            r"irtt counted a round trip of \d+ ns",
        ),
        (
            lambda data: data["round_trips"][2].update(lost="true"),
            r"irtt counted 5 requests, 5 replies .*, and tells of 5, 4 and",
        ),
    ],
)
def test_round_trips_that_contradict_each_other_have_failed(change: Callable[[Any], object], message: str) -> None:
    data = json.loads(captured("irtt-clean.json"))
    change(data)
    with pytest.raises(WorkloadFailed, match=message):
        irtt.parse(json.dumps(data))


def test_a_reply_that_came_twice_is_counted_once() -> None:
    data = json.loads(captured("irtt-clean.json"))
    data["stats"] |= {"packets_received": 6, "duplicates": 1}
    assert irtt.parse(json.dumps(data)).loss == 0


def sound(text: str) -> None:
    try:
        trips = irtt.parse(text)
    except WorkloadFailed:
        return
    assert 0 <= trips.loss <= 1
    assert all(math.isfinite(value) and value >= 0 for pair in trips.answered for value in pair)


@given(seed=st.integers(0, 2**32))
def test_round_trips_that_were_changed_are_sound_or_have_failed(seed: int) -> None:
    dice = random.Random(seed)
    text = captured(dice.choice(["irtt-clean.json", "irtt-loss.json", "irtt-reopened.json", "irtt-timeout.txt"]))
    sound(edited(text, dice))
    if text.startswith("{"):
        sound(json.dumps(replaced(json.loads(text), dice)))
