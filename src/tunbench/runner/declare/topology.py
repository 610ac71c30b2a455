"""Topologies: which endpoints there are, which of them are joined, and between which nodes workloads run."""

from collections.abc import Callable, Mapping
from itertools import combinations
from string import ascii_lowercase
from types import MappingProxyType
from typing import NamedTuple

from tunbench.runner.declare import spelling
from tunbench.runner.declare.options import Option, nearest, resolve

MOST_WORKERS = 8
"""Workers of a cluster at most: all share the memory of one machine."""

MAX_ENDPOINTS = 250
"""Endpoints at most: each has a network of its own, whose number is one byte of an address."""

CONTROL, RELAY = "control", "relay"
"""What a node can be for besides an endpoint: the control plane of a VPN, and a relay of its packets."""

PLANE = "kube"
"""The endpoint on which the control plane of a cluster is."""


class Pair(NamedTuple):
    """Two nodes between which a workload runs, and the two endpoints through which its packets pass."""

    client: str
    server: str
    first: str
    second: str

    @property
    def name(self) -> str:
        """What stands in the column `pair`."""
        return f"{self.client}-{self.server}"


class Topology(NamedTuple):
    """Endpoints, the peers of each, and the pairs between which workloads run, the usual one first.

    `hosts` are the nodes behind an endpoint, by its name. What is joined through a `hub` has no other peers. `pods` are
    the nodes within an endpoint, which the stack makes.
    """

    endpoints: tuple[str, ...]
    peers: Mapping[str, tuple[str, ...]]
    pairs: tuple[Pair, ...]
    hosts: Mapping[str, str]
    hub: str = ""
    pods: Mapping[str, str] = MappingProxyType({})


def name_of(number: int) -> str:
    """The name of an endpoint, counted from 0: a, b, …, z, aa, ab, …."""
    rest, letter = divmod(number, len(ascii_lowercase))
    return (name_of(rest - 1) if rest else "") + ascii_lowercase[letter]


def _pair() -> Topology:
    return _mesh(2)


def _ring() -> Topology:
    return _mesh(3)._replace(pairs=(_direct("a", "b"), _direct("b", "c"), _direct("c", "a")))


def _mesh(nodes: int) -> Topology:
    names = _names(nodes)
    return Topology(names, _joined(names), tuple(_direct(*two) for two in combinations(names, 2)), {})


def _hub_spoke(nodes: int) -> Topology:
    hub, *spokes = names = _names(nodes)
    peers = {hub: tuple(spokes), **{spoke: (hub,) for spoke in spokes}}
    among = tuple(_direct(*two) for two in combinations(spokes, 2))
    return Topology(names, peers, (*(_direct(hub, spoke) for spoke in spokes), *among), {}, hub)


def _site_to_site() -> Topology:
    return _mesh(2)._replace(
        hosts={"a": "host-a", "b": "host-b"}, pairs=(Pair("host-a", "host-b", first="a", second="b"),)
    )


def _cluster(workers: int) -> Topology:
    names = _names(workers)
    pods = {name: f"pod-{name}" for name in names}
    among = tuple(Pair(pods[one], pods[other], one, other) for one, other in combinations(names, 2))
    return Topology((PLANE, *names), _joined((PLANE, *names)), among, {}, pods=pods)


def _joined(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Each joined with each."""
    return {name: tuple(peer for peer in names if peer != name) for name in names}


def _names(nodes: int) -> tuple[str, ...]:
    return tuple(name_of(number) for number in range(nodes))


def _direct(client: str, server: str) -> Pair:
    return Pair(client, server, client, server)


def _nodes(default: str, low: int) -> dict[str, Option]:
    return {"nodes": Option("count", default, "endpoints", low=low, high=MAX_ENDPOINTS)}


SUMMARIES = {
    "pair": "two endpoints, a and b",
    "ring": "three endpoints, each joined with each; traffic a to b, b to c, c to a",
    "mesh": "N endpoints, each joined with each",
    "hub-spoke": "N endpoints, all but the first joined with the first alone, which passes packets on",
    "site-to-site": "two endpoints with a host behind each; traffic from host to host",
    "cluster": f"a Kubernetes cluster: its control plane on {PLANE}, N workers with a pod in each; from pod to pod",
}

TOPOLOGY_KINDS: dict[str, Callable[..., Topology]] = {
    "pair": _pair,
    "ring": _ring,
    "mesh": _mesh,
    "hub-spoke": _hub_spoke,
    "site-to-site": _site_to_site,
    "cluster": _cluster,
}
OPTIONS = {
    "mesh": _nodes("4", 2),
    "hub-spoke": _nodes("4", 3),
    "cluster": {"workers": Option("count", "2", "workers, each with a pod", low=2, high=MOST_WORKERS)},
}


def read(text: str) -> Topology:
    """The topology of a spelling, such as `mesh:nodes=50`. Raises ValueError."""
    part = spelling.part(text)
    if part.name not in TOPOLOGY_KINDS:
        raise ValueError(f'unknown topology "{part.name}"{nearest(part.name, TOPOLOGY_KINDS)}')
    options = resolve(OPTIONS.get(part.name, {}), part.options, part.name)
    return TOPOLOGY_KINDS[part.name](*(int(value) for value in options.values()))


PAIR = read("pair")
"""Two endpoints: the usual topology."""
