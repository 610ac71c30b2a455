"""A shell in the lab: two endpoints with a router between them, and nothing else."""

import subprocess

from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import HOME
from tunbench.runner.node.shell import LocalShell

GREETING = """
Two endpoints, a (10.0.1.2) and b (10.0.2.2), with a router between them; edge stands for the rest of the world.
  ip netns exec a ping 10.0.2.2
  ip netns exec router tc qdisc add dev to-b root netem delay 20ms
  ip netns exec b iperf3 -s -D; ip netns exec a iperf3 -c 10.0.2.2
exit, or Ctrl-A X, ends the machine; nothing of it is kept.
"""


class Silent:
    """Events that nobody wants."""

    def tell(self, event: str, **fields: object) -> None:
        """Tells nobody."""


def main() -> None:
    """Builds the underlay and opens a shell."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(HOME.parent)], check=True)
    network, under = EmulatedNetwork(LocalShell()), PAIR_UNDERLAYS["ip"]
    with network.nodes(under, Silent()) as nodes:
        network.connect(under, nodes, Silent())
        print(GREETING, flush=True)
        # setsid and a controlling terminal: job control and Ctrl-C work as they do everywhere.
        subprocess.run(
            ["setsid", "--ctty", "--wait", "sh", "-c", "PS1='lab# ' exec bash --norc -i </dev/ttyS0 >/dev/ttyS0 2>&1"]
        )


if __name__ == "__main__":
    main()
