"""Executes shards side by side, as many at once as there are workers; one worker executes them one after the other."""

import json
import select
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tunbench.journal import validation
from tunbench.journal.checks import InvalidEvent
from tunbench.journal.events import JournalEvent, Line, PhaseBegan, read_event
from tunbench.labs.execution import Execution
from tunbench.labs.lab import Lab
from tunbench.plan.estimate.duration import shard_seconds
from tunbench.plan.shard import Shard

POLL = 0.05
"""Seconds between two looks at what the labs wrote, at least."""

LONGEST_WAIT = 5.0
"""Seconds without a look at most, while no lab tells anything: each look takes time from what is measured."""

WALL_LIMIT = 1800.0
"""Seconds of wall clock, or five times its estimate, after which a shard is given up as interrupted. The runner keeps
the lab's own time limits."""


MOST_LOSSES = 5
"""How often a shard begins anew whose machine has gone: at some point it is the shard that they go from."""

Seats = Callable[[], int]
"""How many shards are executed at a time; machines may come and go."""


def seats_of(workers: int | Seats) -> Seats:
    """The same of a number of workers that stays."""
    return workers if callable(workers) else lambda: workers


class ShardEvent(NamedTuple):
    """Something that happened to a shard: its runner told it, or the pool, that it began or came to its end.

    `line` is what the journal gets, and `event` what it says; None where nobody reads such a one.
    """

    shard: Shard
    line: Line
    event: JournalEvent | None


@dataclass
class RunningShard:
    """A shard under way and the seconds of wall clock that it may take.

    `heard` counts its events and `warned` its warnings, `ended` says whether the last event is its end, and `refused`
    why what it told cannot be believed.
    """

    shard: Shard
    execution: Execution
    limit: float
    heard: int = 0
    warned: int = 0
    ended: bool = False
    refused: str = ""


def execute(lab: Lab, waiting: deque[Shard], seats: Seats, scratch: Path) -> Iterator[ShardEvent]:
    """Executes the shards that wait and yields what happens, as it happens. Leaving the iteration ends all labs.

    Shards are taken from the left; whoever iterates may append others meanwhile. One whose machine has gone is given
    back to the left.
    """
    running: list[RunningShard] = []
    losses: Counter[str] = Counter()
    try:
        while waiting or running:
            while len(running) < seats() and waiting:
                shard = waiting.popleft()
                folder = scratch / shard.id
                folder.mkdir(parents=True, exist_ok=True)
                yield _state(shard, "started", spec=shard.spec())
                limit = max(WALL_LIMIT, 5 * shard_seconds(shard))
                running.append(RunningShard(shard, lab.start(shard, folder), limit))
                yield from _warnings(running[-1])
            for one in list(running):
                alive = one.execution.running()
                yield from _warnings(one)
                yield from _news(one)
                reason = _reason_to_end(one, alive)
                if reason is not None:
                    running.remove(one)
                    one.execution.stop()
                    if reason and one.execution.lost and losses[one.shard.id] < MOST_LOSSES:
                        losses[one.shard.id] += 1
                        waiting.appendleft(one.shard)
                    yield _ending(one, reason)
                    # The next ones need the room.
                    shutil.rmtree(scratch / one.shard.id, ignore_errors=True)
            _wait(running)
    finally:
        for one in running:
            one.execution.stop()


def _wait(running: Sequence[RunningShard]) -> None:
    """Waits until a lab has told something or has ended, and until what it tells at once is there."""
    if running and all(one.execution.wakes for one in running):
        poll = select.poll()
        for descriptor in (descriptor for one in running for descriptor in one.execution.wakes):
            poll.register(descriptor, select.POLLIN)
        poll.poll(1000 * LONGEST_WAIT)
    time.sleep(POLL)


def _warnings(one: RunningShard) -> Iterator[ShardEvent]:
    new = one.execution.warnings[one.warned :]
    one.warned += len(new)
    for name, text in new:
        line = {"shard": one.shard.id, "event": "warning", "name": name, "text": text}
        yield ShardEvent(one.shard, line, read_event(line))


def _news(one: RunningShard) -> Iterator[ShardEvent]:
    for text in one.execution.lines():
        try:
            told = json.loads(text)
            expected = told.pop("n") == one.heard
            line = {"shard": one.shard.id, **told}
            # What no reader of the journal would take must not get into it.
            validation.check(line, validation.EVENT_CHECKS)
        except InvalidEvent as error:
            one.refused = f"the lab told what cannot be: {error}"
            return
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            expected = False
        if not expected:
            one.refused = "an event of the lab is lost or torn"
            return
        one.heard += 1
        event = read_event(line)
        one.ended = isinstance(event, PhaseBegan) and event.name == "end"
        yield ShardEvent(one.shard, line, event)


def _reason_to_end(one: RunningShard, alive: bool) -> str | None:
    """Why a shard is over: an empty text where it came to its end, None where it goes on."""
    if one.refused:
        return one.refused
    if one.ended and not alive:
        return ""
    if one.execution.lost:
        return one.execution.lost
    if not alive:
        return "the lab ended before the shard did"
    if one.execution.age() > one.limit:
        return f"the shard did not end within {one.limit:g} s of wall clock"
    return None


def _ending(one: RunningShard, reason: str) -> ShardEvent:
    if not reason:
        return _state(one.shard, "finished", wall=round(one.execution.age(), 3))
    return _state(one.shard, "interrupted", reason=f"{reason}; its last words:\n{one.execution.last_words()}")


def _state(shard: Shard, state: str, **fields: Any) -> ShardEvent:
    line = {"shard": shard.id, "event": "shard", "state": state, **fields}
    return ShardEvent(shard, line, read_event(line))
