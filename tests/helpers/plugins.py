"""Plug-ins as tests make them, of small files and of what docs/adding-a-tunnel.md shows."""

from pathlib import Path

TUNNEL = '''"""A tunnel."""

from tunbench.runner.declare.packet_format import GRE
from tunbench.runner.declare.tunnel import About, Addon, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links


class Mine(Tunnel):
    """A tunnel."""

    about = About(
        name="mine",
        summary="GRE once more",
        layer=3,
        claims=Claims(),
        evidence="ip proto 47",
        headers=(GRE,),
        options={},
    )

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface."""
        kernel_links.point_to_point(self, node, "gre")
'''

WORKLOAD = '''"""A workload."""

from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Options
from tunbench.runner.workload import About, Sample, Trial

ABOUT = About(
    name="my-wait",
    summary="waits",
    options={},
    metrics={"waited": Metric("s", "seconds that it waited")},
)


def seconds(options: Options) -> float:
    """Of the lab's time."""
    return 1.0


def execute(trial: Trial) -> None:
    """Waits."""
    trial.samples.append(Sample("waited", 1.0))


def parse(text: str) -> list[Sample]:
    """Nothing is printed."""
    return []
'''

PROBE = '''"""A probe."""

from tunbench.runner.declare.metrics import Metric
from tunbench.runner.probe import About

ABOUT = About(name="my-look", summary="looks", metrics={"looked": Metric("count", "looks")})


def read(scene):
    """Nothing."""


def samples(before, after):
    """Nothing."""
    return []
'''

WHOLE = {"tunnels/mine.py": TUNNEL, "workloads/my_wait.py": WORKLOAD, "probes/my_look.py": PROBE}


def made(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A plug-in in a folder: a tunnel, a workload and a probe, or these files."""
    for path, text in (WHOLE if files is None else files).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
