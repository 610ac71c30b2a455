"""A worker of Dask whose lab starts no VM: `python -m tests.helpers.stub_worker ADDRESS OPTION…`.

STUB_EMPTY starts no process for a shard. STUB_SECONDS says how long a shard takes, STUB_FULL that no piece of an image
can be written, and STUB_FILLED that the disk is full in the first shard.
"""

import errno
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.helpers.fakes import FakeExecution, QuietLab
from tunbench.labs.execution import Execution
from tunbench.labs.process_group import ProcessGroup
from tunbench.plan.shard import Shard

HALF = 'cat "$1/first" >>"$1/events.jsonl"; sleep "$2"; cat "$1/last" >>"$1/events.jsonl"'


class StubLab(QuietLab):
    """A lab whose shards are processes that tell what follows from the shard alone, one half of it late."""

    def start(self, shard: Shard, folder: Path) -> Execution:
        told = [json.dumps({"n": number, **event}) + "\n" for number, event in enumerate(events(shard))]
        (folder / "first").write_text("".join(told[:2]))
        (folder / "last").write_text("".join(told[2:]))
        return ProcessGroup(["sh", "-c", HALF, "stub-shard", str(folder), os.environ.get("STUB_SECONDS", "0")], folder)


class EmptyLab(StubLab):
    """The same without any process: a shard has ended as soon as it is started."""

    def start(self, shard: Shard, folder: Path) -> Execution:
        told = [json.dumps({"n": number, **event}).encode() for number, event in enumerate(events(shard))]
        return FakeExecution([b"\n".join(told)])


def events(shard: Shard) -> Sequence[dict[str, Any]]:
    """What a shard tells: samples follow from its seed."""
    number = shard.seed % 1000
    well = {"event": "trial", "verdict": "ok", "reason": ""}
    return [
        {"event": "phase", "name": "nodes", "at": 2.0},
        {**well, "workload": "up", "samples": [["connect", "s", number / 1e3, None, "a-b", "a"]]},
        *(
            {
                **{**well, "workload": workload.name, "outputs": {"ping.txt": "raw\n"}},
                "samples": [["rtt", "s", number / 1e6, 0.0, "a-b", "a"], ["loss", "ratio", 0.0, None, "a-b", "a"]],
            }
            for workload in shard.workloads
        ),
        {"event": "phase", "name": "end", "at": 4.0},
    ]


def main() -> None:
    """Works until it is ended."""
    from distributed.cli import dask_worker

    from tunbench.executors.cluster import on_worker_received, on_worker_task

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    lab = EmptyLab() if os.environ.get("STUB_EMPTY") else StubLab()
    vars(on_worker_task)["lab"] = lambda kind, clock: lab
    if os.environ.get("STUB_FULL"):
        vars(on_worker_received)["_take"] = full
    if os.environ.get("STUB_FILLED"):
        vars(on_worker_task)["_wait"] = full
    dask_worker.main(sys.argv[1:])


if __name__ == "__main__":
    main()
