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

    One hardware thread of each physical core is taken before the second of any, and the cores of one package before
    those of another. The first core is left to everything else, because interrupts go there unless told otherwise; so
    are all others that share no physical core with a node.
    """
    if len(cores) <= len(nodes):
        return None
    together = {core: _siblings(core) for core in cores}
    rank = {core: sum(other < core for other in together[core] if other in cores) for core in cores}
    first, *others = sorted(cores, key=lambda core: (rank[core], _package(core), core))
    chosen = dict(zip(nodes, others, strict=False))
    taken = {other for core in chosen.values() for other in together[core]}
    return Pins(chosen, (first, *sorted(set(others) - taken)))


@contextmanager
def kept_away(found: Pins | None) -> Iterator[None]:
    """Within it, this process and what it starts run on the rest of the cores, unless told otherwise."""
    before = os.sched_getaffinity(0) if found else set()
    try:
        if found:
            os.sched_setaffinity(0, found.rest)
        yield
    finally:
        if found:
            os.sched_setaffinity(0, before)


def _siblings(core: int) -> set[int]:
    """The hardware threads of a core's physical one, itself among them: a list such as `0,4` or `0-1`."""
    return {core, *_numbers(_shown(core, "thread_siblings_list"))}


def _package(core: int) -> int:
    return next(iter(_numbers(_shown(core, "physical_package_id"))), 0)


def _numbers(text: str) -> list[int]:
    """The numbers of a list as the kernel writes it: `0-2,7`."""
    ranges = [found for part in text.strip().split(",") if (found := RANGE.fullmatch(part))]
    return [number for one in ranges for number in range(int(one[1]), int(one[2] or one[1]) + 1)]


def _shown(core: int, name: str) -> str:
    try:
        return (CORES / f"cpu{core}" / "topology" / name).read_text()
    except OSError:
        return ""
