"""Accesses as plans write them: for all endpoints or for each, by name or inline, with sweeps; and what shards say."""

import json
from contextlib import nullcontext
from typing import Any

import pytest

from tests.helpers.small_plans import small_plan as plan
from tunbench.journal.checks import InvalidEvent
from tunbench.journal.folders import label_of_shard
from tunbench.journal.shard_checks import check_spec
from tunbench.plan.axes.access import read_accesses, shipped
from tunbench.plan.expand import expand
from tunbench.report.terminal.listings import access_row
from tunbench.runner.declare import axes
from tunbench.runner.declare.access import KEPT, NONE, Access, Accesses, of_spec


def read(value: Any) -> list[Accesses]:
    return list(read_accesses(value))


def names(value: Any) -> list[str]:
    return [one.name for one in read(value)]


@pytest.mark.parametrize("value", [NONE, {"default": NONE}, {"a": NONE, "b": NONE}])
def test_without_a_gateway_a_shard_is_what_it_was_before_there_were_any(value: Any) -> None:
    assert read(value) == [Accesses()]
    [shard], [usual] = expand(plan(access=value)), expand(plan())
    assert "access" not in shard.spec()
    assert shard.id == usual.id
    assert shard.cell_of("ping")["access"] == NONE


def test_one_for_all_and_one_for_each() -> None:
    [one] = read("home-fibre")
    assert one.of_endpoint("a") == one.of_endpoint("z") == shipped()["home-fibre"]
    assert one.of_role("control") is None
    [one] = read({"default": "lte", "a": "cloud", "control": "office", "c": NONE})
    assert one.name == "lte,a=cloud,control=office,c=none"
    found = [one.of_endpoint("a"), one.of_endpoint("b"), one.of_endpoint("c"), one.of_role("control")]
    assert [access.name if access else NONE for access in found] == ["cloud", "lte", NONE, "office"]
    assert one.of_role("relay") is None


def test_sweeps_of_an_access_and_of_each_node() -> None:
    line = {"name": "line", "link": {"rate": "1M", "queue": ["fq_codel", 100]}, "nat": ["symmetric", "full-cone"]}
    assert names(line) == [
        f"line:link.queue={queue},nat={nat}" for queue in ("fq_codel", "100") for nat in ("symmetric", "full-cone")
    ]
    assert names({"default": ["lte", NONE], "a": ["cloud", "office"]}) == [
        f"{default},a={own}" for default in ("lte", NONE) for own in ("cloud", "office")
    ]


def test_a_link_is_named_or_written_and_known_by_its_access() -> None:
    [one] = read({"name": "x", "link": "jumbo"})
    assert one.default
    assert one.default.link.name == "jumbo"
    [one] = read({"name": "x", "link": {"up": {"rate": "1M", "queue": "1s"}, "mtu": 1400}})
    assert one.default
    assert (one.default.link.name, one.default.link.mtu, one.default.link.up.queue_seconds) == ("x", 1400, 1.0)
    assert one.default.link.down.rate == 0


def test_a_mapping_is_for_both_or_for_each() -> None:
    def lives(**keys: object) -> tuple[float, float]:
        [one] = read({"name": "x", "nat": "symmetric", **keys})
        assert one.default
        return one.default.udp_mapping, one.default.tcp_mapping

    assert lives() == (120, 7440)
    assert lives(mapping="30s") == (30, 30)
    assert lives(mapping={"udp": "30s"}) == (30, 7440)
    assert lives(mapping={"tcp": "5min"}) == (120, 300)


@pytest.mark.parametrize("mss", [KEPT, "path", 1360, "1360"])
def test_an_mss_is_a_word_or_bytes(mss: str | int) -> None:
    [one] = read({"name": "x", "mss": mss})
    assert one.default
    assert one.default.mss == (1360 if str(mss) == "1360" else mss)


@pytest.mark.parametrize(
    "value",
    [*(name for name in shipped() if name != NONE), {"default": "cgnat", "a": "office-strict", "b": NONE}],
)
def test_a_shard_says_all_of_it(value: Any) -> None:
    [one] = read(value)
    again = of_spec(json.loads(json.dumps(one.spec())))
    assert again.spec() == one.spec()
    assert again.name == one.name
    assert again.of_endpoint("a") is not None


@pytest.mark.parametrize(
    ("family", "stacks", "fits"),
    [
        ("v4", ["none", "wireguard"], True),
        ("v4", ["wireguard:outer=ipv6"], False),
        ("v6", ["none:underlay=ip6", "wireguard:outer=ipv6"], True),
        ("v6", ["wireguard"], False),
        ("dual", ["wireguard", "wireguard:outer=ipv6"], True),
    ],
)
def test_an_access_stands_before_stacks_over_what_it_carries(family: str, stacks: list[str], fits: bool) -> None:
    with nullcontext() if fits else pytest.raises(ValueError, match="carries IPv"):
        shards = expand(plan(stacks=stacks, access={"default": {"name": "x", "family": family}, "b": NONE}))
        assert {shard.spec()["access"]["default"].get("family", "dual") for shard in shards} == {family}


