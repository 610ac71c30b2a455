"""The workers that take part in a run: each is asked, given what it lacks and told of the run before its first shard.

They are looked for as long as the run goes on, so that one which comes later, or comes back, takes part as well.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tunbench.executors.cluster import on_worker_greeting, on_worker_task, shipment
from tunbench.executors.cluster.fitness import Fitness, judged
from tunbench.executors.cluster.sent_image import SentImage
from tunbench.executors.cluster.sent_template import NoTemplate, kept
from tunbench.plain_text import line

if TYPE_CHECKING:
    from distributed import Client

LOOK_SECONDS = 1.0

Tell = Callable[[str], None]


class Crew:
    """Workers by their addresses: how many shards each that is used takes at a time, and why others are not used."""

    def __init__(
        self,
        client: "Client",
        run: str,
        images: Sequence[SentImage],
        templates: Sequence[SentImage],
        work: Mapping[str, Any],
    ) -> None:
        self.client, self.run, self.images, self.templates, self.work = client, run, images, templates, work
        self.used: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.here = on_worker_greeting.said_here()
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look_on, daemon=True)
        self._tell: Tell = lambda text: None

    @property
    def seats(self) -> int:
        """How many shards all of them take at a time."""
        return sum(self.used.values())

    @property
    def reasons(self) -> str:
        """Why workers are not used, each on a line of its own, behind what is said before."""
        return "".join(f"\n  {worker}: {why}" for worker, why in sorted(self.refused.items()))

    def gather(self, tell: Tell) -> None:
        """Takes on all that are there, and tells of it; then goes on looking in the background."""
        self._tell = tell
        self._look()
        self._looking.start()

    def refuse(self, worker: str, why: str) -> None:
        """Lets a worker take no more."""
        self.used.pop(worker, None)
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
            if self.client.status == "running":
                try:
                    self._look()
                except OSError:
                    # The scheduler has gone; whoever waits for shards finds that out, and says so.
                    continue

    def _look(self) -> None:
        there = workers_of(self.client)
        for gone in set(self.used) - set(there):
            self._tell(f"worker {gone} is gone; its shards begin anew elsewhere")
            del self.used[gone]
        self.refused = {worker: why for worker, why in self.refused.items() if worker in there}
        if fresh := {
            worker: threads for worker, threads in there.items() if worker not in {**self.used, **self.refused}
        }:
            self._take_on(fresh)

    def _take_on(self, fresh: Mapping[str, int]) -> None:
        fit = examined(self.client, self.images, fresh, self.here)
        self._refuse({one.address: one.refusal for one in fit if one.refusal})
        left = [one for one in fit if not one.refusal]
        self._send(left)
        self._send_templates([one for one in left if one.address not in self.refused])
        ready = [one.address for one in left if one.address not in self.refused]
        answers = shipment.ran(self.client, ready, on_worker_task.prepare, self.run, dict(self.work))
        self._refuse(
            {worker: line(f"{answer}", 300) for worker, answer in answers.items() if isinstance(answer, Exception)}
        )
        for worker in ready:
            if worker not in self.refused:
                self.used[worker] = fresh[worker]

    def _send(self, fit: Sequence[Fitness]) -> None:
        """Sends what lacks, once to each cache."""
        caches = {str(one.said["cache"]): one.address for one in fit}
        lacked = shipment.lacked(self.client, self.images, list(caches.values()))
        for one in self.images:
            wanting = [worker for worker, lacks in lacked.items() if one in lacks]
            if not wanting:
                continue
            self._say_sending(one, len(wanting))
            failed = shipment.send(self.client, self.run, one, wanting)
            # What does not go into a cache is lacked by all who share it.
            self._refuse(
                {
                    other.address: failed[caches[str(other.said["cache"])]]
                    for other in fit
                    if caches[str(other.said["cache"])] in failed
                }
            )
            lacked = {worker: lacks for worker, lacks in lacked.items() if worker not in failed}

    def _send_templates(self, fit: Sequence[Fitness]) -> None:
        """The same of templates; whoever cannot take one saves one itself."""
        caches = {str(one.said["cache"]): one.address for one in fit}
        lacked = shipment.lacked(self.client, self.templates, list(caches.values()))
        for one in self.templates:
            if wanting := [worker for worker, lacks in lacked.items() if one in lacks]:
                with suppress(NoTemplate, OSError), kept(one):
                    self._say_sending(one, len(wanting))
                    shipment.send(self.client, self.run, one, wanting)

    def _say_sending(self, one: SentImage, count: int) -> None:
        size = shipment.bytes_of([one]) >> 20
        self._tell(f"sending {one.called} ({size} MiB) to {count} worker{'s'[: count - 1]}")

    def _refuse(self, found: Mapping[str, str]) -> None:
        for worker, why in found.items():
            self.refused[worker] = why
            self._tell(f"worker {worker} is not used: {why}")


def workers_of(client: "Client") -> dict[str, int]:
    """How many shards each worker of the scheduler takes at a time, by its address. Raises OSError."""
    scheduler: Any = client.scheduler
    info = client.sync(scheduler.identity, n_workers=-1)
    return {str(address): int(one["nthreads"]) for address, one in info["workers"].items()}


def examined(
    client: "Client", images: Sequence[SentImage], workers: Mapping[str, int], here: Mapping[str, Any]
) -> list[Fitness]:
    """What workers say of themselves, judged; those that lack images are to have room for them."""
    greetings = shipment.ran(client, list(workers), on_worker_greeting.greeting)
    answering = [worker for worker, said in greetings.items() if isinstance(said, dict)]
    same = [worker for worker in answering if greetings[worker].get("tunbench") == here["tunbench"]]
    lacked = shipment.lacked(client, images, same)
    to_send = {worker: shipment.bytes_of(lacks) for worker, lacks in lacked.items()}
    return judged(greetings, workers, here, to_send)
