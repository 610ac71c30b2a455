from pathlib import Path

import pytest

from tests.helpers.fakes import Call, FakeEvents, FakeLabShell, move_home
from tunbench.runner.network import links, underlay
from tunbench.runner.network.access.edge import watched
from tunbench.runner.node import limits, namespaces
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node

NAMES = ["a", "b", "router", "edge"]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path, "made")


def test_a_process_holds_each_node_and_all_end_with_them(home: Path) -> None:
    shell = FakeLabShell(home, "proof-none.pcap")
    with namespaces.running_nodes(NAMES, "10.0.3.2", shell, FakeEvents()) as made:
        assert list(made) == ["lab", *NAMES]
        assert made["a"].enter == ["nsenter", "--target", "101", "--mount", "--net", "--uts", "--pid", "--"]
        assert made["lab"].enter == []
        assert not any(process.ended for process in shell.started)
    assert [process.ended for process in shell.started] == ["killed"] * 4
    assert shell.calls[-1].stdin == "netns del a\nnetns del b\nnetns del router\nnetns del edge\n"


def test_nodes_end_after_a_failure_inside(home: Path) -> None:
    shell = FakeLabShell(home, "proof-none.pcap")
    with pytest.raises(KeyboardInterrupt), namespaces.running_nodes(NAMES, "10.0.3.2", shell, FakeEvents()):
        raise KeyboardInterrupt
    assert [process.ended for process in shell.started] == ["killed"] * 4


def test_the_namespaces_get_their_names_and_a_person_would_type_other_commands(home: Path) -> None:
    shell, events = FakeLabShell(home, "proof-none.pcap"), FakeEvents()
    with namespaces.running_nodes(["a", "b"], "10.0.3.2", shell, events):
        attached = next(call.stdin for call in shell.calls if call.text == "ip -batch -")
    assert attached == "netns attach a 101\nnetns attach b 101\n"
    assert events.commands == [
        f"ip netns add a; mkdir -p {home}/a\nip netns add b; mkdir -p {home}/b",
    ]


def test_a_node_has_its_own_files(home: Path) -> None:
    shell = FakeLabShell(home, "proof-none.pcap")
    with namespaces.running_nodes(["a"], "10.0.3.2", shell, FakeEvents()):
        pass
    assert (home / "a" / ".etc" / "resolv.conf").read_text() == "nameserver 10.0.3.2\n"
    mounts = [line.split()[1] for line in (home / "a" / ".fstab").read_text().splitlines()]
    assert mounts == ["/run", "/tmp", "/var/lib", "/etc", "/sys", "/proc"]
    script = shell.started[0].call.argv[-1]
    assert "echo a >/proc/sys/kernel/hostname" in script


@pytest.mark.parametrize("most", [0, 2000])
def test_a_node_has_so_many_processes_where_the_kernel_counts_them(
    most: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "processes", lambda release: most)
    shell = FakeLabShell(home, "proof-none.pcap")
    with namespaces.running_nodes(["a"], "10.0.3.2", shell, FakeEvents()):
        pass
    # After the node has a /proc of its own, or it would be the limit of the whole machine.
    _, _, after = shell.started[0].call.argv[-1].partition("mount --all")
    assert ("echo 2000 >/proc/sys/kernel/pid_max" in after) == bool(most)
    assert "pid_max" not in shell.started[0].call.argv[-1].partition("mount --all")[0]


def test_a_node_that_cannot_be_had_says_why(home: Path) -> None:
    def refused(call: Call, log: Path) -> int | None:
        if log.stem != "b":
            (home / log.stem / ".pid").write_text("101\n")
            return None
        log.write_text("unshare: unshare failed: Operation not permitted\n")
        return 1

    shell = FakeLabShell(home, "proof-none.pcap", begins={"unshare": refused})
    message = (
        "making the namespaces of the node b: ended with status 1: unshare: unshare failed: Operation not permitted"
    )
    with pytest.raises(CommandFailed, match=message), namespaces.running_nodes(NAMES, "10.0.3.2", shell, FakeEvents()):
        pytest.fail("it was not made")
    assert [process.ended for process in shell.started] == ["killed"] * 4


def built(kind: str) -> FakeEvents:
    shell, events = FakeLabShell(Path("/nowhere"), "proof-none.pcap"), FakeEvents()
    names = ["lab", *underlay.PAIR_UNDERLAYS[kind].names]
    links.build(underlay.PAIR_UNDERLAYS[kind], {name: Node(name, shell, events, ["nsenter", "--"]) for name in names})
    return events


def test_a_router_stands_between_the_endpoints() -> None:
    text = "\n".join(built("ip").commands)
    assert "sysctl -qw net.ipv4.ip_forward=1" in text
    assert "ip netns exec a ip -batch - <<'END'\nlink set lo up\nlink set eth0 up\naddress add 10.0.1.2/24" in text
    assert "route add default via 10.0.1.1" in text
    assert "bridge" not in text


def test_a_bridge_stands_between_endpoints_that_need_ethernet() -> None:
    text = "\n".join(built("ethernet").commands)
    assert "link add br0 type bridge group_fwd_mask 8\nlink set to-a master br0 up\nlink set to-b master br0 up" in text
    assert "address add 10.0.0.1/24 dev eth0\nroute add default via 10.0.0.254" in text
    assert "ip_forward" not in text
    assert "router" not in text


@pytest.mark.parametrize("kind", underlay.PAIR_UNDERLAYS)
def test_everything_else_ends_at_the_edge(kind: str) -> None:
    commands = built(kind).commands
    everything = "::/0" if kind == "ip6" else "0.0.0.0/0"
    assert f"route add local {everything} dev lo table main" in commands[-1]
    assert commands[-1].startswith("ip netns exec edge ")
    server = underlay.PAIR_UNDERLAYS[kind].name_server
    assert any(
        f"address add {server}/{64 if kind == 'ip6' else 24} dev eth0" in text
        for text in commands
        if " exec edge " in text
    )


def test_the_edge_is_watched_while_something_happens(home: Path) -> None:
    (home / "edge").mkdir()
    shell, events = (
        FakeLabShell(home, "proof-none.pcap", {"tcpdump -r": "IP 10.0.1.2 > 192.0.2.1: UDP\n"}),
        FakeEvents(),
    )
    edge = Node("edge", shell, events, ["nsenter", "--"])
    with watched(edge, events):
        assert shell.started[0].ended == ""
        assert events.of("outside") == []
    assert shell.started[0].ended == "stopped"
    assert events.of("outside") == [{"event": "outside", "packets": 1, "first": ["IP 10.0.1.2 > 192.0.2.1: UDP"]}]
    assert "not arp" in shell.started[0].call.argv[-1]
