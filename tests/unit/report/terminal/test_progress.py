"""What is shown of a run while it goes on."""

import io
from typing import Any

from rich.console import Console

from tests.helpers.fakes import shard
from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import BlockAnswered, read_event
from tunbench.plan.shard import Shard
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
    with Display(Console(file=out, width=200), 1, 1, 1.0, {one.id: 1.0}) as display:
        for line in lines:
            display.watch(ShardEvent(one, line, read_event({"shard": one.id, **line})))
    return out.getvalue()


def alike(one: Shard, number: int) -> dict[str, float]:
    """So many shards that are expected to take as long as this one."""
    return {one.id: 1.0} | {f"other {n}": 1.0 for n in range(number - 1)}


def go_through(display: Display, one: Shard, seconds: float = 0.0) -> None:
    """Shows a shard that took so long."""
    started = {"event": "shard", "state": "started", "spec": one.spec()}
    ended = {"event": "shard", "state": "finished"}
    display.watch(ShardEvent(one, started, read_event({"shard": one.id, **started})))
    display.began[one.id] -= seconds
    display.watch(ShardEvent(one, ended, read_event({"shard": one.id, **ended})))


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
    with Display(Console(file=out, width=200), 84, 1, 90.0, alike(one, 79), done=5) as display:
        go_through(display, one)
    first, last = out.getvalue().splitlines()
    assert first == "5 of 84 shards are there; the rest, 1 at a time: about 90 s"
    assert last.startswith("[6/84] ")


def test_the_time_that_is_left_is_what_the_rest_is_expected_to_take_at_the_pace_of_what_is_done() -> None:
    # Of two short shards and four long ones a short one took twice what was expected, two at a time.
    out, one = io.StringIO(), shard()
    expected = {one.id: 10.0, "short": 10.0, **{f"long {n}": 300.0 for n in range(4)}}
    with Display(Console(file=out, width=200), 6, 2, 610.0, expected) as display:
        go_through(display, one, 20)
    first, last = out.getvalue().splitlines()
    assert first.endswith("about 10 min") and last.endswith("finished in 20 s, about 20 min left")


def test_what_is_not_asked_for_any_more_is_not_waited_for() -> None:
    out, one = io.StringIO(), shard()
    expected = {one.id: 60.0, **{f"asked {n}": 60.0 for n in range(9)}, **{f"possible {n}": 60.0 for n in range(50)}}
    enough = BlockAnswered("group", {}, 5, True, 0, None)
    with Display(Console(file=out, width=200), 10, 1, 3600.0, expected, most=30) as display:
        go_through(display, one, 60)
        display.watch(ShardEvent(one, {}, enough))
        assert display.progress.tasks[0].fields["left"] == "at most about 34 min left"
        display.watch(ShardEvent(one, {}, enough))
        assert display.progress.tasks[0].fields["left"] == "about 9 min left"


def test_what_is_under_way_when_the_time_is_over_is_said_to_end() -> None:
    out, one = io.StringIO(), shard()
    with Display(Console(file=out, width=200), 84, 1, 9000.0, alike(one, 84), limit=120) as display:
        for seconds in (1000, 0):
            go_through(display, one, seconds)
            display.end = display.began[one.id]
    first, second, third = out.getvalue().splitlines()
    assert first == "84 shards, 1 at a time: about 2 min, then what is under way ends"
    assert second.endswith("about 2 min, then what is under way ends") and third.endswith("the time is over")


def test_a_shard_that_goes_on_when_the_time_is_over_is_waited_for() -> None:
    out, one = io.StringIO(), shard()
    began = {"event": "phase", "name": "boot", "at": 0.0}
    started = {"event": "shard", "state": "started", "spec": one.spec()}
    with Display(
        Console(file=out, force_terminal=True, width=200), 84, 1, 9000.0, alike(one, 84), limit=120
    ) as display:
        display.watch(ShardEvent(one, started, read_event({"shard": one.id, **started})))
        assert display.progress.tasks[0].fields["left"] == "about 2 min"
        assert out.getvalue().count(" min, then what is under way ends\n") == 1
        display.end = display.began[one.id]
        display.watch(ShardEvent(one, began, read_event({"shard": one.id, **began})))
        assert display.progress.tasks[0].fields["left"] == "ending what is under way"


def test_a_limit_that_cuts_nothing_is_not_told() -> None:
    out = io.StringIO()
    with Display(Console(file=out, width=200), 20, 2, 90.0, alike(shard(), 20), limit=600):
        pass
    with Display(Console(file=out, width=200), 20, 2, 90.0, alike(shard(), 60), most=30, limit=600):
        pass
    first, second = out.getvalue().splitlines()
    assert first == "20 shards, 2 at a time: about 90 s"
    assert second == "20 shards, 2 at a time: at most about 90 s"
