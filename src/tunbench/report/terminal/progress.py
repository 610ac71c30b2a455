"""A live display of a run: how far it is, what it does, and the time that is left."""

import math
import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import BlockAnswered, PhaseBegan, ShardEnded, ShardStarted, TrialEnded
from tunbench.journal.folders import label_of_shard
from tunbench.plan.shard import Shard
from tunbench.plan.until import BLOCK
from tunbench.report.reasons import shortened
from tunbench.runner.declare.verdicts import Verdict

CUT, ENDING, OVER = "then what is under way ends", "ending what is under way", "the time is over"
"""What follows where a limit comes before the end; what goes on behind it; and that nothing does any more."""


class Display:
    """Shows a bar on a terminal, and a line for each shard elsewhere.

    `total` shards are asked for, of which `done` are there from an earlier time. `expected` has the others by their
    names, and those that may be asked for besides until every group has `most` repeats, with the seconds that each is
    taken to need. `seconds` is an estimate for all of these, `workers` at a time; after `limit` seconds none begins any
    more, and those under way come to their end.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        workers: int,
        seconds: float,
        expected: Mapping[str, float],
        most: int = 0,
        done: int = 0,
        limit: float | None = None,
    ) -> None:
        self.console = console
        self.workers = workers
        self.total = total
        self.before = done
        self.possible = len(expected) - (total - done)
        self.expected = expected
        self.work = sum(expected.values())
        self.end = time.monotonic() + limit if limit else None
        self.most = most
        self.began: dict[str, float] = {}
        self.ended = 0
        self.took = self.foreseen = 0.0
        self.seconds = seconds
        self.said: dict[str, str] = {}
        self.lines: dict[str, TaskID] = {}
        self.progress = Progress(
            *(_text("description"), BarColumn(), MofNCompleteColumn(), _text("fields[left]")),
            console=console,
            disable=not console.is_terminal,
            # On the real clock this machine measures meanwhile: ten times a second would take 1.5 % of a core.
            refresh_per_second=1,
        )
        left = self._told(seconds)
        self.whole = self.progress.add_task("shards", total=self.total, completed=done, left=_beside_a_bar(left))
        if (not console.is_terminal or CUT in left) and done < total:
            there = f"{done} of {total} shards are there; the rest" if done else f"{total} shard{'s'[: total - 1]}"
            console.print(f"{there}, {workers} at a time: {left}")

    def __enter__(self) -> "Display":
        """Begins to show."""
        self.progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Ends to show."""
        self.progress.stop()

    def watch(self, happened: ShardEvent) -> None:
        """Takes what happened to a shard."""
        shard, _, event = happened
        name = label_of_shard(shard.spec())
        match event:
            case BlockAnswered():
                self._ask(shard, event)
            case ShardStarted():
                self.began[shard.id] = time.monotonic()
                self.lines[shard.id] = self.progress.add_task(f"  {name}", total=len(shard.workloads) + 1, left="boots")
            case ShardEnded():
                self._end(shard, name, "finished" if event.finished else "interrupted")
            case PhaseBegan():
                self.progress.update(self.lines[shard.id], left=event.workload or event.name)
            case TrialEnded():
                self.progress.advance(self.lines[shard.id])
                if event.verdict != Verdict.OK:
                    self.console.print(f"{name}, {event.workload}: {event.verdict}: {self._why(shard, event.reason)}")
        if self.end and not isinstance(event, ShardEnded):
            self.progress.update(self.whole, left=_beside_a_bar(self._left()))

    def _why(self, shard: Shard, reason: str) -> str:
        """Why a trial did not end well; of a shard that did not come up, all trials have the same reason."""
        if self.said.get(shard.id) == reason:
            return "for the same reason"
        self.said[shard.id] = reason
        return shortened(reason)

    def _ask(self, shard: Shard, answer: BlockAnswered) -> None:
        """Takes the answer of a block that a shard ended: another is asked for, or none of the possible ones comes."""
        if answer.more:
            self.total += BLOCK
            self.possible -= BLOCK
        else:
            spared = self.most - answer.repeats
            self.possible -= spared
            self.work -= spared * self.expected[shard.id]
        self.progress.update(self.whole, total=self.total, left=_beside_a_bar(self._left()))

    def _done(self) -> int:
        return self.before + self.ended

    def _left(self) -> str:
        """The time that is left: what is expected, as many times longer as the shards that are done have taken."""
        seconds = (self.work - self.foreseen) * self.took / self.foreseen / self.workers if self.ended else self.seconds
        return self._told(max(0.0, seconds), " left")

    def _told(self, seconds: float, left: str = "") -> str:
        """So many seconds of work, as far as the limit lets them begin: what is under way then comes to its end."""
        until = self.end - time.monotonic() if self.end else math.inf
        if seconds <= until:
            return f"{'at most ' if self.possible else ''}about {_minutes(seconds)}{left}"
        if until > 0:
            return f"about {_minutes(until)}, {CUT}"
        return ENDING if self.lines else OVER

    def _end(self, shard: Shard, name: str, state: str) -> None:
        seconds = time.monotonic() - self.began[shard.id]
        self.ended += 1
        self.took += seconds
        self.foreseen += self.expected[shard.id]
        self.progress.remove_task(self.lines.pop(shard.id))
        # Behind the last shard there is nothing that could be left.
        left = "" if self._done() == self.total + self.possible else self._left()
        self.progress.update(self.whole, advance=1, left=_beside_a_bar(left))
        if not self.console.is_terminal:
            state += f" in {seconds:.0f} s"
            self.console.print(f"[{self._done()}/{self.total}] {name}: {state}{left and f', {left}'}")


def _text(field: str) -> TextColumn:
    """A column that shows a field of a task as it is."""
    return TextColumn(f"{{task.{field}}}", markup=False)


def _beside_a_bar(left: str) -> str:
    """What a bar has room for: that what is under way then ends is said once, above it."""
    return left.removesuffix(f", {CUT}")


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
