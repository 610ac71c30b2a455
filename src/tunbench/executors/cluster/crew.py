"""The workers that take part in a run: each is asked, given what it lacks and told of the run before its first shard.

They are looked for as long as the run goes on, so that one which comes later, or comes back, takes part as well.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tunbench.executors.choice import DaskChoice, ExecutorError
from tunbench.executors.cluster import on_worker_greeting, on_worker_task, shipment
from tunbench.executors.cluster.connection import SchedulerGone
from tunbench.executors.cluster.fitness import VM_BYTES, Fitness, judged
from tunbench.executors.cluster.sent_image import SentImage
from tunbench.executors.cluster.sent_template import NoTemplate, kept
from tunbench.plain_text import line

if TYPE_CHECKING:
    from distributed import Client

LOOK_SECONDS = 1.0

JUDGED_AGAIN_SECONDS = 30.0
"""How often a worker whose host was short of memory is asked again."""

Tell = Callable[[str], None]


class Crew:
    """Workers by their addresses: how many shards each that is used takes at a time, and why others are not used."""

    def __init__(
        self,
        client: "Client",
        choice: DaskChoice,
        run: str,
        images: Sequence[SentImage],
        templates: Sequence[SentImage],
        work: Mapping[str, Any],
        vm_bytes: int = VM_BYTES,
    ) -> None:
        self.client, self.choice, self.run = client, choice, run
        self.images, self.templates, self.work, self.vm_bytes = images, templates, work, vm_bytes
        self.here = on_worker_greeting.said_here()
        self.failed = ""
        self._used: dict[str, Fitness] = {}
        self._refused: dict[str, str] = {}
        self._short: set[str] = set()
        self._judged = time.monotonic()
        # Whoever waits for shards asks and refuses, while another thread looks.
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look_on, daemon=True)
        self._tell: Tell = lambda text: None

    @property
    def used(self) -> Mapping[str, int]:
        """How many shards each worker that takes part takes at a time."""
        with self._lock:
            return {worker: one.threads for worker, one in self._used.items()}

    @property
    def seats(self) -> int:
        """How many shards all of them take at a time."""
        return sum(self.used.values())

    @property
    def reasons(self) -> str:
        """Why workers are not used, each on a line of its own, behind what is said before."""
        with self._lock:
            return "".join(f"\n  {worker}: {why}" for worker, why in sorted(self._refused.items()))

    def gather(self, tell: Tell) -> None:
        """Takes on all that are there, and tells of it; then goes on looking in the background.

        Raises ExecutorError. What goes wrong later is in `failed`.
        """
        self._tell = tell
        self._look()
        self._looking.start()

    def refuse(self, worker: str, why: str) -> None:
        """Lets a worker take no more."""
        with self._lock:
            self._used.pop(worker, None)
        self._refuse({worker: why})

    def close(self) -> None:
        """Looks no more, and lets the workers forget the run."""
        self._over.set()
        if self._looking.is_alive():
            self._looking.join(10)
        if self.client.status == "running":
            shipment.ran(self.client, list(self.used), on_worker_task.forget, self.run)

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            try:
                if self.client.status == "running":
                    self._look()
            except SchedulerGone:
                # Whoever waits for shards finds that out, and says so.
                continue
            except ExecutorError as error:
                self.failed = f"{error}"
                return
            except Exception as error:
                self.failed = (
                    f"looking for workers of {self.choice.name} has failed: "
                    f"{type(error).__name__}: {line(str(error), 300)}"
                )
                return

    def _look(self) -> None:
        there = workers_of(self.client, self.choice)
        with self._lock:
            gone = [worker for worker in self._used if worker not in there]
            self._used = {worker: one for worker, one in self._used.items() if worker in there}
            self._refused = {worker: why for worker, why in self._refused.items() if worker in there}
            self._short &= there.keys()
            known = {*self._used, *self._refused} - self._to_judge_again()
        for worker in gone:
            self._tell(f"worker {worker} is gone; its shards begin anew elsewhere")
        if fresh := {worker: threads for worker, threads in there.items() if worker not in known}:
            self._take_on(fresh)

    def _to_judge_again(self) -> set[str]:
        """Those whose host was short of memory, now and then."""
        if time.monotonic() - self._judged < JUDGED_AGAIN_SECONDS:
            return set()
        self._judged = time.monotonic()
        return self._short

    def _take_on(self, fresh: Mapping[str, int]) -> None:
        with self._lock:
            used = list(self._used.values())
        fit = examined(self.client, self.images, fresh, self.here, used, self.vm_bytes)
        self._refuse(
            {one.address: one.refusal for one in fit if one.refusal}, {one.address for one in fit if one.short}
        )
        left = self._sent([one for one in fit if not one.refusal])
        self._send_templates(left)
        answers = shipment.ran(
            self.client, [one.address for one in left], on_worker_task.prepare, self.run, dict(self.work)
        )
        failed = {worker: line(f"{answer}", 300) for worker, answer in answers.items() if isinstance(answer, Exception)}
        self._refuse(failed)
        with self._lock:
            taken = {one.address: one for one in left if one.address not in failed}
            self._used |= taken
            self._refused = {worker: why for worker, why in self._refused.items() if worker not in taken}
            self._short -= taken.keys()

    def _sent(self, fit: Sequence[Fitness]) -> list[Fitness]:
        """Sends what lacks, once to each cache; returns those that have it all."""
        caches = {str(one.said["cache"]): one.address for one in fit}
        lacked = shipment.lacked(self.client, self.images, list(caches.values()))
        for image in self.images:
            wanting = [worker for worker, lacks in lacked.items() if image in lacks]
            if not wanting:
                continue
            self._say_sending(image, len(wanting))
            failed = shipment.send(self.client, self.run, image, wanting)
            # What does not go into a cache is lacked by all who share it.
            without = {one.address: why for one in fit if (why := failed.get(caches[str(one.said["cache"])]))}
            self._refuse(without)
            fit = [one for one in fit if one.address not in without]
            lacked = {worker: lacks for worker, lacks in lacked.items() if worker not in failed}
        return list(fit)

    def _send_templates(self, fit: Sequence[Fitness]) -> None:
        """The same of templates; whoever cannot take one saves one itself."""
        caches = {str(one.said["cache"]): one.address for one in fit}
        lacked = shipment.lacked(self.client, self.templates, list(caches.values()))
        for one in self.templates:
            if wanting := [worker for worker, lacks in lacked.items() if one in lacks]:
                with suppress(NoTemplate, OSError, ExecutorError), kept(one):
                    self._say_sending(one, len(wanting))
                    shipment.send(self.client, self.run, one, wanting)

    def _say_sending(self, one: SentImage, count: int) -> None:
        size = shipment.bytes_of([one]) >> 20
        self._tell(f"sending {one.called} ({size} MiB) to {count} worker{'s'[: count - 1]}")

    def _refuse(self, found: Mapping[str, str], short: Set[str] = frozenset()) -> None:
        with self._lock:
            # One that is still short of memory has been told of.
            new = {worker: why for worker, why in found.items() if worker not in self._short & short}
            self._refused |= found
            self._short = self._short - found.keys() | short
        for worker, why in new.items():
            self._tell(f"worker {worker} is not used: {why}")


def workers_of(client: "Client", choice: DaskChoice) -> dict[str, int]:
    """How many shards each worker of the scheduler takes at a time, by its address. Raises SchedulerGone."""
    scheduler: Any = client.scheduler
    try:
        info = client.sync(scheduler.identity, n_workers=-1)
    except OSError:
        raise SchedulerGone(choice) from None
    return {str(address): int(one["nthreads"]) for address, one in info["workers"].items()}


def examined(
    client: "Client",
    images: Sequence[SentImage],
    workers: Mapping[str, int],
    here: Mapping[str, Any],
    used: Iterable[Fitness] = (),
    vm_bytes: int = VM_BYTES,
) -> list[Fitness]:
    """What workers say of themselves, judged beside those `used` already; those that lack images are to have room.

    Raises ExecutorError.
    """
    greetings = shipment.ran(client, list(workers), on_worker_greeting.greeting)
    answering = [worker for worker, said in greetings.items() if isinstance(said, dict)]
    same = [worker for worker in answering if greetings[worker].get("tunbench") == here["tunbench"]]
    lacked = shipment.lacked(client, images, same)
    to_send = {worker: shipment.bytes_of(lacks) for worker, lacks in lacked.items()}
    return judged(greetings, workers, here, to_send, used, vm_bytes)
