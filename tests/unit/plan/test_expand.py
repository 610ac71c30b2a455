import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.small_plans import small_plan as plan
from tunbench.plan.axes.stack import compared, parse
from tunbench.plan.estimate.duration import estimate, shard_seconds
from tunbench.plan.expand import expand, trials
from tunbench.plan.load import load
from tunbench.plan.shard import seed_of_repeat

STACKS = ["wireguard", "ipip", "gre", "vxlan", "openvpn", "wireguard+vxlan", "openvpn:port=1195"]
WORKLOADS = ["ping", "ping:count=7", "iperf3-tcp", "iperf3-udp:rate=1M"]
PROFILES = ["baseline", "low", "medium", "high"]


def some(names: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=1, unique=True)


@given(
    stacks=some(STACKS),
    workloads=some(WORKLOADS),
    profiles=some(PROFILES),
    repeats=st.integers(1, 4),
    seed=st.integers(0, 2**63 - 1),
)
def test_the_shards_are_the_product(
    stacks: list[str], workloads: list[str], profiles: list[str], repeats: int, seed: int
) -> None:
    given = plan(stacks=stacks, workloads=workloads, profiles=profiles, repeats=repeats, seed=seed)
    shards = expand(given)
    assert len(shards) == repeats * len(profiles) * len(stacks)
    assert trials(shards) == len(shards) * len(workloads)
    assert len({shard.id for shard in shards}) == len(shards)
    assert [shard.id for shard in expand(given)] == [shard.id for shard in shards]
    assert [(shard.repeat, shard.profile.name, shard.stack.name) for shard in shards] == [
        (repeat, profile, stack) for repeat in range(1, repeats + 1) for profile in profiles for stack in stacks
    ]


def test_every_shard_of_a_repeat_has_its_seed() -> None:
    shards = expand(plan(stacks=["none", "ipip"], repeats=2, seed=5))
    assert [shard.seed for shard in shards] == [seed_of_repeat(5, repeat) for repeat in (1, 1, 2, 2)]
    assert seed_of_repeat(5, 1) != seed_of_repeat(5, 2) != seed_of_repeat(6, 2)


def bare_beside(stacks: list[str]) -> list[str]:
    return [one.name for one in compared([parse(stack) for stack in stacks])]


@pytest.mark.parametrize(
    ("stacks", "expected"),
    [
        (["none", "macvlan", "ipip"], ["none", "macvlan", "ipip", "none:underlay=ethernet"]),
        (["none:underlay=ip", "macvlan+vxlan"], ["none:underlay=ip", "macvlan+vxlan", "none:underlay=ethernet"]),
        (["none:underlay=ethernet", "none", "macvlan"], ["none:underlay=ethernet", "none", "macvlan"]),
        (["macvlan", "ipip"], ["macvlan", "ipip"]),
        (["none", "vxlan+macvlan"], ["none", "vxlan+macvlan"]),
        (["none", "vxlan:outer=ipv6"], ["none", "vxlan:outer=ipv6", "none:underlay=ip6"]),
        (["none", "vxlan:outer=ipv4"], ["none", "vxlan:outer=ipv4"]),
        (["none", "vxlan:inner=ipv6+gre:ttl=3"], ["none", "vxlan:inner=ipv6+gre:ttl=3"]),
        (["none:underlay=ip6", "none", "vxlan:outer=ipv6"], ["none:underlay=ip6", "none", "vxlan:outer=ipv6"]),
        (["none:underlay=ip6", "vxlan"], ["none:underlay=ip6", "vxlan"]),
        (
            ["macvlan", "vxlan:outer=ipv6+gre", "none"],
            ["macvlan", "vxlan:outer=ipv6+gre", "none", "none:underlay=ip6", "none:underlay=ethernet"],
        ),
    ],
)
def test_none_is_measured_on_each_underlay_where_it_is_compared(stacks: list[str], expected: list[str]) -> None:
    assert bare_beside(stacks) == expected


ON_ANY = ["none", "none:underlay=ip6", "none:underlay=ethernet", "macvlan", "vxlan", "vxlan:outer=ipv6", "macvlan+ipip"]


@given(stacks=some(ON_ANY))
def test_ratios_have_their_none_and_nothing_else_is_added(stacks: list[str]) -> None:
    found = bare_beside(stacks)
    added = found[len(stacks) :]
    assert found[: len(stacks)] == stacks
    assert bare_beside(found) == found
    assert all(stack.startswith("none:") for stack in added)
    kinds = {parse(stack).underlay for stack in stacks}
    assert {parse(stack).underlay for stack in found} == kinds
    if "none" in stacks:
        assert {parse(stack).underlay for stack in found if stack.startswith("none")} == kinds
    else:
        assert added == []


def test_workers_share_the_time() -> None:
    shards = expand(load("quick").plan)[:1] * 42
    alone = estimate(shards, 1)
    assert alone == pytest.approx(42 * shard_seconds(shards[0]))
    assert estimate(shards, 2) == pytest.approx(alone / 2)
    assert estimate(shards, 1000) == estimate(shards, 10**30) == pytest.approx(alone / 42)
    assert estimate([], 2) == 0


def test_the_quick_plan_is_what_it_says() -> None:
    given = load("quick").plan
    assert [len(given.axes[axis]) for axis in ("stack", "profile", "workload")] == [7, 2, 2]
    assert given.repeats == 3
    assert (given.seed, given.lab.kind, given.lab.clock) == (1, "vm", "virtual")
