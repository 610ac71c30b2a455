"""The workloads that take the tunnel down: the commands of each event."""

import re
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, captured, move_home
from tests.helpers.fakes import interface as named
from tests.helpers.probed_lab import ProbedLab
from tunbench.runner import invocation, stack
from tunbench.runner.declare.failures import StackFailed, Unsupported, WorkloadFailed
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node import forget_flows
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.shell import Result
from tunbench.runner.workloads import connect, recover
from tunbench.runner.workloads.shared import blocked_time, outages, reboot_all

CONNECT, LINK, RESTART, SILENT = (captured(f"probe-{name}.txt") for name in ("connect", "link", "restart", "silent"))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events have the moments of the captured output, and nothing is waited for."""
    monkeypatch.setattr(recover, "CALM_SECONDS", 0)
    monkeypatch.setattr(blocked_time, "answered_since", lambda node, log, moment: True)
    monkeypatch.setattr(recover, "now", lambda: 3.0)
    monkeypatch.setattr(outages, "now", lambda: 3.0)
    monkeypatch.setattr(connect, "now", lambda: 2.6)


@pytest.mark.usefixtures("calm")
def test_the_link_is_cut_on_the_router_and_what_comes_is_turned_away() -> None:
    assert ProbedLab("none", LINK).execute("recover", event="link", times="1", outage="2s") == [
        "router ip -4 route add unreachable 10.0.2.0/24 metric 9999",
        "router ip link set to-b down",
        "router sleep 2",
        "router ip -batch - <<'END'\nlink set to-b up\nEND",
        "router ip -4 route del unreachable 10.0.2.0/24 metric 9999",
    ]


@pytest.mark.usefixtures("calm")
def test_both_ends_of_the_link_keep_what_they_know_of_each_other() -> None:
    answers: dict[str, Answer] = {
        "neighbour show": '[{"dst":"10.0.2.1","lladdr":"aa:1"},{"dst":"10.0.2.9","state":["FAILED"]}]',
        "eth0/address": "bb:2\n",
    }
    lab = ProbedLab("none", LINK, answers=answers)
    assert [text for text in lab.execute("recover", event="link", times="1") if "-batch" in text] == [
        "b ip -batch - <<'END'\nneighbour replace 10.0.2.1 lladdr aa:1 dev eth0 nud permanent\nEND",
        "router ip -batch - <<'END'\nlink set to-b up\n"
        "neighbour replace 10.0.2.2 lladdr bb:2 dev to-b nud reachable\nEND",
        "b ip -batch - <<'END'\nneighbour replace 10.0.2.1 lladdr aa:1 dev eth0 nud reachable\nEND",
    ]


@pytest.mark.usefixtures("calm")
def test_a_bridge_needs_no_route_and_ipv6_keeps_its_addresses() -> None:
    assert ProbedLab("none:underlay=ethernet", LINK, "ethernet").execute("recover", event="link", times="1") == [
        "bridge ip link set to-b down",
        "bridge sleep 1",
        "bridge ip -batch - <<'END'\nlink set to-b up\nEND",
    ]
    assert ProbedLab("none:underlay=ip6", LINK, "ip6").execute("recover", event="link", times="1")[:2] == [
        "router sysctl -qw net.ipv6.conf.to-b.keep_addr_on_down=1",
        "router ip -6 route add unreachable fd00:0:0:2::/64 metric 9999",
    ]


@pytest.mark.usefixtures("calm")
def test_the_stack_is_restarted_on_one_node_and_its_lower_layer_must_answer_first() -> None:
    commands = ProbedLab("ipip+gre", RESTART).execute("recover", event="restart", times="1")
    steps = [re.sub(r" type .*| >/dev/null.*", "", one) for one in commands if re.search("link (add|del)|ping", one)]
    lower, upper = named("ipip"), named("gre", 1)
    assert steps == [
        f"b ip link del {upper}",
        f"b ip link del {lower}",
        f"b ip link add {lower}",
        f"until ip netns exec a ping -n -I {lower} -c 1 -W 0.5 10.10.0.2",
        f"b ip link add {upper}",
    ]


@pytest.mark.usefixtures("calm")
def test_a_reboot_leaves_nothing_but_files() -> None:
    lab = ProbedLab("vxlan", RESTART)
    commands = lab.execute("recover", event="reboot", times="1")
    assert commands[0] == "b ip -batch - <<'END'\nlink set eth0 down\nEND"
    assert commands[1] == "ip netns pids b | xargs --no-run-if-empty kill -KILL"
    assert commands[2] == f"b ip link del {named('vxlan')}"
    assert commands[3] == "b ip -batch - <<'END'\nxfrm state flush\nxfrm policy flush\naddress flush dev eth0\nEND"
    assert commands[4] == "b nft flush ruleset"
    assert (
        "b ip -batch - <<'END'\nlink set eth0 up\naddress add 10.0.2.2/24 dev eth0\n"
        "route replace default via 10.0.9.1\nEND"
    ) in commands
    # What would empty a reader's own machine is not journaled.
    assert not any("find" in command for command in commands)
    emptied = [call.argv[-2:] for call in lab.shell.calls if "find" in call.text]
    assert emptied == [["node-run", "/run"], ["node-tmp", "/tmp"]]


@pytest.mark.usefixtures("calm")
def test_a_peer_that_forgets_says_nothing_and_waits_to_be_spoken_to() -> None:
    commands = ProbedLab("ipsec:mode=xfrm", RESTART).execute("recover", event="peer-forgets", times="1")
    assert commands[0] == "ip netns pids b | xargs --no-run-if-empty kill -KILL"
    flushed, started = (
        commands.index("b ip xfrm state flush"),
        next(at for at, command in enumerate(commands) if "charon-systemd" in command),
    )
    assert flushed < started
    # Its link stays, and it does not ask for a connection, as who reboots does.
    assert not [one for one in commands if "link set eth0" in one or "--initiate" in one or "ping" in one]
    rebooted = ProbedLab("ipsec:mode=xfrm", RESTART).execute("recover", event="reboot", times="1")
    assert [command for command in rebooted if "--initiate" in command]


@pytest.mark.usefixtures("calm")
def test_udp_is_blocked_at_the_router_and_passes_again_afterwards() -> None:
    lab = ProbedLab("vxlan", RESTART)
    assert lab.execute("recover", event="udp-block", times="1") == [
        f"router nft -f {lab.nodes['router'].home}/blocked.nft",
        "router nft delete table inet blocked",
    ]
    [rules] = [one["text"] for one in lab.events.of("file") if one["path"].endswith("blocked.nft")]
    assert 'iifname "to-b" meta l4proto udp counter drop' in rules and 'oifname "to-b"' in rules


@pytest.mark.parametrize(
    ("spelling", "underlay", "event", "why"),
    [
        ("vxlan", "ip", "nat-rebind", "no NAT stands before b, whose mappings could be forgotten"),
        ("macvlan", "ethernet", "udp-block", "a bridge stands between the endpoints"),
        ("none", "ip", "udp-unblock", "there is no tunnel that could be blocked"),
    ],
)
def test_what_cannot_be_blocked_or_forgotten_is_unsupported(spelling: str, underlay: str, event: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        ProbedLab(spelling, RESTART, underlay).execute("recover", event=event, times="1")


def test_the_message_by_which_the_kernel_forgets_all_flows() -> None:
    head = forget_flows.HEADER.pack(20, 0x0102, 5, 1, 0)
    assert len(head + forget_flows.GENERIC.pack(0, 0, 0)) == 20
    assert (forget_flows.CTNETLINK << 8 | forget_flows.DELETE) == 0x0102


@pytest.mark.usefixtures("calm")
def test_an_address_is_changed_and_put_back_and_the_stack_restarted() -> None:
    lab = ProbedLab("vxlan", RESTART)
    commands = lab.execute("recover", event="address", times="1")
    batch = "b ip -batch - <<'END'\naddress del 10.0.2.{}/24 dev eth0\naddress add 10.0.2.{}/24 dev eth0\n{}\nEND"
    default = "route replace default via 10.0.9.1"
    assert commands[:2] == [batch.format(2, 102, default), batch.format(102, 2, default)]
    assert commands[2:4] == [f"{name} ip link del {named('vxlan')}" for name in ("b", "a")]
    assert commands[-1].endswith(
        f"ping -n -I {named('vxlan')} -c 1 -W 0.5 10.10.0.2 >/dev/null 2>&1; do sleep 0.02; done"
    )


@pytest.mark.usefixtures("calm")
def test_a_stack_that_did_not_recover_is_restarted_and_what_was_measured_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = ProbedLab("vxlan", RESTART)
    monkeypatch.setattr(recover, "now", lambda: 99.0)
    with pytest.raises(WorkloadFailed, match="no probe was answered within 60 s after the event"):
        lab.execute("recover", event="restart", times="2")
    assert sum("link add" in command for command in lab.events.commands) == 3


@pytest.mark.usefixtures("calm")
def test_a_cold_start_forgets_neighbours_and_lets_the_probe_go_when_both_ends_are_up() -> None:
    lab = ProbedLab("vxlan", CONNECT)
    lab.execute("connect", times="1")
    commands = lab.events.commands
    flushed = [one.split()[3] for one in commands if "-4 neighbour flush all" in one]
    assert flushed == ["a", "b", "router"]
    order = [
        next(at for at, one in enumerate(commands) if sign in one)
        for sign in ("link del", "flush", "probe.py", "link add")
    ]
    assert order == sorted(order)
    begins = [
        at for at, one in enumerate(commands) if one == "touch /mnt/lab/a/connect-0-0.go" or one.endswith("-0-0.go")
    ]
    last = max(at for at, one in enumerate(commands) if "address add" in one)
    assert last < next(at for at in begins if commands[at].startswith("touch"))


@pytest.mark.parametrize(
    ("spelling", "underlay", "workload", "given", "message"),
    [
        ("none", "ip", "connect", {}, "no tunnel that could connect"),
        ("none", "ip", "recover", {"event": "restart"}, "no tunnel to restart"),
        ("none", "ip", "recover", {"event": "address"}, "no tunnel that could move"),
        ("none", "ip", "recover", {"event": "peer-forgets"}, "no tunnel that could forget"),
        ("ipsec:mode=transport", "ip", "recover", {}, "ipsec has no interface of its own here: .* in the clear"),
        ("ipsec:mode=transport+gre", "ip", "connect", {}, "in the clear"),
        ("vxlan+ipsec:mode=tunnel", "ip", "connect", {}, "in the clear"),
    ],
)
def test_what_cannot_be_measured_is_unsupported(
    spelling: str, underlay: str, workload: str, given: dict[str, str], message: str
) -> None:
    with pytest.raises(Unsupported, match=message):
        ProbedLab(spelling, SILENT, underlay).execute(workload, **given)


def test_netem_that_would_go_with_the_interface_is_unsupported() -> None:
    answers: dict[str, Answer] = {"tc -s -j": '[{"kind":"netem"}]'}
    lab = ProbedLab("vxlan", SILENT)
    lab.shell.answers = answers | {"route show": "[]"}
    with pytest.raises(Unsupported, match=r"placement overlay"):
        lab.execute("recover", event="restart")


@pytest.mark.usefixtures("calm")
def test_policies_alone_have_a_route_of_last_resort() -> None:
    lab = ProbedLab("ipsec:mode=tunnel", RESTART)
    with outages.closed(lab.site):
        assert lab.events.commands == ["ip netns exec a ip -4 route add unreachable 10.10.0.2/32 metric 9999"]
    lab = ProbedLab("ipsec:mode=xfrm", RESTART)
    with outages.closed(lab.site):
        assert lab.events.commands == []


NEW_KEYS = {
    "wireguard": ("latest-handshakes", "b sleep 125"),
    "openvpn:rekey=30": ("Control Channel: TLS", "b sleep 40"),
    "tinc:key-expire=30": ("Expiring symmetric keys", "b sleep 35"),
    "ipsec": ("ip xfrm state", "swanctl --rekey --child tunbench"),
    "ipsec:daemon=libreswan": ("ip xfrm state", "b ipsec whack --rekey-ipsec --name tunbench"),
}
"""By stack: what is asked for the keys, and by which command they are renewed or waited for."""


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize("spelling", NEW_KEYS)
def test_new_keys_are_asked_for_or_waited_for_and_must_have_come(
    spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "restart", lambda *_: None)
    asking, command = NEW_KEYS[spelling]
    numbers = iter(range(9))
    lab = ProbedLab(spelling, RESTART, answers={asking: lambda _: Result(0, f"{next(numbers)}\n", "")})
    assert any(one.endswith(command) for one in lab.execute("recover", event="rekey", times="1"))
    with pytest.raises(WorkloadFailed, match="had no new keys on b within"):
        ProbedLab(spelling, RESTART, answers={asking: "1\n"}).execute("recover", event="rekey", times="1")


@pytest.mark.parametrize(
    ("spelling", "can"),
    [
        ("wireguard", True),
        ("openvpn", False),
        ("openvpn:rekey=601", False),
        ("openvpn:rekey=60", True),
        ("openvpn:rekey=0", False),
        ("tinc", False),
        ("vxlan", False),
        ("none", False),
        ("wireguard+vxlan", True),
    ],
)
def test_who_gets_no_new_keys_is_not_asked_for_them(spelling: str, can: bool) -> None:
    built = stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints)
    abouts = [layer.declared for layer in built.layers]
    reason = invocation.read("recover:event=rekey").misfit(abouts)
    assert (reason == "") == can
    assert invocation.read("recover:event=restart").misfit(abouts) == ""
    if not can:
        assert reason.endswith("those that do: ipsec, openvpn:rekey=60, tinc:key-expire=60, wireguard")


@pytest.mark.usefixtures("calm")
def test_all_endpoints_are_down_before_one_of_them_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reboot_all, "CALM_SECONDS", 0)
    monkeypatch.setattr(reboot_all, "order", lambda endpoints, seed: endpoints)
    lab, done_by = ProbedLab("vxlan", CONNECT), []

    def moment() -> float:
        done_by.append(list(lab.events.commands))
        return 2.76

    monkeypatch.setattr(reboot_all, "now", moment)
    commands = lab.execute("recover", event="reboot-all", times="1")
    steps = [
        re.sub(r" (dev|type|dstport|id) .*", "", one.splitlines()[min(1, one.count("\n"))] if "batch" in one else one)
        for one in commands
        if re.search("link set eth0|kill|link add|link del", one)
    ]
    down, up = steps[: steps.index("link set eth0 up")], steps[steps.index("link set eth0 up") :]
    assert [one for one in down if "pids" in one] == [
        f"ip netns pids {node} | xargs --no-run-if-empty kill -KILL" for node in "ab"
    ]
    assert up[:2] == ["link set eth0 up"] * 2
    assert [one for one in up if "link add" in one] == [f"{node} ip link add {named('vxlan')}" for node in "ab"]
    # The machine's own boot is over when the time begins, and nothing of the tunnel has begun.
    before = "".join(done_by[0])
    assert before.count("link set eth0 up") == 2 and "link add" not in before


def test_who_begins_first_is_drawn_from_the_seed() -> None:
    nodes = ProbedLab("none", CONNECT).site.endpoints
    drawn = {seed: [node.name for node in reboot_all.order(nodes, seed)] for seed in ("1 probe-0", "3 probe-0")}
    assert drawn == {"1 probe-0": ["a", "b"], "3 probe-0": ["b", "a"]}


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(
    "why", [StackFailed("no route was there"), CommandFailed("x", Result(1, "", "no route was there"))]
)
def test_peers_may_find_each_other_later_than_a_start_waits(why: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise why

    monkeypatch.setattr(reboot_all, "CALM_SECONDS", 0)
    monkeypatch.setattr(reboot_all, "now", lambda: 2.76)
    monkeypatch.setattr(outages, "bring_up", late)
    trial = ProbedLab("vxlan", CONNECT).trial("recover", {"event": "reboot-all", "times": "1"})
    recover.execute(trial)
    assert [one.node for one in trial.samples] == ["a", "b"]
    # Where nobody answers in the end, the reason says what was waited for.
    with pytest.raises(WorkloadFailed, match=r"no peer answered a and b within 180 s .*no route was there"):
        ProbedLab("vxlan", SILENT).execute("recover", event="reboot-all", times="1")


PROBES = {("a", "b"): CONNECT, ("a", "c"): SILENT, ("b", "a"): CONNECT, ("c", "a"): CONNECT}


def test_each_node_has_the_time_until_its_first_peer_answered() -> None:
    samples, failure = reboot_all.parse(PROBES, 2.7, 0.5)
    assert not failure
    assert [(one.metric, one.at, one.node) for one in samples] == [("blocked", 0.5, node) for node in "abc"]
    assert [one.value for one in samples] == pytest.approx([2.769814557 - 2.7] * 3)


def test_a_node_that_no_peer_answers_is_told() -> None:
    samples, failure = reboot_all.parse({**PROBES, ("d", "a"): SILENT, ("e", "a"): SILENT}, 2.7, 0.5)
    assert failure == "no peer answered d and e within 180 s of the restart of all"
    assert [one.node for one in samples] == ["a", "b", "c"], "what the others measured is kept"
    with pytest.raises(WorkloadFailed, match="a probe of a and b and c was answered before the restart"):
        reboot_all.parse(PROBES, 3.0, 0.5)
