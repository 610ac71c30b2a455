"""Memory: of the tunnel's processes on each node at its peak, and of the kernel."""

import re
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.node.node import ROOT_NODE, Node
from tunbench.runner.probe import About, Scene
from tunbench.runner.probes.shared import processor_time
from tunbench.runner.workload import Sample

ABOUT = About(
    name="memory",
    summary="memory of the tunnel's processes on each node at its peak, and of the kernel; time of these processes",
    metrics={
        "memory": Metric(
            "B",
            "peak of the resident memory of the tunnel's processes on a node, summed over them",
            question=Question.COSTLY,
        ),
        "process-time": Metric(
            "s",
            "processor time of the tunnel's processes on a node, to the tick",
            None,
            question=Question.COSTLY,
            summed_over_cores=True,
        ),
        "kernel-memory": Metric("B", "memory of the kernel right after the workload", question=Question.COSTLY),
    },
)

PROC = Path("/proc")

HOLDER = "1"
"""The process that holds the namespaces of a node, by its ID there."""

OURS = ("tcpdump",)
"""Programs on a node that are the laboratory's own."""

RESET = "5"
"""What resets the peak of a process's resident memory as it is written to clear_refs: proc(5)."""

KERNEL = ("Slab", "PageTables", "Percpu", "VmallocUsed")
"""What the kernel has for itself in /proc/meminfo; stacks of tasks and modules are in the last: proc(5)."""

KIB = 1024


class Process(NamedTuple):
    """A process of a node: the peak of its resident memory in bytes, and its processor time in seconds."""

    peak: int
    seconds: float


class Reading(NamedTuple):
    """The processes of each node by their ID, and the bytes of the kernel."""

    processes: dict[str, dict[str, Process]]
    kernel: int


def read(scene: Scene) -> Reading:
    """Reads the processes of the nodes, and lets their peaks begin anew."""
    found = {node.name: _processes(node) for node in scene.nodes}
    # An endpoint without a process has its tunnel in the kernel, which is worth saying; other nodes may have no part.
    told = {
        name: processes
        for name, processes in found.items()
        if processes is not None and (processes or name in scene.overlays)
    }
    return Reading(told, kernel(scene.machine.read_if_there(PROC / "meminfo")))


def samples(before: Reading, after: Reading) -> list[Sample]:
    """The values of the processes that were there before the workload, and are there still."""
    found = [Sample("kernel-memory", after.kernel, node=ROOT_NODE)] if after.kernel else []
    for name, there in before.processes.items():
        stayed = {process: last for process, last in after.processes.get(name, {}).items() if process in there}
        seconds = sum(last.seconds - there[process].seconds for process, last in stayed.items())
        found.append(Sample("memory", sum(process.peak for process in stayed.values()), node=name))
        found.append(Sample("process-time", round(seconds, 2), node=name))
    return found


def peak(status: str) -> int:
    """The peak of the resident memory in /proc/PID/status, in bytes; 0 for what has none, as tasks of the kernel."""
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.ASCII | re.MULTILINE)
    return int(found[1]) * KIB if found else 0


def spent(stat: str) -> float:
    """User and system time in /proc/PID/stat in seconds; the name before them may have spaces and brackets in it.

    Raises ValueError.
    """
    fields = stat.rpartition(") ")[2].split()
    if len(fields) < 13:
        raise ValueError(f"/proc/PID/stat has {len(fields)} fields")
    return (int(fields[11]) + int(fields[12])) * processor_time.TICK


def kernel(meminfo: str) -> int:
    """The memory of the kernel in /proc/meminfo, in bytes."""
    sizes = dict(re.findall(r"^(\w+):\s*(\d+) kB$", meminfo, re.ASCII | re.MULTILINE))
    return sum(int(sizes.get(name, 0)) for name in KERNEL) * KIB


def _processes(node: Node) -> dict[str, Process] | None:
    """What each process of a node has used, by its ID there; None where that cannot be seen."""
    try:
        names = node.names(PROC)
    except OSError:
        return None
    found = ((name, _seen(node, PROC / name)) for name in sorted(names) if name.isdigit() and name != HOLDER)
    return {name: process for name, process in found if process}


def _seen(node: Node, folder: Path) -> Process | None:
    """What a process has used; None for one of ours, and for one that has just ended."""
    stat, status = node.read_if_there(folder / "stat"), node.read_if_there(folder / "status")
    if not stat or not peak(status) or stat.partition("(")[2].rpartition(") ")[0] in OURS:
        return None
    try:
        node.set_value(folder / "clear_refs", RESET)
    except OSError:
        return None
    return Process(peak(status), spent(stat))
