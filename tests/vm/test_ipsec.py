"""IPsec by policy and by an XFRM interface: how much TCP hands over at once, and hosts behind the endpoints.

A route that passes a policy takes segmentation from its sockets: `sk_setup_caps()` of Linux 6.1, net/core/sock.c.
"""

import json
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values
from tunbench.journal import journal
from tunbench.journal.record import Record
from tunbench.labs import payload

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

POLICY, INTERFACE = "ipsec:mode=tunnel", "ipsec:mode=xfrm"
TCP = "iperf3-tcp:bytes=10MB"
UDP = "iperf3-udp:rate=100M,length=1200,duration=1"
"""Half of what the machine can encrypt: where sender and receiver fight for it, the sender wins now more, now less."""

AT_ONCE = '{ name = "at-once", delay = "0s" }'
"""With a delay on the way some acknowledgements are joined: of 2.6 and 3.55 segments behind 0.3 ms, and the ratio of
policy and interface was 0.46, 0.63 and 0.72, as the bytes of a shard fell."""

# Reads before and after each test what came in and went out where the receiver's packets pass.
COUNTING = b"""

_uncounted = measure


def measure(trial, *arguments, **others):
    def look():
        return trial.server.ask("ip", "-s", "-j", "link", "show", "dev", "eth0").stdout

    before = look()
    found = _uncounted(trial, *arguments, **others)
    trial.outputs["counters.json"] = f"[{before},{look()}]"
    return found
"""

UP = b'"if_id", str(MARK))\n'
SINGLE_SEGMENTS = UP + b'    node.run("ip", "link", "set", interface, "gso_max_segs", "1")\n'
"""Takes from an XFRM interface what a route by policy lacks."""

Ran = tuple[Path, Record]


def run(folder: Path, text: str, interface: bytes = UP) -> Ran:
    """A plan's text, executed with packets counted, and XFRM interfaces that come up in that way."""
    files = payload.runner_files()
    files["tunbench/runner/workloads/shared/iperf/iperf3.py"] += COUNTING
    modes = "tunbench/runner/tunnels/ipsec/modes.py"
    assert UP in files[modes]
    files[modes] = files[modes].replace(UP, interface)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(payload, "runner_files", lambda *_: files)
        return folder, execute(folder, text)


def sound(record: Record) -> bool:
    """Whether every trial is ok, and nothing of a tunnel was left or went around it."""
    return {trial.verdict for trial in record.trials} == {"ok"} and record.warnings == ()


def speed(ran: Ran, stack: str, workload: str = TCP) -> float:
    """What arrived of a flow, in bit/s."""
    [found] = values(ran[1], "throughput", stack, workload=workload)
    return found


def packets_an_acknowledgment(ran: Ran, stack: str) -> float:
    """How many packets of a TCP flow came in for each that went back; ESP is sent one by one."""
    folder, record = ran
    [trial] = [one for one in record.trials if (one.cell["stack"], one.cell["workload"]) == (stack, TCP)]
    before, after = (look[0]["stats64"] for look in json.loads((folder / trial.folder / "counters.json").read_text()))
    came, went = (after[way]["packets"] - before[way]["packets"] for way in ("rx", "tx"))
    return float(came / went)


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    text = plan([POLICY, INTERFACE], '["baseline"]', [TCP, UDP], link=AT_ONCE)
    return run(tmp_path_factory.mktemp("endpoints") / "run", text)


def test_tcp_of_an_endpoint_has_by_policy_half_of_what_it_has_by_an_interface(endpoints: Ran) -> None:
    assert sound(endpoints[1])
    assert 0.35 < speed(endpoints, POLICY) / speed(endpoints, INTERFACE) < 0.65


def test_by_policy_every_second_segment_is_acknowledged_and_by_an_interface_few(endpoints: Ran) -> None:
    policy, interface = (packets_an_acknowledgment(endpoints, one) for one in (POLICY, INTERFACE))
    assert 1.8 < policy < 2.2
    assert interface > 4 * policy


def test_udp_costs_by_policy_about_what_it_costs_by_an_interface(endpoints: Ran) -> None:
    assert speed(endpoints, POLICY, UDP) == pytest.approx(speed(endpoints, INTERFACE, UDP), rel=0.02)
    [policy], [interface] = (values(endpoints[1], "busy", one, workload=UDP, node="lab") for one in (POLICY, INTERFACE))
    assert max(policy, interface) < 0.9, "the processor must not be what limits them"
    assert policy == pytest.approx(interface, rel=0.2)


