"""Packed runs: one of ours, and archives as a stranger would make them."""

import bz2
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.helpers.runs import finished
from tunbench.journal import journal
from tunbench.run.order import Order
from tunbench.run.results import finish
from tunbench.run.verify.pack import pack
from tunbench.run.verify.their_run import TheirRun

EXAMPLE = Path(__file__).parents[1] / "packed" / "example.tar.bz2"

Change = Callable[[dict[str, Any]], object]


def whole_run(folder: Path, order: Order | None = None) -> Path:
    """A run that came to its end, less its report."""
    finished(folder, order)
    finish(folder, lambda _: None)
    return folder


def had(their: TheirRun, **manifest: Any) -> TheirRun:
    """The same run, whose author had other images, tools and programs."""
    head = their.head._replace(manifest={**their.head.manifest, **manifest})
    return their._replace(events=[head, *their.events[1:]])


def packed_run(folder: Path, order: Order | None = None) -> Path:
    """The archive of such a run, beside it."""
    file = folder.with_name(f"{folder.name}.tar.bz2")
    pack(whole_run(folder, order), file)
    return file


def members(file: Path) -> dict[str, bytes]:
    """What an archive holds."""
    with tarfile.open(file, "r:bz2") as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]


def archive(file: Path, content: Mapping[str, bytes], *others: tarfile.TarInfo) -> Path:
    """An archive of these files, and of what else stands in front of them."""
    with tarfile.open(file, "w:bz2", format=tarfile.USTAR_FORMAT) as made:
        for other in others:
            made.addfile(other, io.BytesIO(bytes(other.size)))
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return file


def odd(name: str, kind: bytes = tarfile.REGTYPE, **fields: Any) -> tarfile.TarInfo:
    """A member that no run has."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def raw(file: Path, header: tarfile.TarInfo, content: bytes = b"") -> Path:
    """An archive of one header as it is, whatever follows it."""
    file.write_bytes(bz2.compress(header.tobuf(tarfile.GNU_FORMAT) + content))
    return file


def change_events(folder: Path, change: Change) -> None:
    """Changes the events of a run's journal."""
    path = folder / journal.NAME
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def change_sample(folder: Path, stack: str = "wireguard", repeat: int = 2) -> None:
    """Makes the first round trip of a stack a microsecond longer."""
    shards: set[str] = set()

    def change(event: dict[str, Any]) -> None:
        if event["event"] == "shard" and "spec" in event:
            if (event["spec"]["stack"], event["spec"]["repeat"]) == (stack, repeat):
                shards.add(event["shard"])
        elif event["event"] == "trial" and event["shard"] in shards and event["workload"] != "up":
            event["samples"][0][2] += 1e-6

    change_events(folder, change)


def change_manifest(folder: Path, change: Change) -> None:
    """Changes manifest.json of a run."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
