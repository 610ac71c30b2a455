"""What a plan is warned of before it runs, and its report beside its numbers."""

from dataclasses import replace

import pytest

from tunbench.plan.cautions import LOSSES, Condition, cautions, judges_bundles, lines
from tunbench.plan.expand import expand
from tunbench.plan.load import check
from tunbench.runner.declare.link import Direction
from tunbench.runner.declare.warnings import WarningKind

PLAN = """
name = "x"
stacks = ["none"]
workloads = ["ping"]
"""


def warned(text: str, clock: str = "virtual") -> list[str]:
    lab = f'\n[lab]\nkind = "{"vm" if clock == "virtual" else "native"}"\n'
    return lines(expand(check(PLAN + text + lab, "x.toml")), clock)


def condition(text: str, stack: str = "none") -> Condition:
    [shard] = expand(check(PLAN.replace("none", stack) + text, "x.toml"))
    endpoints = shard.layout.topology.endpoints
    return Condition(shard.profile, shard.link, shard.machine, shard.access, endpoints, shard.stack.name)


def kinds(text: str) -> list[WarningKind]:
    return [one.kind for one in cautions([condition(text)])]


def test_what_is_usual_needs_no_caution() -> None:
    assert warned('profiles = ["baseline", "low", "medium", "high"]') == []
    assert warned('link = ["100M", "aggregates"]') == []


@pytest.mark.parametrize(
    "term", ['loss = "1%"', 'jitter = "1ms"', 'reorder = "1%"', 'duplicate = "1%"', 'corrupt = "1%"']
)
def test_bundles_that_netem_judges_are_told(term: str) -> None:
    profile = f'profiles = [{{ name = "p", delay = "5ms", {term} }}]'
    assert kinds(profile) == []
    assert kinds(f'{profile}\nlink = "aggregates"') == [WarningKind.GSO_AGGREGATES]
    [line] = warned(f'{profile}\nlink = "aggregates"')
    assert line.startswith("gso-aggregates: p over aggregates: the link cuts none; no ratio to none")
    above = profile.replace("delay", 'placement = "endpoints", delay')
    assert [one.text for one in cautions([condition(above)])] == [
        "netem sits above the cut (endpoints); no ratio to none is given where packets are lost"
    ]
    [line] = warned(f'{above}\nlink = "aggregates"')
    assert "netem sits above the cut (endpoints), and the link cuts none; no ratio" in line, "each is a reason"


def test_a_delay_alone_judges_no_packet() -> None:
    assert kinds('profiles = [{ name = "p", delay = "5ms" }]\nlink = "aggregates"') == []


def test_only_losses_make_ratios_void() -> None:
    jittered = condition('profiles = [{ name = "p", delay = "5ms", jitter = "1ms" }]\nlink = "aggregates"')
    assert judges_bundles(jittered.profile, jittered.link)
    assert not judges_bundles(jittered.profile, jittered.link, LOSSES)
    rated = replace(jittered.link, up=Direction(1e9))
    assert not judges_bundles(jittered.profile, rated), "a rate sends packet by packet"
    assert judges_bundles(replace(jittered.profile, placement="endpoints"), rated)


def test_jitter_over_no_base_is_told() -> None:
    link = '\nlink = { name = "bare", delay = "20us" }'
    assert kinds(f'profiles = ["low"]{link}') == [WarningKind.NO_BASE_ROUND_TRIP]
    assert kinds(f'profiles = ["baseline"]{link}') == []


@pytest.mark.parametrize(
    ("access", "told"),
    [
        ('"satellite"', []),
        ('{ a = "satellite" }', []),
        ('{ default = { name = "x", link = { delay = "5us" }, delay = "5us" } }', ["low over bare and x"]),
        # Two of three are as near to each other as without.
        ('{ a = "satellite" }\ntopology = "mesh:nodes=3"', ["low over bare and none,a=satellite"]),
    ],
)
def test_an_access_with_a_delay_is_part_of_the_base(access: str, told: list[str]) -> None:
    text = f'profiles = ["low"]\nlink = {{ name = "bare", delay = "10us" }}\naccess = {access}'
    found = [one for one in cautions([condition(text)]) if one.kind == WarningKind.NO_BASE_ROUND_TRIP]
    assert [one.where for one in found] == told
    assert not told or found[0].text == f"a round trip takes {80 if 'x' in told[0][-1] else 40} µs at least"


