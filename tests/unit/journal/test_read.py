import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.events import EVENTS, NONE, RUN, WIREGUARD, phase, state, trial
from tunbench.journal import read
from tunbench.journal.events import TrialEnded, read_event
from tunbench.journal.fingerprint import substance
from tunbench.journal.journal import JournalError
from tunbench.journal.readers.journal import assemble
from tunbench.journal.record import COLUMNS, Record
from tunbench.runner.declare import axes
from tunbench.runner.declare.verdicts import Verdict

Event = dict[str, Any]


def changed(index: int, **fields: Any) -> list[Event]:
    events = copy.deepcopy(EVENTS)
    events[index].update(fields)
    return events


def assembled(lines: list[Event]) -> Record:
    return assemble(read.read_lines(lines))


def ended(line: Event) -> TrialEnded:
    event = read_event(line)
    assert isinstance(event, TrialEnded)
    return event


def fingerprint(events: list[Event]) -> str:
    return str(assembled(events).manifest["fingerprint"])


def test_a_record_has_every_trial_with_its_samples() -> None:
    record = assembled(EVENTS)
    assert [(one.cell["stack"], one.cell["workload"], one.verdict) for one in record.trials] == [
        ("none", "ping:count=5", "ok"),
        ("none", "up", "ok"),
        ("wireguard", "up", "failed"),
    ]
    first, _, last = record.trials
    assert first.rows[1] == {
        **{"lab": "vm", "clock": "virtual", "stack": "none", "profile": "baseline", **axes.USUAL},
        **{"workload": "ping:count=5", "repeat": 1, "seed": 7},
        **{"pair": "a-b", "node": "a", "metric": "rtt", "unit": "s", "at": 0.01, "value": 0.2},
    }
    assert all(tuple(row) == COLUMNS for one in record.trials for row in one.rows)
    assert first.folder == "trials/none/baseline/ping-count=5/repeat-1"
    assert (last.reason, last.logs) == ("it broke", {"a/x.log": "words"})


def test_a_record_has_what_was_told_beside_the_trials() -> None:
    record = assembled(EVENTS)
    assert [tuple(vars(one).values()) for one in record.warnings] == [
        ("netem-limit", "none, baseline, repeat 1", "router/to-b: full"),
        ("outside", "none, baseline, repeat 1", "3 packets, the first: one"),
    ]
    assert record.manifest["programs"] == {"ping": "ping from iputils 20221126"}
    assert record.manifest["image"] == {"digest": "abc"}
    assert record.interrupted == ("wireguard, baseline, repeat 2",)
    assert record.planned == 4


def test_the_time_of_each_phase_is_summed_over_the_shards() -> None:
    assert assembled(EVENTS).durations == {"boot": 4.5, "nodes": 0.5, "up": 4.0}


def test_on_the_native_lab_the_boot_is_what_no_phase_explains() -> None:
    native = copy.deepcopy(EVENTS)
    native[0]["manifest"]["lab"] = {"kind": "native", "clock": "real"}
    native[-2]["wall"] = 5.25
    assert assembled(native).durations == {"boot": 0.75, "nodes": 0.5, "up": 4.0}


@pytest.mark.parametrize(("start", "boot"), [("template", 0.0), ("fresh boot", 2.5)])
def test_what_a_template_has_behind_it_is_no_time_of_the_shard(start: str, boot: float) -> None:
    head = copy.deepcopy(EVENTS[0])
    head["manifest"]["start"] = start
    begun = state(WIREGUARD, "started", spec=WIREGUARD.spec())
    told = [phase(WIREGUARD, *what) for what in (("begin", 2.5), ("nodes", 2.75), ("up", 3.0))]
    assert assembled([head, begun, *told]).durations == {"boot": boot, "begin": 0.25, "nodes": 0.25}


def test_a_shard_that_was_executed_again_boots_again() -> None:
    again = [*EVENTS, phase(WIREGUARD, "nodes", 1.5), phase(WIREGUARD, "up", 2.5)]
    assert assembled(again).durations == {"boot": 6.0, "nodes": 1.5, "up": 4.0}


def test_of_a_trial_that_was_told_twice_the_first_counts() -> None:
    again = [*EVENTS, state(WIREGUARD, "started", spec=WIREGUARD.spec()), trial(WIREGUARD, "up", 9.9)]
    record = assembled(again)
    assert len(record.trials) == 3
    assert record.trials[2].verdict == Verdict.FAILED
    assert record.manifest["fingerprint"] == fingerprint(EVENTS)


def test_a_shard_is_finished_when_it_says_so() -> None:
    assert read.finished_shards(read.read_lines(EVENTS)) == {NONE.id}
    interrupted = [*EVENTS, state(WIREGUARD, "interrupted", reason="power")]
    assert read.finished_shards(read.read_lines(interrupted)) == {NONE.id}
    assert assembled([*interrupted, state(WIREGUARD, "finished")]).interrupted == ()


@pytest.mark.parametrize(("clock", "again", "warned"), [("virtual", 0.5, 0), ("virtual", 0.6, 1), ("real", 0.6, 0)])
def test_a_trial_that_came_out_otherwise_in_virtual_time_is_warned_of(clock: str, again: float, warned: int) -> None:
    head = {**RUN, "manifest": {**RUN["manifest"], "lab": {"kind": "vm", "clock": clock}}}
    start = state(NONE, "started", spec=NONE.spec())
    told = [head, start, trial(NONE, "up", 0.5), start, trial(NONE, "up", again), trial(NONE, "up", again)]
    found = assembled(told)
    assert found.trials[0].samples[0][2] == 0.5
    assert [(one.name, one.where) for one in found.warnings] == [("unequal", "none, baseline, up, repeat 1")] * warned


