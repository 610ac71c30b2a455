"""Nodes whose probe of echoes tells what was captured."""

import re
from pathlib import Path

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell
from tunbench.runner import registry, stack
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS, Underlay
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.workload import Trial


class ProbedLab:
    """Nodes on which the probe tells what was captured, whenever it is started."""

    def __init__(
        self, spelling: str, tells: str, underlay: str | Underlay = "ip", answers: dict[str, Answer] | None = None
    ) -> None:
        under = PAIR_UNDERLAYS[underlay] if isinstance(underlay, str) else underlay
        self.events = FakeEvents()
        usual: dict[str, Answer] = {"route show default": '[{"gateway":"10.0.9.1"}]', "tc -s -j": "[]"}
        self.shell = FakeShell((answers or {}) | usual, {"probe.py": self._tell})
        self.tells = tells
        names = [*under.names, "lab"]
        self.nodes = {name: Node(name, self.shell, self.events, ["nsenter", "--target", name, "--"]) for name in names}
        self.site = Site(self.nodes, under, stack.build(spelling, under.endpoints))

    def _tell(self, call: Call, log: Path) -> int:
        log.write_text(self.tells)
        return 0

    def trial(self, name: str, given: dict[str, str]) -> Trial:
        client, server = self.site.endpoints
        options = resolve(registry.workload(name).ABOUT.options, given, name)
        return Trial(options, client, server, self.site.stack.overlay, site=self.site)

    def execute(self, name: str, **given: str) -> list[str]:
        """The commands of a workload, without those of the probe."""
        registry.workload(name).execute(self.trial(name, given))
        return [
            one.removeprefix("ip netns exec ")
            for one in self.events.commands
            if not re.search("recover-|connect-|[ab] sleep 0$", one)
        ]
