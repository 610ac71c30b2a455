"""Executes one shard: `python3 -m tunbench.runner SHARD EVENTS`, as root of a lab's own namespaces or VM."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node import limits
from tunbench.runner.node.events import EventStream
from tunbench.runner.node.node import HOME
from tunbench.runner.node.shell import LocalShell
from tunbench.runner.shard import live


def main(shard: str, events: str) -> None:
    """Reads the shard, lives through it and writes its events."""
    limits.bind()
    spec = json.loads(Path(shard).read_text())
    with Path(events).open("a") as stream:
        # The lab's own /run and /mnt, in memory: nothing is left of them, and nothing of the machine's is touched.
        for folder in ("/run", HOME.parent):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
        live(spec, EmulatedNetwork(LocalShell(), os.sched_getaffinity(0)), EventStream(stream))


main(sys.argv[1], sys.argv[2])
