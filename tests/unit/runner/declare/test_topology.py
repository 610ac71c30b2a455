"""Topologies: endpoints, peers, and the pairs between which workloads run."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.runner import invocation, stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.topology import read
from tunbench.runner.network import underlay


def names(spelling: str) -> list[str]:
    return [pair.name for pair in read(spelling).pairs]


def test_the_pairs_of_each_topology_the_usual_one_first() -> None:
    assert names("pair") == ["a-b"]
    assert names("ring") == ["a-b", "b-c", "c-a"]
    assert names("mesh:nodes=4") == ["a-b", "a-c", "a-d", "b-c", "b-d", "c-d"]
    assert names("hub-spoke:nodes=4") == ["a-b", "a-c", "a-d", "b-c", "b-d", "c-d"]
    assert names("site-to-site") == ["host-a-host-b"]
    assert names("cluster:workers=3") == ["pod-a-pod-b", "pod-a-pod-c", "pod-b-pod-c"]


@given(st.integers(2, topology.MAX_ENDPOINTS))
def test_a_mesh_joins_each_with_each(nodes: int) -> None:
    mesh = read(f"mesh:nodes={nodes}")
    assert len(set(mesh.endpoints)) == nodes
    assert len(mesh.pairs) == nodes * (nodes - 1) // 2
    assert all(set(peers) == {*mesh.endpoints} - {name} for name, peers in mesh.peers.items())


def test_spokes_are_joined_with_the_hub_alone() -> None:
    star = read("hub-spoke:nodes=4")
    assert star.hub == "a"
    assert dict(star.peers) == {"a": ("b", "c", "d"), "b": ("a",), "c": ("a",), "d": ("a",)}


def test_a_cluster_has_a_pod_in_each_worker_and_none_beside_its_control_plane() -> None:
    cluster = read("cluster:workers=2")
    assert cluster.endpoints == ("kube", "a", "b")
    assert cluster.pods == {"a": "pod-a", "b": "pod-b"}
    assert cluster.peers["kube"] == ("a", "b")
    assert (cluster.pairs[0].first, cluster.pairs[0].second) == ("a", "b")


@given(st.integers(0, 10_000))
def test_names_are_short_and_unique(number: int) -> None:
    assert re.fullmatch(r"[a-z]{1,3}", topology.name_of(number))
    assert topology.name_of(number) != topology.name_of(number + 1)


@pytest.mark.parametrize("nodes", [2, topology.MAX_ENDPOINTS])
@pytest.mark.parametrize("kind", underlay.UNDERLAY_KINDS)
def test_every_endpoint_has_an_address_of_its_own(kind: str, nodes: int) -> None:
    under = underlay.of(kind, read(f"mesh:nodes={nodes}"))
    addresses = [leaf.address for leaf in under.endpoints.values()]
    assert len({*addresses, under.name_server}) == nodes + 1
    assert all(len(interface.name) <= 15 for interface in under.towards.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rings", 'unknown topology "rings"; did you mean "ring"?'),
        ("ring:nodes=4", 'ring has no option "nodes"; known: none'),
        ("mesh:nodes=1", 'mesh: option nodes: "1" is out of range: allowed is 2 to 250'),
        ("hub-spoke:nodes=2", 'hub-spoke: option nodes: "2" is out of range: allowed is 3 to 250'),
    ],
)
def test_mistakes_have_a_message(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read(text)


def test_a_workload_runs_between_the_first_pair_unless_it_is_asked_for_more() -> None:
    ring = read("ring")
    assert [pair.name for pair in invocation.read("ping").pairs(ring)] == ["a-b"]
    assert [pair.name for pair in invocation.read("ping:pairs=each").pairs(ring)] == ["a-b", "b-c", "c-a"]
    assert not invocation.read("ping:pairs=each").together
    assert invocation.read("ping:pairs=together").together


def test_the_networks_behind_sites_have_the_family_of_the_overlay() -> None:
    sites = read("site-to-site")
    four, six = ({**underlay.of(kind, sites).endpoints} for kind in ("ip", "ip6"))
    assert [lan.network for lan in underlay.lans(sites, four).values()] == ["10.1.1.0/24", "10.1.2.0/24"]
    assert [lan.network for lan in underlay.lans(sites, six).values()] == ["fd01:0:0:1::/64", "fd01:0:0:2::/64"]
    assert underlay.lans(read("pair"), four) == {}


@pytest.mark.parametrize(
    ("spelling", "shape", "routes"),
    [
        ("none", "site-to-site", []),
        ("none:underlay=ethernet", "site-to-site", [("a", "10.1.2.0/24"), ("b", "10.1.1.0/24")]),
        ("wireguard", "pair", []),
        ("wireguard", "site-to-site", [("a", "10.1.2.0/24"), ("b", "10.1.1.0/24")]),
        ("wireguard", "hub-spoke:nodes=3", [("b", "10.10.0.3/32"), ("c", "10.10.0.2/32")]),
        ("wireguard+vxlan", "hub-spoke:nodes=3", [("b", "10.11.0.3/32"), ("c", "10.11.0.2/32")]),
    ],
)
def test_what_lies_behind_a_peer_is_routed_through_it(spelling: str, shape: str, routes: list[tuple[str, str]]) -> None:
    kind = "ethernet" if "ethernet" in spelling else "ip"
    under = underlay.of(kind, read(shape))
    built = stack.build(spelling, under.endpoints, under.topology)
    nodes = [Named(name) for name in under.endpoints]
    found = [(node.name, route[0]) for node, route in stack.routes(built, nodes)]  # type: ignore[arg-type]
    assert found == routes


class Named:
    """A node of which only the name is asked."""

    def __init__(self, name: str) -> None:
        self.name = name
