"""What each worker of a scheduler can run, as it says itself before it is handed anything."""

from tunbench.doctor import runnable
from tunbench.doctor.host_check import HostCheck
from tunbench.executors.choice import DaskChoice
from tunbench.executors.cluster import crew, on_worker_greeting, shipment
from tunbench.executors.cluster.connection import connected
from tunbench.executors.cluster.fitness import Fitness
from tunbench.executors.cluster.sent_image import sent
from tunbench.labs import image
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.runner import registry
from tunbench.toolbox.tools import TOOLS


def worker_checks(choice: DaskChoice) -> list[HostCheck]:
    """A row for the scheduler and one for each worker. Raises ExecutorError and ImageError."""

    def row(one: Fitness) -> HostCheck:
        what = f"worker {one.address}"
        if one.refusal:
            return HostCheck(what, False, f"{one.host or 'unknown'}: {one.refusal}")
        there = [image.name for image in images if image not in lacked[one.address]]
        to_send = shipment.bytes_of(lacked[one.address]) >> 20
        sent_first = f"; up to {to_send} MiB are sent first" if to_send else ""
        return HostCheck(
            what,
            True,
            f"{one.host}: {one.threads} shard{'s'[: one.threads - 1]} at a time, {one.said['qemu']}, "
            f"{int(one.said['memory']) >> 20} MiB for VMs; {tunnels}; has {', '.join(there) or 'no image'}"
            f"{sent_first}",
        )

    images = sent(_built(), [tool for tool in TOOLS.values() if tool.installed])
    # As all of it is sent to whoever lacks it, what is here decides.
    have = {image.name for image in images}
    tunnels = f"{len(runnable.tunnels(lambda name: name not in have))} of {len(registry.tunnel_names())} tunnels"
    with connected(choice) as client:
        workers = crew.workers_of(client, choice)
        # Every run sends the base image; what else, follows from its plan.
        base = [image for image in images if image.name == BASE.name]
        fit = crew.examined(client, base, workers, on_worker_greeting.said_here())
        lacked = shipment.lacked(client, images, [one.address for one in fit if not one.refusal])
        usable = sum(one.threads for one in fit if not one.refusal)
        head = HostCheck(
            f"scheduler {choice.name}",
            bool(usable),
            f"{len(workers)} worker{'s'[: len(workers) - 1] if workers else 's'}, {usable} shards at a time",
            "" if usable else _mend(choice, bool(workers)),
            needed=True,
        )
        return [head, *map(row, fit)]


def _built() -> list[image.Image]:
    """The base image, and the add-ons that are built: what can be sent. Raises ImageError."""
    image.check(BASE)
    return [BASE, *(one for one in ADDONS.values() if (one.folder / "manifest.json").exists())]


def _mend(choice: DaskChoice, some: bool) -> str:
    return "mend what the workers below say" if some else f"dask worker {choice.name} --nthreads 1 --nworkers N"
