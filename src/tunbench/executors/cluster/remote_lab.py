"""A lab whose shards start on the workers of a cluster; all else of it is that of this machine."""

import itertools
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tunbench.executors.choice import DaskChoice, ExecutorError
from tunbench.executors.cluster import on_worker_task
from tunbench.executors.cluster.connection import SchedulerGone
from tunbench.executors.cluster.crew import Crew
from tunbench.executors.cluster.remote_execution import RemoteExecution
from tunbench.labs.execution import Execution
from tunbench.labs.extras import Extra, Needing
from tunbench.labs.lab import Lab
from tunbench.labs.real_time.host_state import HostState
from tunbench.plan.axes.machine import Machine
from tunbench.plan.shard import Shard
from tunbench.plugins.folder import Plugin
from tunbench.runner.declare.access import Accesses

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 60.0
"""Seconds for which a run without any worker waits for one."""

KEPT_MESSAGES, KEPT_SETTING = 1000, "distributed.admin.low-level-log-length"
"""How many messages of a topic a scheduler keeps, where neither its configuration nor this machine's says else."""


class RemoteLab:
    """Hands shards to a scheduler. `seats` says how many at a time."""

    def __init__(self, lab: Lab, client: "Client", choice: DaskChoice, crew: Crew) -> None:
        self.lab, self.client, self.choice, self.crew = lab, client, choice, crew
        self.handed: dict[str, RemoteExecution] = {}
        self._numbers = itertools.count(1)
        self._alone_since: float | None = None
        self._early: dict[str, list[Mapping[str, Any]]] = {}
        self._lock = threading.Lock()
        client.subscribe_topic(crew.run, self._heard)

    def seats(self) -> int:
        """How many shards the workers take at a time. Raises ExecutorError where nobody will take any."""
        if self.client.status != "running":
            raise SchedulerGone(self.choice)
        if self.crew.failed:
            raise ExecutorError(self.crew.failed)
        count = self.crew.seats
        self._alone_since = None if count else self._alone_since or time.monotonic()
        if self._alone_since and time.monotonic() - self._alone_since > PATIENCE:
            raise ExecutorError(
                f"{self.choice.name} has had no worker for {PATIENCE:g} s; start some{self.crew.reasons}"
            )
        return count

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Hands a shard to the scheduler, which hands it to a worker."""
        key = f"tunbench-{self.crew.run}-{shard.id}-{next(self._numbers)}"
        workers = list(self.crew.used)
        with self._lock:
            # A worker may tell something before this thread knows what it has handed out.
            self._early[key] = []
        future = self.client.submit(
            on_worker_task.execute,
            self.crew.run,
            list(on_worker_task.cell(shard)),
            shard.repeat,
            shard.id,
            key=key,
            workers=workers,
            pure=False,
            retries=0,
        )
        one = RemoteExecution(future, workers, lambda: self.crew.used, self.crew.refuse)
        with self._lock:
            self.handed = {name: other for name, other in self.handed.items() if other.is_open} | {key: one}
            for message in self._early.pop(key):
                one.told(message)
        return one

    def close(self) -> None:
        """Ends all that is under way, and takes away what the scheduler keeps of the run."""
        for one in self.handed.values():
            one.stop()
        if self.client.status == "running":
            self._push_out()

    def _push_out(self) -> None:
        """Has the scheduler keep empty messages in the place of the run's: it takes none away before it ends."""
        from dask import config

        # It may go at any moment, and with it what it keeps.
        with suppress(OSError):
            self.client.unsubscribe_topic(self.crew.run)
            self.client.log_event([self.crew.run] * int(config.get(KEPT_SETTING, KEPT_MESSAGES) or 0), "")

    def _heard(self, event: tuple[float, Any]) -> None:
        _, message = event
        if not isinstance(message, Mapping):
            return
        key = str(message.get("key"))
        with self._lock:
            if key in self._early:
                self._early[key].append(message)
            elif key in self.handed:
                self.handed[key].told(message)

    @property
    def kind(self) -> str:
        """What a plan calls it."""
        return self.lab.kind

    @property
    def clock(self) -> str:
        """The virtual one: no other lab is shared."""
        return self.lab.clock

    @property
    def extras(self) -> tuple[Extra, ...]:
        """Those that are sent."""
        return self.lab.extras

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """None that a shard uses."""
        return self.lab.plugins

    @property
    def exclusive(self) -> bool:
        """Workers are shared."""
        return False

    @property
    def hidden_folders(self) -> tuple[Path, ...]:
        """Those of the lab."""
        return self.lab.hidden_folders

    @property
    def deciding_facts(self) -> Mapping[str, str]:
        """Those of the lab: no worker differs in them."""
        return self.lab.deciding_facts

    def with_extras(self, extras: Iterable[Extra]) -> Self:
        """The workers have been told of the extras that there are."""
        return self

    def with_plugins(self, plugins: Iterable[Plugin]) -> Self:
        """No plug-in is sent."""
        return self

    def check(
        self, needing: Iterable[Needing], machines: Iterable[Machine], accesses: Iterable[Accesses]
    ) -> dict[str, Any]:
        """What the manifest says of the lab."""
        return self.lab.check(needing, machines, accesses)

    def examine(self, shards: Sequence[Shard]) -> HostState | None:
        """The state of this machine has no part in the numbers."""
        return self.lab.examine(shards)
