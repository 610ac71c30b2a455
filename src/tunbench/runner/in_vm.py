"""Executes a shard in a VM: `python3 -m tunbench.runner.in_vm EVENTS`.

All that needs no shard is done before the VM is saved, so that a template has it behind it.
"""

import json
import sys
from pathlib import Path

from tunbench.runner import template


def main(events: str) -> None:
    """Imports the runner, lets the VM be saved, and lives through the shard that it is then handed."""
    template.begin()
    # Not before: some modules of Python's draw a random number as they are imported.
    from tunbench.runner import on_this_kernel, registry
    from tunbench.runner.node import limits
    from tunbench.runner.node.events import EventStream
    from tunbench.runner.workload import now

    limits.bind()
    registry.import_all()
    saved_in = template.save()
    began = now()
    handed = template.take(saved_in)
    with Path(events).open("a") as stream:
        told = EventStream(stream)
        told.tell("phase", name="begin", at=began)
        on_this_kernel.execute(json.loads(handed["shard.json"]), told)


main(sys.argv[1])
