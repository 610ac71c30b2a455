"""A run on a cluster: whether it can be handed to workers at all, and the lab on those that take part."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tunbench.executors.choice import DaskChoice, ExecutorError
from tunbench.executors.cluster.connection import caution, connected
from tunbench.executors.cluster.crew import Crew, Tell
from tunbench.executors.cluster.remote_lab import RemoteLab
from tunbench.executors.cluster.sent_image import SentImage, sent
from tunbench.executors.cluster.sent_template import sent_templates
from tunbench.labs.carried import carried
from tunbench.labs.lab import TEMPLATE, Lab
from tunbench.labs.vm.boot import most_bytes
from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.lab import addons_of
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.expand import shards_of
from tunbench.plan.load import Loaded
from tunbench.plan.shard import Shard


def check(lab: Lab, shards: Iterable[Shard], choice: DaskChoice) -> None:
    """Raises ExecutorError where a run cannot be handed to workers."""
    named = f"--executor dask={choice.name}"
    if lab.clock != "virtual":
        raise ExecutorError(
            f"{named}: the {lab.kind} lab on the {lab.clock} clock measures the machine itself, and workers are shared "
            "and not alike; leave --executor away, or use the vm lab on the virtual clock"
        )
    if brought := sorted({one.name for shard in shards for one in carried(shard, lab.plugins)}):
        raise ExecutorError(
            f"{named}: the plan uses the plug-in {brought[0]}, and no code but Tunbench's own is executed on workers; "
            "leave --executor away"
        )
    if templates.begins_with(lab.clock) != TEMPLATE:
        raise ExecutorError(f"{named}: {templates.SWITCH}=off holds for this machine alone; leave it away")


@contextmanager
def joined(
    choice: DaskChoice, lab: Lab, loaded: Loaded, overrides: Mapping[str, Any], tell: Tell
) -> Iterator[RemoteLab]:
    """The lab on the workers of a scheduler, which have all that the plan's shards need.

    Raises ExecutorError and ImageError.
    """
    plan = loaded.plan
    if said := caution(choice):
        tell(said)
    with connected(choice) as client:
        images = images_of(lab, plan.values["stack"], plan.workloads, plan.values["access"])
        work = {
            "text": loaded.text,
            "file": loaded.path.name,
            "overrides": dict(overrides),
            "kind": lab.kind,
            "clock": lab.clock,
            "images": [list(one) for one in images],
        }
        shards = shards_of(plan, 1)
        vm_bytes = most_bytes(max((shard.memory for shard in shards), default=0))
        crew = Crew(client, choice, uuid.uuid4().hex[:12], images, sent_templates(lab, shards), work, vm_bytes)
        try:
            crew.gather(tell)
            if not crew.seats:
                raise ExecutorError(_nobody(choice, crew))
            remote = RemoteLab(lab, client, choice, crew)
            try:
                yield remote
            finally:
                remote.close()
        finally:
            crew.close()


def images_of(lab: Lab, *needing: Iterable[Any]) -> list[SentImage]:
    """The images of the stacks and accesses that need some, and of a lab's extras. Raises ImageError."""
    names = {name for some in needing for one in some for name in one.addons}
    return sent((BASE, *addons_of(names)), lab.extras)


def _nobody(choice: DaskChoice, crew: Crew) -> str:
    if not crew.reasons:
        return f"the scheduler at {choice.name} has no workers; start some with: dask worker {choice.name}"
    return f"no worker of {choice.name} can execute this run{crew.reasons}"
