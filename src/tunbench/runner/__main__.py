"""Executes one shard: `python3 -m tunbench.runner SHARD EVENTS`, as root of a lab's own namespaces."""

import json
import sys
from pathlib import Path

from tunbench.runner.node import limits
from tunbench.runner.node.events import EventStream
from tunbench.runner.on_this_kernel import execute, make_folders


def main(shard: str, events: str) -> None:
    """Reads the shard, lives through it and writes its events."""
    limits.bind()
    make_folders()
    spec = json.loads(Path(shard).read_text())
    with Path(events).open("a") as stream:
        execute(spec, EventStream(stream))


main(sys.argv[1], sys.argv[2])
