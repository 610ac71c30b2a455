"""Links, tunings, machines, include, exclude and probes: what of a plan becomes of them in its shards."""

import re
import subprocess
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.small_plans import small_plan as plan
from tunbench.plan import cut
from tunbench.plan.axes import machine, tuning
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import read_stack
from tunbench.plan.estimate.duration import estimate, shard_seconds
from tunbench.plan.expand import expand, restarts
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.runner import registry
from tunbench.runner.declare.axes import NAMES

STACKS = ["none", "wireguard", "gre", "vxlan"]
WORKLOADS = ["ping", "pmtu", "iperf3-tcp"]
PROFILES = ["baseline", "low", "high"]
LINKS = ["wire", "1G"]
TUNINGS = ["default", "gvisor-full"]
MACHINES = ["full", "slow"]


def names(shard: Shard) -> list[str]:
    return [one.name for one in shard.workloads]


def whole(**keys: object) -> Plan:
    axes = {"stacks": STACKS, "workloads": WORKLOADS, "profiles": PROFILES}
    return plan(**axes, link=LINKS, tuning=TUNINGS, machine=MACHINES, **keys)


def test_one_value_is_a_list_of_one() -> None:
    given = plan(tuning="gvisor-full", machine={"name": "x", "cpu": {"speed": 500}}, topology="pair")
    assert given.axes["tuning"] == ["gvisor-full"]
    assert given.axes["link"] == ["wire"]
    assert given.values["machine"] == [Machine("x", (), 500)]
    assert given.axes["topology"] == ["pair"]


def test_the_order_of_expansion() -> None:
    shards = expand(whole(repeats=2))
    assert [(one.repeat, *(one.values[axis].name for axis in NAMES if axis != "workload")) for one in shards] == [
        (repeat, "none", link, "pair", tuned, model, profile, stack)
        for repeat in (1, 2)
        for link in LINKS
        for tuned in TUNINGS
        for model in MACHINES
        for profile in PROFILES
        for stack in STACKS
    ]
    assert len({one.id for one in shards}) == len(shards)


def test_a_shard_depends_on_what_its_link_tuning_and_machine_say_not_on_their_names_alone() -> None:
    ids = {
        expand(plan(link=link, tuning=tuned, machine=model))[0].id
        for link in ({"name": "z", "mtu": 1400}, {"name": "z", "up": {"rate": "1M"}}, {"name": "z", "delay": "0s"})
        for tuned in ({"name": "x", "congestion": "bbr"}, {"name": "x", "congestion": "cubic"})
        for model in ({"name": "y", "cpu": {"speed": 500}}, {"name": "y", "cpu": {"speed": 250}})
    }
    assert len(ids) == 12


def test_the_columns_have_names() -> None:
    [shard] = expand(plan(link="jumbo", machine="slow"))
    assert (shard.cell_of("ping")["link"], shard.cell_of("ping")["machine"]) == ("jumbo", "slow")
    assert shard.spec()["link"]["mtu"] == 9000
    assert shard.spec()["machine"] == {"name": "slow", "without": [], "speed": 250}
    assert "probes" not in shard.spec()


@pytest.mark.parametrize(("probes", "expected"), [(["memory", "cost"], ["cost", "memory"]), ([], [])])
def test_probes_are_sorted(probes: list[str], expected: list[str]) -> None:
    assert expand(plan(probes=probes))[0].spec()["probes"] == expected


def test_what_restarts_the_stack_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    ping = registry.workload("ping")
    monkeypatch.setattr(ping, "ABOUT", ping.ABOUT._replace(restarts=True))
    workloads = ["ping:count=5", "pmtu", "ping", "iperf3-tcp"]
    given = plan(workloads=workloads)
    assert [restarts(one) for one in given.workloads] == [True, False, True, False]
    assert names(expand(given)[0]) == ["pmtu", "iperf3-tcp", "ping:count=5", "ping"]


patterns = st.fixed_dictionaries(
    {},
    optional={
        "stack": st.sampled_from([*STACKS, "*", "[vw]*"]),
        "profile": st.sampled_from([*PROFILES, "?o*"]),
        "workload": st.sampled_from([*WORKLOADS, "p*"]),
        "link": st.sampled_from([*LINKS, "[vw]*"]),
        "tuning": st.sampled_from(TUNINGS),
        "machine": st.sampled_from(MACHINES),
    },
).filter(bool)
tables = st.lists(patterns, max_size=3)


