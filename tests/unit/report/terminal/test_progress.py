"""What is shown of a run while it goes on."""

import io
from typing import Any

from rich.console import Console

from tests.helpers.fakes import shard
from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import read_event
from tunbench.report.terminal.progress import Display

USAGE = "gre, exit status 1: Usage: ip link add\n" + "\n".join(f"  [ option {n} ]" for n in range(25)) + "\nwrong key"


def shown(*reasons: str) -> str:
    """What is shown of one shard whose trials failed for these reasons."""
    out, one = io.StringIO(), shard()
    lines: list[dict[str, Any]] = [
        {"event": "shard", "state": "started", "spec": one.spec()},
        *(
            {"event": "trial", "workload": f"w{n}", "verdict": "failed", "reason": reason, "samples": []}
            for n, reason in enumerate(reasons)
        ),
    ]
    with Display(Console(file=out, width=200), 1, 1, 1.0) as display:
        for line in lines:
            display.watch(ShardEvent(one, line, read_event({"shard": one.id, **line})))
    return out.getvalue()


def test_the_usage_that_a_failed_command_printed_is_shown_by_its_ends_and_once() -> None:
    told = shown(USAGE, USAGE)
    assert told.count("Usage: ip link add") == told.count("wrong key") == 1
    assert "… 25 lines more, which the report has" in told
    assert "w1: failed: for the same reason" in told
    assert told.startswith("1 shard, 1 at a time: about 1 s\n") and len(told.splitlines()) == 5


def test_a_short_reason_and_one_that_is_another_are_shown_whole() -> None:
    assert "w0: failed: two\nlines" in shown("two\nlines")
    assert "w1: failed: other" in shown("one", "other")


def test_a_run_that_goes_on_counts_on_from_what_is_there() -> None:
    out, one = io.StringIO(), shard()
    ended = {"event": "shard", "state": "finished"}
    started = {"event": "shard", "state": "started", "spec": one.spec()}
    with Display(Console(file=out, width=200), 84, 1, 90.0, done=5) as display:
        for line in (started, ended):
            display.watch(ShardEvent(one, line, read_event({"shard": one.id, **line})))
    first, last = out.getvalue().splitlines()
    assert first == "5 of 84 shards are there; the rest, 1 at a time: about 90 s"
    assert last.startswith("[6/84] ")


def test_what_is_under_way_when_the_time_is_over_is_said_to_end() -> None:
    out, one = io.StringIO(), shard()
    ended = {"event": "shard", "state": "finished"}
    started = {"event": "shard", "state": "started", "spec": one.spec()}
    with Display(Console(file=out, width=200), 84, 1, 9000.0, limit=120) as display:
        for seconds in (1000, 0):
            display.watch(ShardEvent(one, started, read_event({"shard": one.id, **started})))
            display.began[one.id] -= seconds
            display.watch(ShardEvent(one, ended, read_event({"shard": one.id, **ended})))
            display.end = display.began[one.id]
    first, second, third = out.getvalue().splitlines()
    assert first == "84 shards, 1 at a time: about 2 min, then what is under way ends"
    assert second.endswith("about 2 min, then what is under way ends") and third.endswith("the time is over")


def test_a_shard_that_goes_on_when_the_time_is_over_is_waited_for() -> None:
    out, one = io.StringIO(), shard()
    began = {"event": "phase", "name": "boot", "at": 0.0}
    started = {"event": "shard", "state": "started", "spec": one.spec()}
    with Display(Console(file=out, force_terminal=True, width=200), 84, 1, 9000.0, limit=120) as display:
        display.watch(ShardEvent(one, started, read_event({"shard": one.id, **started})))
        assert display.progress.tasks[0].fields["left"] == "about 2 min"
        assert out.getvalue().count(" min, then what is under way ends\n") == 1
        display.end = display.began[one.id]
        display.watch(ShardEvent(one, began, read_event({"shard": one.id, **began})))
        assert display.progress.tasks[0].fields["left"] == "ending what is under way"


def test_a_limit_that_cuts_nothing_is_not_told() -> None:
    out = io.StringIO()
    with Display(Console(file=out, width=200), 20, 2, 90.0, limit=600):
        pass
    with Display(Console(file=out, width=200), 20, 2, 90.0, possible=40, most=30, limit=600):
        pass
    first, second = out.getvalue().splitlines()
    assert first == "20 shards, 2 at a time: about 90 s"
    assert second == "20 shards, 2 at a time: at most about 90 s"
