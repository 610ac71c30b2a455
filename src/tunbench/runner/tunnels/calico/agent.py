"""Calico's agent on a worker, and what it finds in the API server: its kinds of objects, and the pools of addresses."""

import json
from ipaddress import IPv4Network
from typing import Any

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.calico import control_plane, worker

GROUP = "crd.projectcalico.org"

KINDS_IN_CLUSTER = (
    *("BGPConfiguration", "BGPFilter", "BGPPeer", "BlockAffinity", "CalicoNodeStatus", "ClusterInformation"),
    *("FelixConfiguration", "GlobalNetworkPolicy", "GlobalNetworkSet", "HostEndpoint", "IPAMBlock", "IPAMConfig"),
    *("IPAMHandle", "IPPool", "IPReservation", "KubeControllersConfiguration"),
)
KINDS_IN_NAMESPACE = ("NetworkPolicy", "NetworkSet")
"""All of 3.28: libcalico-go/config/crd."""

INTERFACE = "vxlan.calico"

NETWORK = IPv4Network("10.244.0.0/16")
"""The addresses of pods."""

BLOCK = 26
"""The prefix length of a worker's block, Calico's own; it is all that its pool has."""

LINES = 120
"""Seconds in which the agent must have done what it does once."""

REMOVE = """\
for one in $(ip -o link show type veth | sed -n 's/^[0-9]*: \\(cali[0-9a-f]*\\).*/\\1/p'); do ip link del $one; done
for family in ip ip6; do for table in filter nat mangle raw; do nft delete table $family $table; done; done
ip route flush proto 80
ip route flush type blackhole proto 80
for set in $(ipset list -name); do ipset destroy $set; done
true
"""
"""Shell text: takes interfaces, rules, routes and sets away that the agent leaves behind. Its routes have the protocol
80: DeviceRouteProtocol of 3.28's felix/config/config_params.go."""


def _plural(kind: str) -> str:
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def _definition(kind: str, scope: str) -> dict[str, Any]:
    """That there is a kind of objects; what is in them nobody checks but Calico itself."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": _plural(kind), "singular": kind.lower()}
    return {
        **{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"},
        "metadata": {"name": f"{_plural(kind)}.{GROUP}"},
        "spec": {
            **{"group": GROUP, "names": names, "scope": scope},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


KINDS = [
    *(_definition(kind, "Cluster") for kind in KINDS_IN_CLUSTER),
    *(_definition(kind, "Namespaced") for kind in KINDS_IN_NAMESPACE),
]
"""The definitions of Calico's kinds of objects."""


def block(number: int) -> IPv4Network:
    """The addresses of the worker of that number, counted from 1."""
    return IPv4Network((int(NETWORK[number << 8]), BLOCK))


def first_address(number: int) -> str:
    """What its interface has: the first one that is free."""
    return str(block(number)[0])


def pod_address(number: int) -> str:
    """What its pod asks for."""
    return str(block(number)[10])


def divide(layer: Tunnel, plane: Node) -> None:
    """Gives each worker a pool of its own, of one block: so its addresses are known beforehand."""
    pools = [
        {
            **{"apiVersion": f"{GROUP}/v1", "kind": "IPPool", "metadata": {"name": f"pool-{name}"}},
            "spec": {
                **{"cidr": str(block(number)), "blockSize": BLOCK, "vxlanMode": "Always", "ipipMode": "Never"},
                # What leaves the cluster has the address of its worker.
                "natOutgoing": True,
                "nodeSelector": f"kubernetes.io/hostname == '{name}'",
                "allowedUses": ["Workload", "Tunnel"],
            },
        }
        for number, name in enumerate(layer.context.above, start=1)
    ]
    control_plane.create(layer, plane, "pools", pools)


GUARD = """\
table inet {name} {{
    chain out {{
        type filter hook output priority filter
{rules}    }}
}}
"""