def same(value: str, pattern: str) -> bool:
    """What a shell says of a pattern, written in another way than by fnmatch."""
    expression = {"*": ".*", "[vw]*": "[vw].*", "?o*": ".o.*", "p*": "p.*"}.get(pattern, re.escape(pattern))
    return re.fullmatch(expression, value) is not None


@given(include=tables, exclude=tables)
def test_include_and_exclude_leave_what_they_say(include: list[dict[str, str]], exclude: list[dict[str, str]]) -> None:
    expected = [
        cell
        for cell in product(LINKS, TUNINGS, MACHINES, PROFILES, STACKS, WORKLOADS)
        if (not include or any(hit(table, *cell) for table in include))
        and not any(hit(table, *cell) for table in exclude)
    ]
    if not expected:
        with pytest.raises(ValueError, match="nothing is left"):
            whole(include=include, exclude=exclude)
        return
    found = [
        (one.link.name, one.tuning.name, one.machine.name, one.profile.name, one.stack.name, workload.name)
        for one in expand(whole(include=include, exclude=exclude))
        for workload in one.workloads
    ]
    assert found == expected


def hit(table: dict[str, str], *names: str) -> bool:
    cell = dict(zip([axis for axis in NAMES if axis not in ("access", "topology")], names, strict=True))
    return all(same(cell[axis], pattern) for axis, pattern in table.items())


def test_a_shard_without_workloads_vanishes() -> None:
    shards = expand(plan(stacks=["none", "gre"], workloads=["ping", "pmtu"], exclude=[{"stack": "none"}]))
    assert [(one.stack.name, names(one)) for one in shards] == [("gre", ["ping", "pmtu"])]


def test_a_counterpart_can_be_cut_like_any_stack() -> None:
    given = plan(stacks=["none", "macvlan"], exclude=[{"stack": "none:underlay=ethernet"}])
    assert [one.stack.name for one in expand(given)] == ["none", "macvlan"]


def test_swept_values_can_be_cut() -> None:
    profiles = [{"name": "wan", "delay": ["1ms", "2ms"], "loss": ["0%", "1%"]}]
    given = plan(profiles=profiles, exclude=[{"profile": "wan:delay=1ms,*"}])
    assert [one.profile.name for one in expand(given)] == ["wan:delay=2ms,loss=0%", "wan:delay=2ms,loss=1%"]


def test_a_cell_is_cut_by_the_axes_that_a_table_names() -> None:
    def kept(include: list[dict[str, str]], exclude: list[dict[str, str]]) -> bool:
        axes = {axis: ["x", "z"] for axis in NAMES}
        return cut.cutting(axes, include, exclude)([(axis, "x") for axis in axes])

    assert kept([], [])
    assert not kept([{"stack": "y"}], [])
    assert not kept([], [{"stack": "x", "profile": "?"}])
    assert kept([{"stack": "y"}, {"stack": "x"}], [{"stack": "x", "profile": "y"}])


@given(
    st.lists(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["x*", "?1", "y2", "*"]), min_size=1)),
    st.data(),
)
def test_regions_are_the_cells_that_are_left(exclude: list[dict[str, str]], data: st.DataObject) -> None:
    include = data.draw(st.sampled_from([[], exclude[:1], [{"stack": "x*"}, {"profile": "?2"}]]))
    axes = {axis: ["x1", "x2", "y1", "y2"][: 2 + place % 3] for place, axis in enumerate(NAMES)}
    kept = cut.cutting(axes, include, exclude)
    found = [cell for region in cut.regions(axes, include, exclude) for cell in product(*region)]
    expected = [cell for cell in product(*axes.values()) if kept(zip(axes, cell, strict=True))]
    assert sorted(found) == expected


def test_a_larger_mtu_makes_room_for_more_layers() -> None:
    tower = "openvpn+" + "+".join(["ipip"] * 44)
    with pytest.raises(ValueError, match="leaves an MTU"):
        read_stack(tower)
    assert plan(stacks=[tower], link="jumbo").axes["stack"] == [tower]
    with pytest.raises(ValueError, match="leaves an MTU"):
        plan(stacks=[tower], link=["jumbo", "wire"])


