"""A shell in the place of a workload: the nodes of a shard, its stack up and proved, its profile in force.

A VM for a person has this file among the runner's workloads; no shard of a plan can name it. Called as a program it
says why there was no shell. It imports the runner alone.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.topology import PLANE
from tunbench.runner.workload import About, Sample, Trial, now

ABOUT = About(
    name="look-around",
    summary="a shell for a person",
    options={},
    metrics={"looked": Metric("s", "how long the shell was open", None)},
)

A_DAY = 86_400.0

SHELL = ["setsid", "--ctty", "--wait", "sh", "-c", "PS1='lab# ' exec bash --norc -i </dev/ttyS0 >/dev/ttyS0 2>&1"]
"""A controlling terminal: job control and Ctrl-C work as they do everywhere."""


def seconds(options: object) -> float:
    """How long it takes at most."""
    return A_DAY


def execute(trial: Trial) -> None:
    """Opens the shell, and waits for its end."""
    print(greeting(trial), flush=True)
    began = now()
    subprocess.run(SHELL, env={**os.environ, **reaching(trial)})
    trial.samples.append(Sample("looked", now() - began))


def reaching(trial: Trial) -> dict[str, str]:
    """What lets kubectl reach the cluster, where there is one."""
    server = trial.site.stack.layers[-1].api_server() if trial.site and trial.site.stack.layers else None
    return {"KUBECONFIG": str(server.kubeconfig)} if server else {}


def greeting(trial: Trial) -> str:
    """What there is to look at."""
    client, server = trial.client.name, trial.server.name
    target = trial.overlays[server].address
    nodes = ", ".join(trial.site.nodes) if trial.site else f"{client}, {server}"
    return "\n".join(
        [
            "",
            f"The stack is up, and its profile in force. Nodes: {nodes}.",
            f"  ip netns exec {client} ping {target}          through the stack, to {server}",
            f"  ip netns exec {client} ip -brief address",
            *([f"  ip netns exec {PLANE} kubectl get nodes,pods -o wide"] if reaching(trial) else []),
            f"  ip netns exec {server} iperf3 -s -D; ip netns exec {client} iperf3 -c {target}",
            "exit, or Ctrl-A X, ends the machine; nothing of it is kept.",
            "",
        ]
    )


def failures(events: str) -> list[str]:
    """Why a stack did not come up, as the runner told it."""
    told = [json.loads(line) for line in events.splitlines()]
    reasons = [one["reason"] for one in told if one.get("event") == "trial" and one.get("verdict") != "ok"]
    return list(dict.fromkeys(reasons))


if __name__ == "__main__":
    for reason in failures(Path(sys.argv[1]).read_text()):
        print(f"there is no shell: {reason}", flush=True)
