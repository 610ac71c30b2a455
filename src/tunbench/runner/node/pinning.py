"""Which core each node has to itself, where the machine has a core for each of them and one for everything else."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CORES = Path("/sys/devices/system/cpu")
"""Where the kernel shows which cores belong together: Documentation/admin-guide/cputopology.rst."""

RANGE = re.compile(r"(\d+)(?:-(\d+))?")


class Pins(NamedTuple):
    """The core of each node by its name, and the cores on which everything else runs."""

    nodes: Mapping[str, int]
    rest: tuple[int, ...]

    def of(self, node: str) -> str:
        """The cores of a node as `taskset -c` takes them."""
        return str(self.nodes[node]) if node in self.nodes else ",".join(str(core) for core in self.rest)


def pins(nodes: Sequence[str], cores: Collection[int]) -> Pins | None:
    """A core of its own for each node, of those that may be used; None where there are too few.

    The first core is left to everything else, because interrupts go there unless told otherwise; so are all others that
    share no physical core with a node.
    """
    if len(cores) <= len(nodes):
        return None
    first, *others = in_order(cores)
    chosen = dict(zip(nodes, others, strict=False))
    taken = {other for core in chosen.values() for other in _siblings(core)}
    return Pins(chosen, (first, *sorted(set(others) - taken)))


def in_order(cores: Collection[int]) -> list[int]:
    """The cores in the order in which they are best taken.

    One hardware thread of each physical core comes before the second of any, and the cores of one package before those
    of another.
    """
    rank = {core: sum(other < core for other in _siblings(core) if other in cores) for core in cores}
    return sorted(cores, key=lambda core: (rank[core], _package(core), core))


@contextmanager
def kept_to(cores: Collection[int]) -> Iterator[None]:
    """Within it, this thread and what it starts run on these cores, unless told otherwise; none are no change."""
    before = os.sched_getaffinity(0) if cores else set()
    try:
        if cores:
            os.sched_setaffinity(0, cores)
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, before)


def _siblings(core: int) -> set[int]:
    """The hardware threads of a core's physical one, itself among them: a list such as `0,4` or `0-1`."""
    return {core, *_numbers(_read_topology(core, "thread_siblings_list"))}


def _package(core: int) -> int:
    return next(iter(_numbers(_read_topology(core, "physical_package_id"))), 0)


def _numbers(text: str) -> list[int]:
    """The numbers of a list as the kernel writes it: `0-2,7`."""
    ranges = [found for part in text.strip().split(",") if (found := RANGE.fullmatch(part))]
    return [number for one in ranges for number in range(int(one[1]), int(one[2] or one[1]) + 1)]


def _read_topology(core: int, name: str) -> str:
    try:
        return (CORES / f"cpu{core}" / "topology" / name).read_text()
    except OSError:
        return ""