def test_shipped_tunings() -> None:
    shipped = tuning.shipped()
    assert list(shipped) == ["default", "gvisor-reorder", "gvisor-full"]
    reorder = {"net.ipv4.tcp_reordering": "10", "net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_early_retrans": "0"}
    assert shipped["gvisor-reorder"].sysctl == reorder
    full = dict(shipped["gvisor-full"].sysctl)
    assert {name: full.pop(name) for name in reorder} == reorder
    assert sorted(full) == ["net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]


@pytest.mark.parametrize(
    "name", ["net..x", "net/../kernel/x", "net", "net.", "net.x\n", "netx.y", "Net.x", "net. x", ""]
)
def test_a_sysctl_is_one_of_the_network(name: str) -> None:
    with pytest.raises(ValueError):
        list(tuning.read_tunings({"name": "x", "sysctl": {name: "1"}}))


def test_two_ways_to_write_a_sysctl() -> None:
    dotted = list(tuning.read_tunings({"name": "x", "sysctl": {"net": {"ipv4": {"tcp_recovery": 0}}}}))
    slashed = list(tuning.read_tunings({"name": "x", "sysctl": {"net/ipv4/tcp_recovery": "0"}}))
    assert dotted[0].sysctl == slashed[0].sysctl == {"net.ipv4.tcp_recovery": "0"}
    kept = list(tuning.read_tunings({"name": "x", "sysctl": {"net.ipv4.conf.eth0/7.mtu": "0"}}))
    assert list(kept[0].sysctl) == ["net.ipv4.conf.eth0/7.mtu"]


def test_what_needs_a_feature_goes_with_it() -> None:
    assert machine.lacking(["aes"]) == ("aes", "vaes")
    assert {"aes", "avx", "avx2", "pclmulqdq", "sse4.1", "sse4.2", "vaes"} < set(machine.lacking(["ssse3"]))
    assert machine.lacking(["vaes", "vaes"]) == ("vaes",)
    assert machine.shipped()["no-aes"].without == ("aes", "pclmulqdq", "vaes")


def test_the_table_of_features_is_closed() -> None:
    assert {needing for names in machine.FEATURES.values() for needing in names} <= set(machine.FEATURES)


def test_speeds_sweep_and_features_do_not() -> None:
    found = list(machine.read_machines({"name": "x", "cpu": {"speed": [250, 125], "without": ["aes", "bmi1"]}}))
    assert found == [
        Machine("x:cpu.speed=250", ("aes", "bmi1", "vaes"), 250),
        Machine("x:cpu.speed=125", ("aes", "bmi1", "vaes"), 125),
    ]


@pytest.mark.parametrize("speed", [1500, 1500.0, 1.5e3])
def test_a_speed_is_a_whole_number_however_it_is_written(speed: float) -> None:
    [found] = machine.read_machines({"name": "x", "cpu": {"speed": speed}})
    assert found.speed == 1500


@pytest.mark.parametrize("speed", ["9" * 5000, "50" * 10, 20_001, 49, 333.3, 1e300, float("inf"), float("nan"), "1e3"])
def test_no_other_number_is_a_speed(speed: object) -> None:
    with pytest.raises(MistakeAt, match="write a whole number from 50 to 20000"):
        list(machine.read_machines({"name": "x", "cpu": {"speed": speed}}))


def test_a_kernel_is_without_modules_that_it_could_have() -> None:
    [found] = machine.read_machines({"name": "x", "kernel": {"without": ["tcp_bbr"]}})
    assert found == Machine("x", kernel_without=("tcp_bbr",)) and not found.full
    assert found.spec()["kernel_without"] == ["tcp_bbr"] and "kernel_without" not in Machine("x").spec()


@pytest.mark.vm
def test_qemu_knows_every_feature() -> None:
    printed = subprocess.run(["qemu-system-x86_64", "-cpu", "help"], capture_output=True, text=True).stdout
    assert set(machine.FEATURES) <= set(printed.partition("Recognized CPUID flags:")[2].split())


def test_a_second_of_a_slow_machine_is_soon_over() -> None:
    fast, slow = expand(plan(workloads=["iperf3-tcp"], machine=["full", "slow"]))
    assert shard_seconds(slow) < shard_seconds(fast)
    assert estimate([fast, slow], 1) == pytest.approx(shard_seconds(fast) + shard_seconds(slow))