GUARD_NAME = "beneath-calico"


def guard(layer: Tunnel, node: Node) -> None:
    """Keeps what runs below from taking addresses of the cluster for a path of its own: a VPN would carry itself."""
    if not layer.context.taken:
        return
    ways = (f'oifname "{INTERFACE}"', f"ip daddr {NETWORK}")
    taken = [port.split() for port in layer.context.taken]
    rules = [f"        {way} {proto} sport {port} drop\n" for proto, port in taken for way in ways]
    file = layer.file(node.name, "guard.nft")
    node.write(file, GUARD.format(name=GUARD_NAME, rules="".join(rules)))
    node.run("nft", "-f", str(file))


def unguard(node: Node) -> None:
    """Takes away what `guard` has put there, if it has."""
    node.try_run("nft", "delete", "table", "inet", GUARD_NAME)


def serve(layer: Tunnel, node: Node) -> None:
    """Registers a worker, gives its interface an address, starts the agent, and tells containerd of the plug-in."""
    words = ("env", *environment(layer, node), "calico-node")
    node.run(*words, "-startup", timeout=LINES)
    node.run(*words, "-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once", timeout=LINES)
    layer.start(node, *words, "-felix")
    node.run("mkdir", "-p", str(worker.CONFIGURED))
    node.write(worker.CONFIGURED / "10-calico.conflist", json.dumps(_plugin(layer, node)) + "\n")


def environment(layer: Tunnel, node: Node) -> tuple[str, ...]:
    """What the agent is told."""
    below, mtu = layer.context.below[node.name], layer.context.above[node.name].mtu
    broken = "false" if layer.options["checksum-offload"] else "true"
    return (
        *("DATASTORE_TYPE=kubernetes", f"KUBECONFIG={control_plane.kubeconfig(layer)}", f"NODENAME={node.name}"),
        *("CALICO_NETWORKING_BACKEND=vxlan", "CLUSTER_TYPE=k8s", "WAIT_FOR_DATASTORE=true", "NO_DEFAULT_POOLS=true"),
        *("IP=autodetect", f"IP_AUTODETECTION_METHOD=interface={below.interface}", "IP6=none"),
        *(f"FELIX_VXLANMTU={mtu}", "FELIX_IPV6SUPPORT=false", "FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT"),
        # As 3.28 finds it for kernels after 5.7, or as 3.25 did for all of them (felix/environment). Without checksums
        # by an interface there is no segmentation by it either (Linux, netdev_fix_features()).
        f"FELIX_FEATUREDETECTOVERRIDE=ChecksumOffloadBroken={broken}",
        *("FELIX_IPTABLESBACKEND=NFT", "FELIX_XDPENABLED=false", "FELIX_BPFENABLED=false"),
        *("FELIX_LOGSEVERITYSCREEN=Warning", "FELIX_LOGFILEPATH=none", "FELIX_LOGSEVERITYFILE=none"),
        # Nothing is told to the maker.
        *("FELIX_LOGSEVERITYSYS=none", "FELIX_USAGEREPORTINGENABLED=false"),
    )


def _plugin(layer: Tunnel, node: Node) -> dict[str, Any]:
    """What containerd is told of the network of pods."""
    return {
        **{"name": "k8s-pod-network", "cniVersion": "0.3.1"},
        "plugins": [
            {
                **{"type": "calico", "log_level": "warning", "log_file_path": str(node.log(f"{layer.log}-cni"))},
                **{"datastore_type": "kubernetes", "nodename": node.name, "policy": {"type": "k8s"}},
                **{"mtu": layer.context.above[node.name].mtu, "ipam": {"type": "calico-ipam"}},
                "kubernetes": {"kubeconfig": str(control_plane.kubeconfig(layer))},
            }
        ],
    }


def remove(node: Node) -> None:
    """Takes away what the agent leaves behind."""
    node.try_run("sh", "-c", REMOVE)
