"""Templates as workers are told of them: those that this machine has of the VMs that a run starts."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tunbench.executors.choice import ExecutorError
from tunbench.executors.cluster.sent_image import TEMPLATE_KIND, SentImage
from tunbench.labs.lab import Lab
from tunbench.labs.vm.lab import images_of, written
from tunbench.labs.vm.templates import seal
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.shard import Shard


class NoTemplate(Exception):
    """It has gone meanwhile."""


def sent_templates(lab: Lab, shards: Iterable[Shard]) -> list[SentImage]:
    """Those that are there of the VMs of these shards. Raises ExecutorError."""
    alike = {_made_from(lab, shard): shard for shard in shards}
    try:
        names = dict.fromkeys(_name(lab, shard) for shard in alike.values())
    except OSError as error:
        raise ExecutorError(
            f"cannot tell which templates a run needs ({error.filename or 'in a temporary folder'}: {error.strerror}); "
            "make room there, or name another temporary folder with TMPDIR"
        ) from None
    found = []
    for name in names:
        with suppress(OSError):
            told = (templates.shelf().folder / name / seal.SEAL).read_bytes()
            found.append(SentImage(name, f"{templates.FOLDER}/{name}", hashlib.sha256(told).hexdigest(), TEMPLATE_KIND))
    return found


def _made_from(lab: Lab, shard: Shard) -> tuple[tuple[str, ...], str, int]:
    """What decides which template a shard starts from: its images, its machine and its memory."""
    return tuple(one.name for one in images_of(shard, lab.extras)), shard.machine.name, shard.memory


def _name(lab: Lab, shard: Shard) -> str:
    with tempfile.TemporaryDirectory(prefix="tunbench-") as folder:
        return templates.name_of(written(lab, shard, Path(folder)))


@contextmanager
def kept(one: SentImage) -> Iterator[None]:
    """Within it a template of this machine is whole and stays there. Raises NoTemplate and OSError."""
    with templates.shelf().held(one.name, _refuse):
        yield


def _refuse(_: Path) -> None:
    raise NoTemplate
