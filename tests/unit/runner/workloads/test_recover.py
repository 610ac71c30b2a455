"""The workloads that take the tunnel down: what the probe tells, what is made of it, and the commands of each event."""

import math
import random
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, captured, move_home
from tests.helpers.fakes import interface as named
from tests.helpers.outputs import NUMBERS, edited
from tunbench.runner import registry, stack
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import connect, recover
from tunbench.runner.workloads.recover import Event
from tunbench.runner.workloads.shared import blocked_time, outages, probe_stream

CONNECT, LINK, RESTART, SILENT = (captured(f"probe-{name}.txt") for name in ("connect", "link", "restart", "silent"))

CUT = Event(3.2055, 4.2245, 1.0102)
"""The outage in the captured output of a link: when the commands began and were over."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def prober(folder: Path) -> Node:
    return Node(folder.name, FakeShell(), FakeEvents())


def test_a_start_lasts_until_the_first_answer() -> None:
    [gap] = blocked_time.parse(CONNECT).gaps
    sample = connect.parse(CONNECT, 2.6, 2.5)
    assert (sample.metric, sample.node) == ("connect", "")
    assert (sample.value, sample.at) == pytest.approx((gap.end - 2.6, 0.1))


@pytest.mark.parametrize("line", ["gap", "alive ", "alive 5", "gap 1 2", "alive 1 x", "alive 1 -2"])
def test_a_line_without_its_moments_has_failed(line: str, tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text(f"ready\nbegin 1\n{line}\n")
    with pytest.raises(WorkloadFailed, match=f"the probe printed '{line}'"):
        blocked_time.answered_since(prober(tmp_path), log, 0)


@pytest.mark.parametrize(("line", "answered"), [("gap 1 3 2", True), ("alive 3 2", True), ("end 3 2 1", False)])
def test_an_answer_is_to_a_request_after_a_moment(line: str, answered: bool, tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text(f"ready\nbegin 1\n{line}\n")
    node = prober(tmp_path)
    assert [blocked_time.answered_since(node, log, moment) for moment in (1e-9, 2e-9)] == [answered, False]


def test_a_start_without_an_answer_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="no probe was answered after the start"):
        connect.parse(SILENT, 1.0, 0.0)


def test_an_answer_from_before_the_start_is_none() -> None:
    with pytest.raises(WorkloadFailed, match="no probe was answered after the start"):
        connect.parse(CONNECT, 3.0, 0.0)


def test_a_cut_link_blocks_as_long_as_it_was_down() -> None:
    samples = {one.metric: one for one in recover.parse(LINK, CUT, 3.0, 0.001)}
    # From the captured line `gap 3212483691 4224505073`, less the interval.
    assert samples["blocked"].value == pytest.approx(4.224505073 - 3.212483691 - 0.001)
    assert samples["recovery"].value == pytest.approx(samples["blocked"].value - 1.0102)
    assert samples["outage"].value == 1.0102
    assert samples["lost"].value == 1609 - 598
    assert [one.at for one in samples.values()] == pytest.approx([0.2055] * 4)


def test_no_recovery_is_shorter_than_nothing() -> None:
    samples = {one.metric: one.value for one in recover.parse(LINK, CUT._replace(outage=1.02), 3.0, 0.001)}
    assert samples["recovery"] == 0


def test_only_a_cut_link_has_an_outage() -> None:
    samples = recover.parse(RESTART, Event(5.55, 5.6), 5.0, 0.001)
    assert [one.metric for one in samples] == ["blocked", "lost"]
    assert samples[0].value == pytest.approx(20.790919312 - 5.553091247 - 0.001)


def test_what_was_never_interrupted_was_not_blocked() -> None:
    assert recover.parse(CONNECT + "", Event(2.76, 2.766), 2.0, 0.001)[0].value == pytest.approx(
        2.769814557 - 2.766663670 - 0.001
    )
    seen = blocked_time.parse(LINK)
    assert blocked_time.blocked(seen, 4.3, 0.001) == 0


def test_no_time_without_answers_is_shorter_than_nothing() -> None:
    seen = blocked_time.parse("ready\nbegin 5000000\ngap 5000000 5400000 5100000\nend 1 1 1\n")
    assert blocked_time.blocked(seen, 0.005, 0.001) == 0


def test_who_did_not_recover_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="no probe was answered within 60 s after the event"):
        recover.parse(LINK, Event(3.2, 5.0), 3.0, 0.001)
    with pytest.raises(WorkloadFailed, match="no probe was answered within 60 s after the event"):
        recover.parse(SILENT, Event(1.5, 1.6), 1.0, 0.001)


@pytest.mark.parametrize("text", [CONNECT, LINK, RESTART, SILENT])
def test_what_the_probe_told_was_torn(text: str) -> None:
    for end in range(0, len(text) - 1, 1 if len(text) < 2000 else 37):
        with pytest.raises(WorkloadFailed):
            blocked_time.parse(text[:end])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no beginning or no end"),
        ("Traceback (most recent call last):\n", "the probe printed 'Traceback"),
        ("ready\nbegin 1\nready\nend 1 0 1\n", "begins or ends twice"),
        ("ready\nbegin 5\ngap 1 7 6\nend 1 1 1\n", "out of order: gap 1 7 6"),
        ("ready\nbegin 5\ngap 5 7 8\nend 1 1 1\n", "out of order: gap 5 7 8"),
        ("ready\nbegin 5\ngap 5 7 6\ngap 6 9 8\nend 2 2 1\n", "out of order: gap 6 9 8"),
        ("ready\nbegin 5\ngap 5 7 6\nend 1 2 1\n", "2 answers to 1 requests"),
        ("ready\nbegin 5\ngap 5 7 6\nend 1 0 1\n", "0 answers to 1 requests"),
        ("ready\nbegin 5\nend 1 1 1\n", "1 answers to 1 requests"),
        ("ready\nbegin 5\ngap 6 8 7\nend 1 1 1\n", "ends no gap from its beginning: gap 6"),
        ("ready\nbegin 5\nalive 8 7\nend 1 1 1\n", "ends no gap from its beginning: alive 8"),
    ],
)
def test_what_makes_no_sense_has_failed(text: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        blocked_time.parse(text)


@pytest.mark.parametrize("text", [LINK, RESTART])
def test_a_line_of_the_probe_that_is_lost_is_missed(text: str) -> None:
    lines = text.splitlines(keepends=True)
    event = Event(5.55, 5.6) if text == RESTART else CUT
    # What comes behind the last two answers of which it told cannot be missed.
    for lost in range(2, len(lines) - 2):
        with pytest.raises(WorkloadFailed, match=r"ends no gap from its beginning|told neither"):
            recover.parse("".join(lines[:lost] + lines[lost + 1 :]), event, 0.0, 0.001)


@given(step=st.integers(500_000, 1_000_000_000), waits=st.lists(st.integers(0, 2_000_000_000), max_size=200))
def test_the_probe_is_never_silent_for_longer_than_it_can_be(step: int, waits: list[int]) -> None:
    moment = 5_000_000_000
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as told:
        record = probe_stream.Record(step, moment)
        record.tell(moment, "begin", moment)
        for number, wait in enumerate(waits):
            moment += wait
            patch.setattr("time.monotonic_ns", lambda moment=moment: moment)
            record.add(number, moment)
    seen = blocked_time.parse(f"ready\n{told.getvalue()}end {len(waits)} {len(waits)} 1\n")
    blocked_time.check_signs(seen, step * 1e-9)


def ending(requests: int, replies: int) -> str:
    """The captured output of a link that was cut, with other counts."""
    return LINK.replace("end 1609 598 ", f"end {requests} {replies} ")


@pytest.mark.parametrize(
    ("requests", "replies", "message"),
    [
        (1_609_000_000_000_000, 598, r"counted 1609000000000000 requests, one each 0\.001 s, in 1\.54718 s"),
        (100_000, 598, r"counted 100000 requests, one each 0\.001 s"),
        (1609, 1, "counted 1 answers to 1609 requests, and tells of 7"),
        (1609, 6, "counted 6 answers to 1609 requests, and tells of 7"),
    ],
)
def test_counts_that_contradict_what_was_told_have_failed(requests: int, replies: int, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        recover.parse(ending(requests, replies), CUT, 3.0, 0.001)


@pytest.mark.parametrize(("requests", "replies"), [(60_000, 7), (1609, 1609)])
def test_requests_may_go_on_unanswered_or_be_answered_late(requests: int, replies: int) -> None:
    # Over TCP what was sent in the gap is answered when it is over.
    assert recover.parse(ending(requests, replies), CUT, 3.0, 0.001)


def test_an_answer_may_come_twice_and_behind_a_later_one() -> None:
    text = "ready\nbegin 1000\ngap 1000 9000 7000\ngap 9000 20000 5000\ngap 20000 30000 5000\nend 9 2 1\n"
    assert blocked_time.parse(text).replies == 2


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_may_be_anything(number: str) -> None:
    for text in (CONNECT, LINK):
        for found in re.finditer(r"\d+", text):
            changed = text[: found.start()] + number + text[found.end() :]
            for samples in (_of_a_start(changed), _of_an_event(changed)):
                assert all(0 <= one.value < 1e12 for one in samples)


@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_was_edited_gives_sound_values_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    text = edited(dice.choice([CONNECT, LINK, RESTART, SILENT]), dice)
    for samples in (_of_a_start(text), _of_an_event(text)):
        assert all(math.isfinite(one.value) and one.value >= 0 for one in samples)


def _of_a_start(text: str) -> list[Sample]:
    try:
        return [connect.parse(text, 2.6, 2.5)]
    except WorkloadFailed:
        return []


def _of_an_event(text: str) -> list[Sample]:
    try:
        return recover.parse(text, CUT, 3.0, 0.001)
    except WorkloadFailed:
        return []


@pytest.mark.parametrize("family", [4, 6])
def test_a_request_is_known_again_by_its_reply(family: int) -> None:
    request = probe_stream.request(family, 7, 70_000, 123_456_789)
    assert len(request) == 64
    head = bytes([0x45]) + bytes(19) if family == 4 else b""
    kind = probe_stream.ECHOES[family][2]
    assert probe_stream.answer(family, 7, head + bytes([kind]) + request[1:]) == (70_000, 123_456_789)
    assert probe_stream.answer(family, 8, head + bytes([kind]) + request[1:]) is None
    assert probe_stream.answer(family, 7, head + request) is None
    assert probe_stream.answer(family, 7, head + bytes([kind]) + request[1:-1]) is None


def test_the_checksum_over_a_request_comes_out_even() -> None:
    # RFC 1071, section 1: the one's complement sum over all, the checksum among it, is all ones.
    for number in (1, 255, 65_535, 70_000):
        packet = probe_stream.request(4, 0xBEEF, number, 2**40 + 12345)
        total = sum(int.from_bytes(packet[at : at + 2], "big") for at in range(0, len(packet), 2))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        assert total == 0xFFFF


def test_a_gap_and_a_sign_of_life_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Two intervals in time; a gap of five; a tenth of a second later a sign of life; then nothing is told.
    moments = iter([1_000_000, 2_000_000, 7_000_000, *range(8_000_000, 109_000_000, 1_000_000)])
    monkeypatch.setattr("time.monotonic_ns", lambda: next(moments))
    record = probe_stream.Record(1_000_000, 0)
    for number in range(1, 105):
        record.add(number, number)
    assert capsys.readouterr().out.splitlines() == ["gap 0 1000000 1", "gap 2000000 7000000 3", "alive 107000000 103"]
    assert len(record.answered) == 104


class Lab:
    """Nodes on which the probe tells what was captured, whenever it is started."""

    def __init__(
        self, spelling: str, tells: str, underlay: str = "ip", answers: dict[str, Answer] | None = None
    ) -> None:
        under = PAIR_UNDERLAYS[underlay]
        self.events = FakeEvents()
        usual: dict[str, Answer] = {"route show default": '[{"gateway":"10.0.9.1"}]', "tc -s -j": "[]"}
        self.shell = FakeShell((answers or {}) | usual, {"probe.py": self._tell})
        self.tells = tells
        names = [*under.names, "lab"]
        self.nodes = {name: Node(name, self.shell, self.events, ["nsenter", "--target", name, "--"]) for name in names}
        self.site = Site(self.nodes, under, stack.build(spelling, under.endpoints))

    def _tell(self, call: Call, log: Path) -> int:
        log.write_text(self.tells)
        return 0

    def trial(self, name: str, given: dict[str, str]) -> Trial:
        client, server = self.site.endpoints
        options = resolve(registry.workload(name).ABOUT.options, given, name)
        return Trial(options, client, server, self.site.stack.overlay, site=self.site)

    def execute(self, name: str, **given: str) -> list[str]:
        """The commands of a workload, without those of the probe."""
        registry.workload(name).execute(self.trial(name, given))
        return [
            one.removeprefix("ip netns exec ")
            for one in self.events.commands
            if not re.search("recover-|connect-|[ab] sleep 0$", one)
        ]


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
    assert Lab("none", LINK).execute("recover", event="link", times="1", outage="2s") == [
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
    lab = Lab("none", LINK, answers=answers)
    assert [text for text in lab.execute("recover", event="link", times="1") if "-batch" in text] == [
        "b ip -batch - <<'END'\nneighbour replace 10.0.2.1 lladdr aa:1 dev eth0 nud permanent\nEND",
        "router ip -batch - <<'END'\nlink set to-b up\n"
        "neighbour replace 10.0.2.2 lladdr bb:2 dev to-b nud reachable\nEND",
        "b ip -batch - <<'END'\nneighbour replace 10.0.2.1 lladdr aa:1 dev eth0 nud reachable\nEND",
    ]


@pytest.mark.usefixtures("calm")
def test_a_bridge_needs_no_route_and_ipv6_keeps_its_addresses() -> None:
    assert Lab("none:underlay=ethernet", LINK, "ethernet").execute("recover", event="link", times="1") == [
        "bridge ip link set to-b down",
        "bridge sleep 1",
        "bridge ip -batch - <<'END'\nlink set to-b up\nEND",
    ]
    assert Lab("none:underlay=ip6", LINK, "ip6").execute("recover", event="link", times="1")[:2] == [
        "router sysctl -qw net.ipv6.conf.to-b.keep_addr_on_down=1",
        "router ip -6 route add unreachable fd00:0:0:2::/64 metric 9999",
    ]


@pytest.mark.usefixtures("calm")
def test_the_stack_is_restarted_on_one_node_and_its_lower_layer_must_answer_first() -> None:
    commands = Lab("ipip+gre", RESTART).execute("recover", event="restart", times="1")
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
    lab = Lab("vxlan", RESTART)
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
def test_an_address_is_changed_and_put_back_and_the_stack_restarted() -> None:
    lab = Lab("vxlan", RESTART)
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
    lab = Lab("vxlan", RESTART)
    monkeypatch.setattr(recover, "now", lambda: 99.0)
    with pytest.raises(WorkloadFailed, match="no probe was answered within 60 s after the event"):
        lab.execute("recover", event="restart", times="2")
    assert sum("link add" in command for command in lab.events.commands) == 3


@pytest.mark.usefixtures("calm")
def test_a_cold_start_forgets_neighbours_and_lets_the_probe_go_when_both_ends_are_up() -> None:
    lab = Lab("vxlan", CONNECT)
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
        ("ipsec:mode=transport", "ip", "recover", {}, "ipsec has no interface of its own here: .* in the clear"),
        ("ipsec:mode=transport+gre", "ip", "connect", {}, "in the clear"),
        ("vxlan+ipsec:mode=tunnel", "ip", "connect", {}, "in the clear"),
    ],
)
def test_what_cannot_be_measured_is_unsupported(
    spelling: str, underlay: str, workload: str, given: dict[str, str], message: str
) -> None:
    with pytest.raises(Unsupported, match=message):
        Lab(spelling, SILENT, underlay).execute(workload, **given)


def test_netem_that_would_go_with_the_interface_is_unsupported() -> None:
    answers: dict[str, Answer] = {"tc -s -j": '[{"kind":"netem"}]'}
    lab = Lab("vxlan", SILENT)
    lab.shell.answers = answers | {"route show": "[]"}
    with pytest.raises(Unsupported, match=r"placement overlay"):
        lab.execute("recover", event="restart")


@pytest.mark.usefixtures("calm")
def test_policies_alone_have_a_route_of_last_resort() -> None:
    lab = Lab("ipsec:mode=tunnel", RESTART)
    with outages.closed(lab.site):
        assert lab.events.commands == ["ip netns exec a ip -4 route add unreachable 10.10.0.2/32 metric 9999"]
    lab = Lab("ipsec:mode=xfrm", RESTART)
    with outages.closed(lab.site):
        assert lab.events.commands == []
