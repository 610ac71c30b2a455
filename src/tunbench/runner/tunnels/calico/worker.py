"""A worker of a cluster: containerd, which runs containers, and kubelet, which is told of them by the API server."""

import json
from pathlib import Path
from typing import Any

from tunbench.runner.declare.topology import PLANE
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.calico import control_plane, pods

CONTROL_GROUPS = Path("/sys/fs/cgroup")

MACHINE = """\
echo "$1" >/proc/sys/kernel/pid_max
grep -q " $0 cgroup2" /proc/mounts || mount -t cgroup2 none "$0"
"""
"""Shell text: lets a machine have so many processes, and shows its control groups."""

BEGIN = """\
mount --make-rshared /
mount -t cgroup2 none "$0"
echo +cpu +memory +pids +io +cpuset +hugetlb >"$0/cgroup.subtree_control"
mkdir -p "$0/$1" "$2"
for program in loopback calico; do ln -s "$(command -v $program)" "$2/$program"; done
ln -s "$(command -v calico)" "$2/calico-ipam"
echo 1 >/proc/sys/net/ipv4/ip_forward
"""
"""Shell text: a control group for the pods of a worker, and its plug-ins in one folder, one of them by two names."""

PLUGINS, CONFIGURED = Path("/run/cni/bin"), Path("/run/cni/net.d")
"""Where the worker has its plug-ins, and what is said of them."""

SOCKET = "/run/containerd/containerd.sock"

CONTAINERD = f"""\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  # No registry is asked: the one image is imported.
  sandbox_image = "{pods.IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{CONFIGURED}"
"""

KUBELET: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cgroupDriver": "cgroupfs",
    "enforceNodeAllocatable": [],
    "containerRuntimeEndpoint": f"unix://{SOCKET}",
    "failSwapOn": False,
    # All files of the lab are in memory, and say nothing of a disk.
    "localStorageCapacityIsolation": False,
    "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
    "imageGCHighThresholdPercent": 100,
    "imageGCLowThresholdPercent": 99,
    # Nobody asks it.
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
}

END = """\
echo 1 >"$0/$1/cgroup.kill"
pkill -KILL -x containerd-shim
for one in /run/netns/cni-*; do umount "$one" && rm -f "$one"; done
umount -l "$0"
true
"""
"""Shell text: ends all containers of a worker."""

PROCESSES = 32768
"""Processes and threads that the VM of a cluster may have: its programs have some 1,500 threads."""

CONTAINERD_TIMEOUT = 60.0
"""Seconds in which containerd must answer."""

KNOWN_TIMEOUT = 180.0
"""Seconds in which a worker must be known to the API server."""


def serve(layer: Tunnel, node: Node) -> None:
    """Starts containerd, gives it the image, and starts kubelet."""
    node.machine.run("sh", "-ec", MACHINE, str(CONTROL_GROUPS), str(PROCESSES))
    node.run("sh", "-ec", BEGIN, str(CONTROL_GROUPS), node.name, str(PLUGINS))
    containerd, kubelet = layer.file(node.name, "containerd.toml"), layer.file(node.name, "kubelet.json")
    node.write(containerd, CONTAINERD)
    layer.start(node, "containerd", "--config", str(containerd))
    asking = control_plane.patiently("ctr", "version")
    layer.wait(node, *asking, timeout=CONTAINERD_TIMEOUT, what=f"containerd on {node.name} did not answer")
    node.run("ctr", "-n", "k8s.io", "images", "import", str(layer.file(PLANE, "image.tar")))
    node.write(kubelet, json.dumps({**KUBELET, "cgroupRoot": f"/{node.name}"}) + "\n")
    layer.start(
        *(node, "kubelet", "--config", str(kubelet), "--kubeconfig", str(control_plane.kubeconfig(layer))),
        *("--hostname-override", node.name, "--node-ip", layer.context.below[node.name].local),
    )


def wait_until_known(layer: Tunnel, node: Node, plane: Node) -> None:
    """Waits until the API server knows the worker. Raises StackFailed."""
    asking = control_plane.patiently(*control_plane.kubectl(layer, "get", "node", node.name))
    layer.wait(plane, *asking, timeout=KNOWN_TIMEOUT, what=f"the API server does not know {node.name}")


def remove(layer: Tunnel, node: Node) -> None:
    """Ends what containerd started, which goes on without it."""
    node.try_run("sh", "-c", END, str(CONTROL_GROUPS), node.name)
