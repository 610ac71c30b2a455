"""Executes shards side by side, as many at once as there are workers; one worker executes them one after the other."""

import json
import select
import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tunbench.journal import validation
from tunbench.labs.execution import Execution
from tunbench.plan.estimate.duration import shard_seconds
from tunbench.plan.shard import Shard

POLL = 0.05
"""Seconds between two looks at what the labs wrote, at least."""

PATIENCE = 5.0
"""Seconds without a look at most, while no lab tells anything: each look takes time from what is measured."""

WALL_LIMIT = 1800.0
"""Seconds of wall clock, or five times its estimate, after which a shard is given up as interrupted. The runner keeps
the lab's own time limits."""


class Lab(Protocol):
    """A place where shards execute."""

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Starts the runner with a shard; what it writes goes to the folder."""


class Told(NamedTuple):
    """Something that happened to a shard: an event of its runner, or its `state` (started, finished, interrupted)."""

    shard: Shard
    event: dict[str, Any]


@dataclass
class Under:
    """A shard under way and the seconds of wall clock that it may take.

    `told` are the events that it has told, `ended` says whether the last of them is its end, and `refused` why what it
    told cannot be believed.
    """

    shard: Shard
    execution: Execution
    limit: float
    told: int = 0
    ended: bool = False
    refused: str = ""


def execute(lab: Lab, waiting: deque[Shard], workers: int, scratch: Path) -> Iterator[Told]:
    """Executes the shards that wait and yields what happens, as it happens. Leaving the iteration ends all labs.

    Shards are taken from the left; whoever iterates may append others meanwhile.
    """
    under: list[Under] = []
    try:
        while waiting or under:
            while waiting and len(under) < workers:
                shard = waiting.popleft()
                folder = scratch / shard.id
                folder.mkdir(parents=True, exist_ok=True)
                yield _state(shard, "started", spec=shard.spec())
                limit = max(WALL_LIMIT, 5 * shard_seconds(shard))
                under.append(Under(shard, lab.start(shard, folder), limit))
            for one in list(under):
                alive = one.execution.running()
                yield from _news(one)
                reason = _reason_to_end(one, alive)
                if reason is not None:
                    under.remove(one)
                    one.execution.stop()
                    yield _ending(one, reason)
                    # The next ones need the room.
                    shutil.rmtree(scratch / one.shard.id, ignore_errors=True)
            _wait(under)
    finally:
        for one in under:
            one.execution.stop()


def _wait(under: Sequence[Under]) -> None:
    """Waits until a lab has told something or has ended, and until what it tells at once is there."""
    if under and all(one.execution.wakes for one in under):
        poll = select.poll()
        for descriptor in (descriptor for one in under for descriptor in one.execution.wakes):
            poll.register(descriptor, select.POLLIN)
        poll.poll(1000 * PATIENCE)
    time.sleep(POLL)


def _news(one: Under) -> Iterator[Told]:
    for line in one.execution.lines():
        try:
            event = json.loads(line)
            expected = event.pop("n") == one.told
            # What no reader of the journal would take must not get into it.
            validation.check({"shard": one.shard.id, **event}, validation.EVENTS)
        except validation.Unsound as error:
            one.refused = f"the lab told what cannot be: {error}"
            return
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            expected = False
        if not expected:
            one.refused = "an event of the lab is lost or torn"
            return
        one.told += 1
        one.ended = event.get("event") == "phase" and event.get("name") == "end"
        yield Told(one.shard, event)


def _reason_to_end(one: Under, alive: bool) -> str | None:
    """Why a shard is over: an empty text where it came to its end, None where it goes on."""
    if one.refused:
        return one.refused
    if one.ended and not alive:
        return ""
    if not alive:
        return "the lab ended before the shard did"
    if one.execution.age() > one.limit:
        return f"the shard did not end within {one.limit:g} s of wall clock"
    return None


def _ending(one: Under, reason: str) -> Told:
    if not reason:
        return _state(one.shard, "finished", wall=round(one.execution.age(), 3))
    return _state(one.shard, "interrupted", reason=f"{reason}; its last words:\n{one.execution.last_words()}")


def _state(shard: Shard, state: str, **fields: Any) -> Told:
    return Told(shard, {"event": "shard", "state": state, **fields})
