"""The pods of a cluster: one on each worker, from an image that is made here, in which workloads run as on a node."""

import json
from pathlib import Path
from typing import Any

from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.declare.topology import PLANE
from tunbench.runner.node import python
from tunbench.runner.node.node import HOME, Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.calico import control_plane, image

IMAGE = "lab.invalid/pod:1"
"""What the image is called; nobody has a registry of that name (RFC 2606)."""

SHARED = ("/usr", str(HOME))
"""Folders of the worker that a pod sees: its programs, and the files of the lab. The image's /bin leads to /usr/bin."""

REST = ["/busybox", "sleep", "infinity"]
"""What a container does on its own."""

RUNNING_TIMEOUT = 240.0
"""Seconds in which all pods must run."""

OF_CONTAINER = 'cat /sys/fs/cgroup/*/*/*/*/"$0"/cgroup.procs /sys/fs/cgroup/*/*/*/"$0"/cgroup.procs 2>/dev/null'
"""Shell text: the processes in the control group of a container."""


def write_image(layer: Tunnel, node: Node) -> None:
    """Makes the image, of one program that needs no other."""
    script, file = (str(layer.file(PLANE, name)) for name in ("image.py", "image.tar"))
    node.write(Path(script), python.source(image))
    node.run("python3", "-I", "-S", script, file, IMAGE, *REST)


def run(layer: Tunnel, plane: Node, workers: list[Node]) -> dict[str, Node]:
    """Starts the pods, waits until all run, and returns them as nodes. Raises StackFailed."""
    addresses = {name: one.address for name, one in layer.inside().items()}
    names = {layer.context.topology.pods[node.name]: node for node in workers}
    control_plane.create(layer, plane, "pods", [_pod(name, node.name, addresses[name]) for name, node in names.items()])
    ready = ("wait", "--for=condition=Ready", "--timeout=10s", *(f"pod/{name}" for name in names))
    asking = control_plane.kubectl(layer, *ready)
    layer.wait(plane, *asking, timeout=RUNNING_TIMEOUT, what="the pods did not run")
    return {name: _entered(layer, name, node, plane) for name, node in names.items()}


def _pod(name: str, worker: str, address: str) -> dict[str, Any]:
    mounts = [{"name": f"shared-{number}", "mountPath": path} for number, path in enumerate(SHARED)]
    volumes = [{"name": one["name"], "hostPath": {"path": one["mountPath"]}} for one in mounts]
    container = {
        **{"name": "pod", "image": IMAGE, "imagePullPolicy": "Never", "command": REST, "volumeMounts": mounts},
        "securityContext": {"privileged": True},
    }
    return {
        **{"apiVersion": "v1", "kind": "Pod"},
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"cni.projectcalico.org/ipAddrs": json.dumps([address])},
        },
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": worker},
            # No worker has said yet that its network is ready.
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            # The API server's token for it would have to be fetched, and nobody asks with it.
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": volumes,
        },
    }


def _entered(layer: Tunnel, name: str, worker: Node, plane: Node) -> Node:
    """The node whose namespaces are those of a pod's container. Raises StackFailed."""
    asking = control_plane.kubectl(
        layer, "get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].containerID}"
    )
    identity = plane.ask(*asking).stdout.strip().rpartition("/")[2]
    processes = worker.machine.ask("sh", "-c", OF_CONTAINER, identity).stdout.split() if identity else []
    if not processes:
        raise StackFailed(f"calico: the container of {name} has no process")
    machine = worker.machine
    machine.run("mkdir", "-p", str(HOME / name))
    machine.run("ip", "netns", "attach", name, processes[0])
    enter = ["nsenter", "--target", processes[0], "--mount", "--net", "--uts", "--pid", "--"]
    return Node(name, worker.shell, worker.events, enter)


def remove(layer: Tunnel, node: Node) -> None:
    """Takes away the name of a pod's namespace."""
    if (name := layer.context.topology.pods[node.name]) in layer.made:
        node.machine.try_run("ip", "netns", "del", name)
        layer.made = {other: one for other, one in layer.made.items() if other != name}
