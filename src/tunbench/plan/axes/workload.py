"""Reads the workloads of a plan: the name of one with its options, which may sweep."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from tunbench.plan.axes import sweep
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.tables import alone
from tunbench.runner import invocation, registry
from tunbench.runner.declare import spelling
from tunbench.runner.declare.tunnel import Needs
from tunbench.runner.invocation import Invocation
from tunbench.runner.workload import About

EXAMPLE = "iperf3-tcp:duration=2"


@dataclass(frozen=True)
class Workload:
    """A workload as a plan spells it, and what it is asked to do."""

    name: str
    invocation: Invocation = field(compare=False, repr=False)

    @property
    def about(self) -> About:
        """What the workload declares."""
        about: About = self.invocation.module.ABOUT
        return about

    @property
    def needs(self) -> list[Needs]:
        """What it needs beyond the base image."""
        return [self.invocation.needs]

    @property
    def addons(self) -> list[str]:
        """The images that it needs beyond the base image, sorted."""
        return sorted(self.invocation.needs.addons)

    @property
    def meaning(self) -> Hashable:
        """Its name with the value of every option: two spellings of one workload have one meaning."""
        return (self.about.name, *self.invocation.options.items())

    def spec(self) -> str:
        """The workload as a shard names it."""
        return self.name


@registry.remembered
def parse(text: str) -> Workload:
    """The workload of a spelling; a plan asks for the same one again and again. Raises ValueError."""
    return Workload(str(spelling.part(text)), invocation.read(text))


def read_workload(value: object) -> Workload:
    """The one workload that a text spells. Raises ValueError."""
    return parse(sweep.spelled(value, "workload", EXAMPLE))


def read_workloads(value: object) -> Iterator[Workload]:
    """The workloads that an entry of a plan stands for: one, or those of its sweeps. Raises ValueError."""
    return (read_workload(text) for text in sweep.all_spelled(value, "workload", EXAMPLE))


READER = AxisReader(
    'workloads = ["ping:count=100", "iperf3-tcp:duration=2"]', alone(read_workloads), lambda one: one.meaning
)
