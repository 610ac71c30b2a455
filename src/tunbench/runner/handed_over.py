"""What is handed over of a shard: all at once, or in two parts where a VM is saved as soon as its stack is up.

What comes up follows from the first part alone, so that shards that differ in the second one share a saved VM.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tunbench.runner import trials
from tunbench.runner.declare import topology
from tunbench.runner.declare.topology import Pair, Topology

SECOND_PART = ("profile", "workloads", "probes")
"""What nothing depends on until the stack is up, and has been proven between its pairs."""

PAIRS = "pairs"
"""What the first part says of the workloads: the names of the pairs between which they run."""


def in_two_parts(spec: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two parts of all that a shard depends on."""
    pairs = trials.pairs_of(spec["workloads"], topology.read(spec["topology"]))
    first = {name: value for name, value in spec.items() if name not in SECOND_PART}
    second = {name: value for name, value in spec.items() if name in SECOND_PART}
    return {**first, PAIRS: [list(pair) for pair in pairs]}, second


class HandedOver(Mapping[str, Any]):
    """All that a shard depends on. The second part is read when it is first asked for, and not before the VM is saved.

    `save` is called when the stack is up.
    """

    def __init__(
        self,
        first: Mapping[str, Any],
        second: Callable[[], Mapping[str, Any]] = dict,
        save: Callable[[], object] = lambda: None,
    ) -> None:
        self._first = first
        self._read = second
        self.save = save

    @cached_property
    def _second(self) -> Mapping[str, Any]:
        return self._read()

    def __getitem__(self, name: str) -> Any:
        """One of its values. Raises KeyError."""
        return (self._second if name in SECOND_PART and name not in self._first else self._first)[name]

    def __iter__(self) -> Iterator[str]:
        """The names of its values."""
        return iter({**self._first, **self._second})

    def __len__(self) -> int:
        """How many values it has."""
        return len({**self._first, **self._second})

    def pairs(self, of: Topology) -> Sequence[Pair]:
        """The pairs between which its workloads run, the usual one first."""
        if PAIRS in self._first:
            return [Pair(*names) for names in self._first[PAIRS]]
        return trials.pairs_of(self["workloads"], of)