def test_a_fast_machine_wants_a_link_with_a_rate() -> None:
    machine = 'machine = { name = "fast", cpu.speed = 8000 }\n'
    assert kinds(machine) == [WarningKind.UNSPREAD_BURSTS]
    assert kinds(f'{machine}link = "1G"') == []


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        ('"pi4"', 'link = "pi4" is that of its test bed'),
        ('"x5647"', 'link = "x5647" is that of its test bed'),
        # A name that a link happens to have, too, is no test bed.
        ('{ name = "wire", cpu.speed = 1100 }', 'link = "100M" is the fastest shipped one that it serves'),
        ('{ name = "m", cpu.speed = 1100 }', 'link = "100M" is the fastest shipped one that it serves'),
        ('{ name = "m", cpu.speed = 2222 }', 'link = "100M" is the fastest shipped one that it serves'),
        ('{ name = "m", cpu.speed = 2223 }', 'link = "1G" is the fastest shipped one that it serves'),
        ('{ name = "m", cpu.speed = 20000 }', 'link = "1G" is the fastest shipped one that it serves'),
    ],
)
def test_a_fast_machine_is_told_a_link_that_it_can_serve(machine: str, told: str) -> None:
    [found] = cautions([condition(f"machine = {machine}\n")])
    assert found.text.endswith(told)
    link = told.partition(" is ")[0]
    if "fastest" in told:
        assert kinds(f"machine = {machine}\n{link}") == []


def test_a_rate_that_is_never_served_is_told_with_the_speed_that_would() -> None:
    [found] = cautions([condition('link = "1G"')])
    assert found.kind == WarningKind.RATE_NOT_SERVED
    assert found.text == "the machine carries some 450 Mbit/s at most: 1000 need a speed of 2223"
    assert kinds('link = "1G"\nmachine = { name = "m", cpu.speed = 2223 }') == []
    assert warned('link = "1G"', clock="real") == [], "there the machine is no model"


def test_a_rate_beyond_every_machine_names_no_speed_that_is_refused() -> None:
    [found] = cautions([condition('link = "10G"\nmachine = { name = "m", cpu.speed = 20000 }')])
    carried = "the machine carries some 9000 Mbit/s at most: 10000 need more than the fastest one, 20000"
    assert found.text == f"{carried}, so that only a slower link helps"
    [found] = cautions([condition('link = { name = "x", rate = "1000G" }\nmachine = { name = "m", cpu.speed = 3000 }')])
    carried = "the machine carries some 1350 Mbit/s at most: 1000000 need more than the fastest one, 20000"
    assert found.text == f"{carried}, so that only a slower link helps"


def test_of_many_findings_the_first_are_told() -> None:
    [line] = warned('machine = { name = "m", cpu.speed = "1100..20000 step 100" }')
    assert line.count("million instructions a second") == 3 and " and 187 more. " in line and len(line) < 600


def test_conditions_of_one_kind_share_a_line() -> None:
    [line] = warned('link = ["1G", "10G"]')
    assert line.startswith("rate-not-served: full behind 1G: the machine carries some 450 Mbit/s at most: 1000 need")
    assert "; full behind 10G: " in line


def test_of_many_conditions_the_first_are_named() -> None:
    profile = '{ name = "p", delay = "5ms", loss = ["1%", "2%", "3%", "4%", "5%"] }'
    [line] = warned(f'profiles = [{profile}]\nlink = "aggregates"')
    assert line.startswith("gso-aggregates: p:loss=1% over aggregates, p:loss=2% over aggregates, p:loss=3% over")
    assert " and 2 more: the link cuts none" in line


HASHED = "no-sha-instructions"


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        ("tinc", ["sha256"]),
        ("tinc:digest=none", []),
        ("tinc:mac-length=0", []),
        # Hardly a processor has instructions for it.
        ("tinc:digest=sha512", []),
        # Its connections by TCP have no HMAC.
        ("tinc:relay=on,path=relay-tcp", []),
        ("openvpn", []),
        ("openvpn:cipher=AES-256-CBC,auth=static-key", ["sha1"]),
        ("openvpn:auth=static-key,digest=SHA256", ["sha256"]),
        ("openvpn:auth=none", []),
        ("ipsec", []),
        ("ipsec:cipher=null-sha1", ["sha1"]),
        ("ipsec:cipher=aes256cbc-sha256+tinc", ["sha256"]),
        ("ipsec:cipher=aes128cbc-sha1+tinc", ["sha1", "sha256"]),
        ("wireguard", []),
    ],
)
def test_a_stack_that_hashes_by_sha_is_told(stack: str, told: list[str]) -> None:
    found = cautions([condition("", stack)])
    assert [one.text for one in found] == [f"each packet has an HMAC by {hmac}" for hmac in told]
    assert {one.kind for one in found} <= {HASHED}
    assert {one.where for one in found} <= {f"{stack} on full"}


def test_what_stands_for_an_old_or_small_processor_has_no_instructions_for_sha_either() -> None:
    lacking = 'machine = { name = "small", cpu = { without = ["aes"] } }'
    assert cautions([condition(lacking, "tinc")]) == []
    assert [one.where for one in cautions([condition('machine = "slow"', "tinc")])] == ["tinc on slow"]


def test_stacks_that_are_hashed_share_a_line() -> None:
    shards = expand(check(PLAN.replace('"none"', '"none", "tinc", "tinc:mode=switch"'), "x.toml"))
    [line] = lines(shards, "virtual")
    assert line.startswith(f"{HASHED}: tinc on full, tinc:mode=switch on full: each packet has an HMAC by sha256.")
    assert lines(shards, "real") == [], "there the processor has what it has"


def test_of_a_strangers_stack_nothing_is_known() -> None:
    assert cautions([condition("")._replace(stack="theirs:x=1")]) == []
