"""Tells the versions of what a shard used: of its programs, and of the kernel."""

from collections.abc import Sequence

from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.stack import Stack

ALWAYS_USED = (("ip", "-V"), ("tcpdump", "--version"))
"""What prints the versions of the programs that every shard uses."""

KERNEL_VERSION = ("uname", "-srvm")


def tell(stack: Stack, workloads: Sequence[str], node: Node, events: Events) -> None:
    """Tells the first line that each program prints of itself."""
    of_layers = [layer.declared.version for layer in stack.layers]
    of_workloads = [registry.workload(spelling.part(text).name).ABOUT.version for text in workloads]
    used = {version for version in (*of_layers, *of_workloads) if version}
    for argv in sorted({*used, *ALWAYS_USED}):
        events.tell("version", program=argv[0], text=_first_line(node, *argv))
    events.tell("version", program="kernel", text=_first_line(node, *KERNEL_VERSION))


def _first_line(node: Node, *argv: str) -> str:
    result = node.ask(*argv)
    lines = (result.stdout or result.stderr).strip().splitlines()
    return lines[0] if lines else "unknown"
