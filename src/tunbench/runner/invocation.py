"""What a workload is asked to do: the value of each of its options, and the pairs of nodes between which it runs."""

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.declare.options import Option, Options, resolve
from tunbench.runner.declare.topology import Pair, Topology
from tunbench.runner.declare.tunnel import About as Declared
from tunbench.runner.declare.tunnel import Needs
from tunbench.runner.workload import About, Load

PAIRS = {
    "first": "the first pair of the topology",
    "each": "every pair, one after the other",
    "together": "all pairs at once",
}


class Invocation(NamedTuple):
    """A workload's module, with the value of every option."""

    module: ModuleType
    options: Options

    def pairs(self, topology: Topology) -> Sequence[Pair]:
        """The pairs between which it runs."""
        return topology.pairs[:1] if self.options["pairs"] == "first" else topology.pairs

    @property
    def together(self) -> bool:
        """Whether all pairs are under way at once."""
        return self.options["pairs"] == "together"

    @property
    def seconds(self) -> float:
        """About how long it takes for one pair, in seconds of the lab's time."""
        return float(self.module.seconds(self.options))

    @property
    def waits(self) -> bool:
        """Whether it waits most of its time."""
        return hasattr(self.module, "busy")

    @property
    def busy(self) -> float:
        """About how long it keeps a processor busy for one pair, in seconds: all the time, unless it says otherwise."""
        return float(self.module.busy(self.options)) if self.waits else self.seconds

    @property
    def load(self) -> Load | None:
        """What it offers, if it sends all the time."""
        found: Load | None = self.module.load(self.options) if hasattr(self.module, "load") else None
        return found

    @property
    def needs(self) -> Needs:
        """What it needs beyond the base image; nothing, unless it says otherwise."""
        found: Needs = self.module.needs(self.options) if hasattr(self.module, "needs") else Needs()
        return found

    def misfit(self, abouts: Sequence[Declared]) -> str:
        """Why it cannot be asked of a stack whose layers declare that; empty where it can."""
        if self.module.ABOUT.restarts and any(about.pods for about in abouts):
            return "it takes the tunnel down, and the pods would be others afterwards"
        return str(self.module.misfit(self.options, abouts)) if hasattr(self.module, "misfit") else ""

    @property
    def restarts(self) -> int:
        """How often it lets the stack begin again."""
        return int(self.module.restarts(self.options)) if self.module.ABOUT.restarts else 0


def takes(about: About) -> dict[str, Option]:
    """All options of a workload: its own, and the pairs; one that takes the tunnel down has the first pair alone."""
    what = "; ".join(f"{name}: {words}" for name, words in PAIRS.items())
    choices = ("first",) if about.restarts else tuple(PAIRS)
    return {**about.options, "pairs": Option("choice", "first", f"between which it runs; {what}", choices=choices)}


def read(text: str) -> Invocation:
    """The invocation that is spelled so. Raises ValueError.

    A workload's own `check` says which options do not go together, by their values and by the words that were given.
    """
    part = spelling.part(text)
    module = registry.workload(part.name)
    options = resolve(takes(module.ABOUT), part.options, part.name)
    if hasattr(module, "check"):
        module.check(options, part.options)
    return Invocation(module, options)