def test_a_journal_may_say_by_what_ports_are_opened_and_need_not() -> None:
    [shard] = expand(plan(access={"name": "x", "nat": "symmetric", "portmap": "pcp"}))
    spec = json.loads(json.dumps(shard.spec()))
    access = spec["access"]["default"]
    check_spec(spec)
    access["portmap"] = "another"
    with pytest.raises(InvalidEvent, match="portmap"):
        check_spec(spec)
    del access["portmap"]
    check_spec(spec)
    assert "portmap pcp" in access_row({**access, "portmap": "pcp"})[-1]


def test_a_firewall_follows_from_nat_and_family() -> None:
    def firewall(family: int, **keys: str) -> str:
        return Access("x", **keys).firewall_over(family)  # type: ignore[arg-type]

    assert (firewall(4), firewall(6)) == ("open", "stateful")
    assert firewall(4, nat="symmetric") == firewall(6, nat="symmetric") == "stateful"
    assert firewall(6, firewall="open") == firewall(4, nat="one-to-one", firewall="open") == "open"


@pytest.mark.parametrize(
    ("keys", "over_ipv4", "over_ipv6"),
    [
        ({}, True, False),
        ({"firewall": "open"}, True, True),
        ({"firewall": "stateful"}, False, False),
        ({"nat": "one-to-one"}, False, False),
        ({"nat": "one-to-one", "firewall": "open"}, True, True),
        # Whatever a firewall says, an address that is not there cannot be sent to.
        ({"nat": "full-cone", "firewall": "open"}, False, True),
        ({"nat": "one-to-one", "carrier": "symmetric", "firewall": "open"}, False, True),
        ({"nat": "one-to-one", "carrier": "one-to-one", "firewall": "open"}, False, True),
    ],
)
def test_what_lets_in_whoever_comes(keys: dict[str, Any], over_ipv4: bool, over_ipv6: bool) -> None:
    assert (Access("x", **keys).lets_in(4), Access("x", **keys).lets_in(6)) == (over_ipv4, over_ipv6)


@pytest.mark.parametrize(
    ("keys", "out"),
    [
        ({}, {"udp:53", "tcp:443", "tcp:80"}),
        ({"firewall": "no-udp"}, {"tcp:443", "tcp:80"}),
        ({"firewall": "tcp-443"}, {"tcp:443"}),
    ],
)
def test_what_a_firewall_lets_out(keys: dict[str, Any], out: set[str]) -> None:
    assert {traffic for traffic in ("udp:53", "tcp:443", "tcp:80") if Access("x", **keys).lets_out(traffic)} == out


def test_a_plan_that_cuts_away_what_does_not_fit_is_no_mistake() -> None:
    exclude = [{"access": "office", "stack": "zerotier"}]
    shards = expand(plan(stacks=["zerotier"], access=["none", "office"], exclude=exclude))
    assert [(one.access.name, one.stack.name) for one in shards] == [("none", "zerotier")]
    asked_for = {"name": "shut", "firewall": {"deny": ["udp:9993"]}}
    assert len(expand(plan(stacks=["zerotier"], access=asked_for))) == 1
    policed = {"name": "x", "link": {"rate": "10M", "queue": "policer"}}
    exclude = [{"access": "x", "link": "aggregates"}]
    assert len(expand(plan(link=["wire", "aggregates"], access=["none", policed], exclude=exclude))) == 3


def test_a_control_plane_behind_a_gateway_must_let_others_in() -> None:
    """What it sends itself is no question, and beside a stack without one it is no mistake."""
    routed = {"name": "routed", "delay": "5ms"}
    shards = expand(plan(stacks=["none", "headscale"], access={"control": routed}))
    assert len(shards) == 2
    for access in ({"name": "mute", "firewall": "stateful"}, {"name": "translated", "nat": "one-to-one"}):
        with pytest.raises(ValueError, match=f'has its node control behind "{access["name"]}"'):
            plan(stacks=["zerotier"], access={"control": access})


def test_two_accesses_of_one_name_in_a_table_are_told_apart_by_what_they_are() -> None:
    line = {"name": "x", "nat": "symmetric"}
    [one] = read({"default": line, "a": dict(line)})
    assert len(one.all) == 1
    both = Accesses("any", Access("x"), {"a": Access("x", nat="symmetric")})
    assert [access.nat for access in both.all] == [NONE, "symmetric"]


def test_names_of_shards_say_the_access_where_there_is_one() -> None:
    [shard] = expand(plan(access="lte"))
    assert "access=lte" in label_of_shard(shard.spec())
    [shard] = expand(plan())
    assert "access" not in label_of_shard(shard.spec())
    assert axes.said(shard.cell_of("ping")) == {
        key: one for key, one in shard.cell_of("ping").items() if key != "access"
    }