@pytest.mark.long
def test_an_interface_that_takes_single_segments_is_as_slow_as_a_policy(endpoints: Ran, tmp_path: Path) -> None:
    single = run(tmp_path / "run", plan([INTERFACE], '["baseline"]', [TCP], link=AT_ONCE), SINGLE_SEGMENTS)
    assert 1.8 < packets_an_acknowledgment(single, INTERFACE) < 2.2
    assert 0.7 < speed(single, INTERFACE) / speed(endpoints, POLICY) < 1.15


@pytest.mark.long
def test_tcp_of_hosts_behind_the_endpoints_is_not_halved_by_policy(tmp_path: Path) -> None:
    text = plan([POLICY, INTERFACE], '["baseline"]', [TCP]).replace('"pair"', '"site-to-site"')
    hosts = run(tmp_path / "run", text)
    assert sound(hosts[1])
    # Packets are joined again behind the interface only, where the links have no GRO: with it both are equal.
    assert speed(hosts, POLICY) / speed(hosts, INTERFACE) > 0.65


@pytest.mark.long
@pytest.mark.parametrize(
    "stack",
    [
        "ipsec:ike=1",
        "ipsec:daemon=libreswan",
        "ipsec:daemon=libreswan,ike=1",
        "ipsec:inner=ipv6",
        "vxlan+ipsec",
        "ipsec:mode=vti",
        "ipsec:daemon=libreswan,mode=vti",
    ],
)
def test_policies_take_what_hosts_behind_the_endpoints_send(stack: str, tmp_path: Path) -> None:
    text = plan([stack], '["baseline"]', ["ping:count=10"]).replace('"pair"', '"site-to-site"')
    record = execute(tmp_path / "run", text)
    assert sound(record), [(trial.verdict, trial.reason) for trial in record.trials]


def hub(stacks: list[str]) -> str:
    return plan(stacks, '["baseline"]', ["ping:count=5,pairs=each"]).replace('"pair"', '"hub-spoke:nodes=3"')


def proven(folder: Path) -> list[tuple[str, str, int, bool]]:
    """Of each pair: evidence, packets with the marker, and whether that is claimed secret."""
    return [
        (event["pair"], one["evidence"], one["marked"], one["hidden"])
        for event in journal.events(folder)
        if event["event"] == "proof"
        for one in event["findings"]
    ]


ESP_BETWEEN_ALL = [(pair, "ip proto 50", 0, True) for pair in ("a-b", "a-c", "b-c")]


def check_hub(stacks: list[str], folder: Path) -> None:
    record = execute(folder, hub(stacks), workers=1)
    assert sound(record), [(trial.verdict, trial.reason) for trial in record.trials]
    assert sorted(proven(folder)) == sorted(ESP_BETWEEN_ALL * len(stacks))
    for stack in stacks:
        times = {pair: min(values(record, "rtt", stack, whole=False, pair=pair)) for pair in ("a-b", "b-c")}
        assert 1.5 < times["b-c"] / times["a-b"] < 2.5, "two SAs one after the other"


def test_a_spoke_reaches_another_through_the_hub_and_all_of_it_is_esp(tmp_path: Path) -> None:
    check_hub(["ipsec:mode=tunnel"], tmp_path / "run")


@pytest.mark.long
def test_every_mode_has_spokes_and_a_hub(tmp_path: Path) -> None:
    others = ["mode=xfrm", "mode=vti", "daemon=libreswan", "daemon=libreswan,mode=vti", "daemon=libreswan,mode=xfrm"]
    check_hub([f"ipsec:{one}" for one in (*others, "ike=1", "ike=1,daemon=libreswan")], tmp_path / "run")


@pytest.mark.long
def test_transport_mode_joins_a_mesh_and_carries_what_hosts_send_in_another_tunnel(tmp_path: Path) -> None:
    text = plan(["ipsec:mode=transport"], '["baseline"]', ["ping:count=5,pairs=each"])
    mesh = execute(tmp_path / "mesh", text.replace('"pair"', '"mesh:nodes=3"'))
    assert sound(mesh)
    assert sorted(proven(tmp_path / "mesh")) == ESP_BETWEEN_ALL
    text = plan(["ipsec:mode=transport+vxlan"], '["baseline"]', ["ping:count=5"])
    hosts = execute(tmp_path / "hosts", text.replace('"pair"', '"site-to-site"'))
    assert sound(hosts)
