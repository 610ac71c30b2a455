"""Executes a shard in a VM: `python3 -m tunbench.runner.in_vm EVENTS`.

All that needs no shard is done before the VM is saved, so that a template has it behind it.
"""

import json
import sys
import termios
from pathlib import Path
from typing import Any

from tunbench.runner import template


def main(events: str) -> None:
    """Imports the runner, lets the VM be saved, and lives through the shard that it is then handed."""
    template.begin()
    # Not before: some modules of Python's draw a random number as they are imported.
    from tunbench.runner import on_this_kernel, registry
    from tunbench.runner.handed_over import PAIRS, HandedOver
    from tunbench.runner.node import limits
    from tunbench.runner.node.events import EventStream
    from tunbench.runner.workload import now

    limits.bind()
    registry.import_all()
    on_this_kernel.make_folders()
    saved_in = template.save()
    began = now()
    first = json.loads(template.take(saved_in)["shard.json"])
    with Path(events).open("a") as stream:

        def save() -> None:
            nonlocal saved_in
            # What was told so far is the template's.
            termios.tcdrain(stream)
            saved_in = template.save_undisturbed()

        def second() -> Any:
            return json.loads(template.take_second_part(saved_in)["shard.json"])

        told = EventStream(stream)
        told.tell("phase", name="begin", at=began)
        on_this_kernel.execute(HandedOver(first, second, save) if PAIRS in first else first, told)
        # Python would take some time to leave, and so would what comes after it.
        template.end(stream)


main(sys.argv[1])
