"""Calico: the network of a Kubernetes cluster's pods, as VXLAN between its workers.

Beneath it a real cluster comes up: API server, controllers and scheduler over SQLite on the node `kube`; kubelet and
containerd on the workers. Its endpoints are pods, one on each worker, which see the programs and the files of the lab.
There are no kube-proxy and no names: nothing here asks for a service.
"""

from collections.abc import Mapping

from tunbench.runner.declare.cluster import ApiServer
from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import ETHERNET, UDP, Header
from tunbench.runner.declare.topology import PLANE
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.calico import agent, control_plane, pods, recipes, worker

VNI = 4096
"""What Calico gives its VXLAN: DefaultVXLANVNI of 3.28's felix/config/config_params.go."""


class Calico(Tunnel):
    """A control plane on the node `kube`, an agent on each worker, and a pod in each."""

    about = About(
        name="calico",
        summary="Calico in a Kubernetes cluster: VXLAN between its workers, and pods as endpoints",
        layer=3,
        options={
            "checksum-offload": Option(
                "switch", "on", "checksums and segmentation left to what carries the VXLAN; off as in Calico 3.25"
            ),
        },
        fits_carrier=True,
        claims=Claims(),
        # RFC 7348, section 5: of the first four bytes only the I flag is set; then the VNI and a reserved one.
        evidence=f"udp dst port 4789 and udp[8:4] = 0x08000000 and udp[12:4] = {VNI << 8:#010x}",
        headers=(UDP, Header("VXLAN", 8, "RFC 7348, section 5"), ETHERNET),
        # The name of its interface, and its agent, are there once in a node.
        exclusive=(),
        ports=("udp 4789",),
        routes=False,
        framing=0,
        pods=True,
        needs=Needs(
            modules=(Module("vxlan", "ip link add probe type vxlan id 1 dstport 4789"),),
            programs=(
                *(program for recipe in recipes.RECIPES for program in recipe.programs),
                *("containerd", "ctr", "runc", "iptables", "ipset", "conntrack", "nft", "openssl", "python3"),
            ),
            addons=(recipes.CONTAINERS.name,),
            tools=tuple(recipe.name for recipe in recipes.RECIPES),
            memory=2,
        ),
        sources=Sources(packages={"ctr": "containerd"}, addons=recipes.ADDONS, recipes=recipes.RECIPES),
        version=("calico-node", "-v"),
        startup_seconds=150,
    )

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """On each worker the first address of its own block; the control plane has no pods."""
        workers = [name for name in below if name != PLANE]
        return {
            name: Overlay(agent.INTERFACE, agent.first_address(number), 32, cls.mtu(options, below[name]))
            for number, name in enumerate(workers, start=1)
        }

    def inside(self) -> dict[str, Overlay]:
        """The pods: each has an address of its worker's block."""
        return {
            self.context.topology.pods[name]: Overlay("eth0", agent.pod_address(number), 32, one.mtu, ETHERNET.size)
            for number, (name, one) in enumerate(self.context.above.items(), start=1)
        }

    def api_server(self) -> ApiServer:
        """The one on the node `kube`."""
        return control_plane.server(self)

    def prepare(self, nodes: Nodes) -> None:
        """Makes an authority, the API server's certificate, and the token by which all are known to it."""
        control_plane.prepare(self, nodes[PLANE])
        pods.write_image(self, nodes[PLANE])

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the control plane, or containerd and kubelet."""
        agent.guard(self, node)
        if node.name == PLANE:
            control_plane.serve(self, node)
            control_plane.create(self, node, "kinds", agent.KINDS)
        else:
            worker.serve(self, node)

    def joined(self, nodes: Nodes) -> None:
        """Starts the agents, which need that all workers are known, and the pods."""
        plane, workers = nodes[PLANE], [nodes[name] for name in self.context.above]
        for node in workers:
            worker.wait_until_known(self, node, plane)
        agent.divide(self, plane)
        for node in workers:
            agent.serve(self, node)
        self.made = pods.run(self, plane, workers)

    def down(self, node: Node) -> None:
        """Ends the pods of a worker and all that serves them, and takes away what the agent told the kernel."""
        super().down(node)
        if node.name in self.context.above:
            pods.remove(self, node)
            worker.remove(self, node)
            agent.remove(node)
        if self.context.taken:
            agent.unguard(node)