def test_the_substance_of_a_trial_is_verdict_and_samples() -> None:
    one, slower = trial(NONE, "up", 0.5), trial(NONE, "up", 0.5) | {"began": 3.0, "ended": 9.0, "logs": {}}
    assert substance(ended(one)) == substance(ended(slower))
    assert substance(ended(one)) != substance(ended(trial(NONE, "up", 0.5000000001)))
    assert substance(ended(one)) != substance(ended(trial(NONE, "up", 0.5, "failed")))


@pytest.mark.parametrize("events", [[], EVENTS[1:], [{"event": "phase"}]])
def test_a_journal_begins_with_its_run(events: list[Event]) -> None:
    with pytest.raises(JournalError, match="the journal does not begin with its run"):
        assembled(events)


@pytest.mark.parametrize(
    "events",
    [
        changed(6, samples=[["rtt", "s", 0.5, 0.0, "a-b", "a"]]),
        changed(6, samples=[["rtt", "s", 0.5000000000000001, 0.0, "a-b", "a"], *EVENTS[6]["samples"][1:]]),
        changed(6, samples=[["rtt", "s", 0.5, 0.1, "a-b", "a"], *EVENTS[6]["samples"][1:]]),
        changed(6, samples=[["rtt", "ms", 0.5, 0.0, "a-b", "a"], *EVENTS[6]["samples"][1:]]),
        changed(6, samples=[["jitter", "s", 0.5, 0.0, "a-b", "a"], *EVENTS[6]["samples"][1:]]),
        changed(6, samples=[*EVENTS[6]["samples"], EVENTS[6]["samples"][0]]),
        changed(6, verdict="unsupported"),
        changed(6, workload="ping"),
        changed(6, samples=[["rtt", "s", 0.5, 0.0, "a-b", "b"], *EVENTS[6]["samples"][1:]]),
        EVENTS[:-1],
        changed(1, spec=NONE.spec() | {"seed": 8}),
        changed(1, spec=NONE.spec() | {"stack": "ipip"}),
    ],
)
def test_any_other_sample_or_verdict_is_another_fingerprint(events: list[Event]) -> None:
    assert fingerprint(events) != fingerprint(EVENTS)


@pytest.mark.parametrize(
    "events",
    [
        changed(6, began=7.0, ended=8.0, outputs={"ping.txt": "other"}, logs={}),
        changed(13, wall=100.0),
        changed(0, overrides={"seed": 1}, planned=9),
        changed(6, samples=list(reversed(EVENTS[6]["samples"]))),
        [one for one in EVENTS if one["event"] not in ("phase", "warning", "version", "outside")],
    ],
)
def test_times_and_the_order_of_samples_are_not_in_the_fingerprint(events: list[Event]) -> None:
    assert fingerprint(events) == fingerprint(EVENTS)


@given(st.randoms())
def test_the_order_of_events_is_not_in_the_fingerprint(dice: random.Random) -> None:
    shuffled = EVENTS[1:]
    dice.shuffle(shuffled)
    assert fingerprint([RUN, *shuffled]) == fingerprint(EVENTS)


def test_the_fingerprint_is_one_sha_256() -> None:
    assert len(fingerprint(EVENTS)) == 64
    assert int(fingerprint(EVENTS), 16)


@pytest.mark.parametrize("lab", [{"kind": "vm", "clock": "real"}, {"kind": "native", "clock": "real"}])
def test_the_real_clock_makes_no_promise(lab: dict[str, str]) -> None:
    assert fingerprint(changed(0, manifest={"lab": lab})) == "no promise"


def test_the_fingerprint_does_not_depend_on_the_order_of_events() -> None:
    def backwards(event: dict[str, Any]) -> dict[str, Any]:
        return {**event, "samples": event["samples"][::-1]} if event["event"] == "trial" else event

    states = [event for event in EVENTS if event["event"] != "trial"]
    told = [backwards(event) for event in EVENTS if event["event"] == "trial"]
    other = [*states, *told[::-1]]
    assert assembled(other).manifest["fingerprint"] == assembled(EVENTS).manifest["fingerprint"]
    whole = json.loads(json.dumps(EVENTS))
    next(event for event in whole if event.get("samples"))["samples"][0][2] += 1e-9
    assert assembled(whole).manifest["fingerprint"] != assembled(EVENTS).manifest["fingerprint"]


def test_a_trial_knows_the_command_that_took_longest() -> None:
    shells = [("until ss; do sleep 1; done", 9.0), ("iperf3 --client", 2.0), ("ss", 0.1)]
    told: list[dict[str, Any]] = []
    for event in EVENTS:
        if event["event"] == "trial":
            told.append(
                {"event": "phase", "shard": event["shard"], "name": "trial", "workload": event["workload"], "at": 1.0}
            )
            told += [
                {"event": "command", "shard": event["shard"], "shell": shell, "took": took} for shell, took in shells
            ]
        told.append(event)
    assert {trial.command for trial in assembled(told).trials} == {"iperf3 --client"}
