"""What a workload declares and is given: the contract of the files in `workloads/`."""

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.tunnel import Sources
from tunbench.runner.node.node import Node
from tunbench.runner.proof.capture import View
from tunbench.runner.site import Site


class About(NamedTuple):
    """What a workload declares.

    `programs` are those that it runs, each with Debian's package of it. `sources` are the images and tools that hold
    what the base image lacks: which of them it needs under its options, its function `needs` says. The metrics of its
    `headline` sum it up: the first one, unless it says otherwise. It `restarts` if it takes the tunnel down: then it
    runs last, and the proof again.
    """

    name: str
    summary: str
    options: Mapping[str, Option]
    metrics: Mapping[str, Metric]
    programs: Mapping[str, str] = MappingProxyType({})
    sources: Sources = Sources()
    version: tuple[str, ...] = ()
    restarts: bool = False
    headline: tuple[str, ...] = ()

    @property
    def packages(self) -> frozenset[str]:
        """Debian's packages of its programs."""
        return frozenset(self.programs.values())


class Load(NamedTuple):
    """What a workload offers that sends all the time, in `flows` at once: in virtual time its cost follows from it.

    `rate` are the bits a second of each flow, 0: as many as TCP takes. `size` are the bytes with which it ends, 0: it
    sends for its time. With `reverse` they go from the server to the client.
    """

    rate: float = 0
    flows: int = 1
    size: float = 0
    reverse: bool = False


class Sample(NamedTuple):
    """One measured value.

    `at` is the moment in seconds since the trial began, or None for the whole trial. `node` is where it was measured,
    empty for the client.
    """

    metric: str
    value: float
    at: float | None = None
    node: str = ""


class Trial:
    """One execution of a workload between two nodes: where its samples and its raw output go.

    `views` are the places below each layer of the stack, the lowest first. `number` counts the pairs of nodes that are
    under way at once, from 0. `site` is the laboratory around the pair, for a workload that acts on the tunnel.
    """

    def __init__(
        self,
        options: Options,
        client: Node,
        server: Node,
        overlays: Mapping[str, Overlay],
        views: Sequence[View] = (),
        number: int = 0,
        site: Site | None = None,
    ) -> None:
        self.options = options
        self.client = client
        self.server = server
        self.overlays = overlays
        self.views = views
        self.number = number
        self.site = site
        self.samples: list[Sample] = []
        self.outputs: dict[str, str] = {}

    @property
    def overlay(self) -> Overlay:
        """What the stack yields on the client."""
        return self.overlays[self.client.name]

    @property
    def target(self) -> str:
        """The overlay address of the server."""
        return self.overlays[self.server.name].address

    def port(self, usual: int) -> str:
        """The port of a server of this trial: pairs that are under way at once have one each."""
        return str(usual + self.number)


def now() -> float:
    """Seconds of the lab's own clock."""
    return time.monotonic()
