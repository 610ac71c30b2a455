"""A live display of a run: how far it is, what it does, and the time that is left."""

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from tunbench.executors.pool import Told
from tunbench.journal.folders import place
from tunbench.plan.shard import Shard


class Display:
    """Shows a bar on a terminal, and a line for each shard elsewhere."""

    def __init__(self, console: Console, shards: Sequence[Shard], workers: int, seconds: float) -> None:
        self.console = console
        self.workers = workers
        self.total = len(shards)
        self.began: dict[str, float] = {}
        self.took: list[float] = []
        self.progress = Progress(
            *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")),
            console=console,
            disable=not console.is_terminal,
        )
        self.whole = self.progress.add_task("shards", total=self.total, left=f"about {_minutes(seconds)}")
        self.lines: dict[str, TaskID] = {}

    def __enter__(self) -> "Display":
        """Begins to show."""
        self.progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Ends to show."""
        self.progress.stop()

    def watch(self, told: Told) -> None:
        """Takes what happened to a shard."""
        shard, event = told
        name = place(shard.spec())
        if event["event"] == "shard" and event["state"] == "started":
            self.began[shard.id] = time.monotonic()
            self.lines[shard.id] = self.progress.add_task(f"  {name}", total=len(shard.workloads) + 1, left="boots")
        elif event["event"] == "shard":
            self._end(shard, name, event["state"])
        elif event["event"] == "phase":
            self.progress.update(self.lines[shard.id], left=event.get("workload", event["name"]))
        elif event["event"] == "trial":
            self.progress.advance(self.lines[shard.id])
            if event["verdict"] != "ok":
                self.console.print(f"{name}, {event['workload']}: {event['verdict']}: {event['reason']}", markup=False)

    def _end(self, shard: Shard, name: str, state: str) -> None:
        seconds = time.monotonic() - self.began[shard.id]
        self.took.append(seconds)
        self.progress.remove_task(self.lines.pop(shard.id))
        left = (self.total - len(self.took)) * (sum(self.took) / len(self.took)) / self.workers
        self.progress.update(self.whole, advance=1, left=f"about {_minutes(left)} left" if left else "")
        if not self.console.is_terminal:
            done = f"[{len(self.took)}/{self.total}]"
            self.console.print(
                f"{done} {name}: {state} in {seconds:.0f} s, about {_minutes(left)} left", markup=False, highlight=False
            )


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
