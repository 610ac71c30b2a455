import time
from pathlib import Path

import pytest

from tests.helpers.fakes import OK, Answer, Begin, FakeEvents, FakeShell, interface, move_home, two_nodes
from tunbench.runner import stack
from tunbench.runner.declare.failures import StackFailed, Unsupported
from tunbench.runner.declare.tunnel import Needs, Sources
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.stack import Stack

# What iproute2 6.1 prints where the kernel does not know the kind of interface.
UNKNOWN = Result(2, "", "Error: Unknown device type.\n")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def built(
    spelling: str, answers: dict[str, Answer], begins: dict[str, Begin] | None = None
) -> tuple[Stack, list[Node], FakeShell]:
    shell = FakeShell(answers, begins)
    return stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints), two_nodes(shell, FakeEvents()), shell


def deleted(shell: FakeShell) -> list[str]:
    return [text.split()[-1] for text in shell.texts if text.startswith("ip link del")]


def twice(*layers: str) -> list[str]:
    """The interfaces of these layers, the uppermost first, once for each endpoint."""
    count = len(layers) - 1
    return [interface(name, count - number) for number, name in enumerate(layers) for _ in range(2)]


def test_a_stack_is_taken_down_in_reverse() -> None:
    built_stack, nodes, shell = built("ipip+gre+vxlan", {})
    with stack.up(built_stack, nodes):
        assert deleted(shell) == []
    assert deleted(shell) == twice("vxlan", "gre", "ipip")


def test_nodes_are_taken_down_in_reverse() -> None:
    events = FakeEvents()
    nodes = two_nodes(FakeShell(), events)
    with stack.up(stack.build("ipip", PAIR_UNDERLAYS["ip"].endpoints), nodes):
        pass
    assert events.commands[-2:] == [f"ip netns exec {name} ip link del {interface('ipip')}" for name in ("b", "a")]


def test_every_layer_answers_before_the_next_comes_up() -> None:
    built_stack, nodes, shell = built("ipip+gre", {})
    with stack.up(built_stack, nodes):
        pass
    steps = [text for text in shell.texts if text.startswith(("ping", "ip link add"))]
    assert [step.split()[3 if step.startswith("ip") else -1] for step in steps] == [
        *(interface("ipip"), interface("ipip"), "10.10.0.2"),
        *(interface("gre", 1), interface("gre", 1), "10.11.0.2"),
    ]


def test_what_was_begun_is_taken_down_after_a_failure() -> None:
    built_stack, nodes, shell = built("ipip+gre+vxlan", {f"link set {interface('gre', 1)}": Result(1, "", "broken")})
    with pytest.raises(CommandFailed, match="broken"), stack.up(built_stack, nodes):
        pytest.fail("it did not come up")
    assert deleted(shell) == twice("gre", "ipip")


def test_it_is_taken_down_after_a_failure_inside() -> None:
    built_stack, nodes, shell = built("ipip", {})
    with pytest.raises(KeyboardInterrupt), stack.up(built_stack, nodes):
        raise KeyboardInterrupt
    assert deleted(shell) == twice("ipip")


def test_an_interface_that_is_gone_already_is_no_error() -> None:
    built_stack, nodes, shell = built("ipip+gre", {"link del": Result(1, "", "Cannot find device")})
    with stack.up(built_stack, nodes):
        pass
    assert len(deleted(shell)) == 4


def test_a_kernel_without_the_module_is_unsupported() -> None:
    built_stack, nodes, shell = built("ipip+vxlan", {"type vxlan": UNKNOWN})
    message = r"this kernel cannot make its interface \(module vxlan\): .*Unknown device type"
    with pytest.raises(Unsupported, match=message), stack.up(built_stack, nodes):
        pytest.fail("it did not come up")
    assert deleted(shell) == twice("vxlan", "ipip")


@pytest.mark.parametrize(
    ("answer", "expected", "message"),
    [
        (UNKNOWN, Unsupported, r"this kernel cannot make its interface \(module wireguard\): wesher: its daemon on a"),
        (OK, StackFailed, "wesher: its daemon on a ended with status 1"),
    ],
)
def test_a_daemon_that_cannot_make_the_interface_is_unsupported_where_the_kernel_knows_none(
    answer: Result, expected: type[Exception], message: str
) -> None:
    answers: dict[str, Answer] = {"ip link add probe type wireguard": answer, "wg show": Result(1, "", "")}
    built_stack, nodes, shell = built("wesher", answers, {"wesher": lambda *_: 1})
    stack.prepare(built_stack, nodes)
    with pytest.raises(expected, match=message), stack.up(built_stack, nodes):
        pytest.fail("it did not come up")
    assert "ip link del probe" in shell.texts


def test_a_missing_program_is_unsupported() -> None:
    built_stack, nodes, _ = built("openvpn", {'command -v "$0"\' openssl': Result(127, "", "")})
    with pytest.raises(Unsupported, match="the program openssl is not installed"):
        stack.prepare(built_stack, nodes)


def test_programs_are_looked_for_as_arguments_and_not_as_shell_text() -> None:
    _, nodes, shell = built("openvpn", {})
    stack.require(nodes[0], "$(reboot)", Needs(), Sources(), "")
    assert shell.calls[0].argv == ["sh", "-c", 'command -v "$0"', "$(reboot)"]


def test_a_stack_that_does_not_answer_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "ANSWER_TIMEOUT", 0.05)
    built_stack, nodes, shell = built("ipip+gre", {"0.5 10.11.0.2": Result(1, "", "")})
    with pytest.raises(StackFailed, match=r"gre: b did not answer a within 0\.05 s"), stack.up(built_stack, nodes):
        pytest.fail("it did not come up")
    assert deleted(shell) == twice("gre", "ipip")


def test_the_bare_underlay_is_left_alone() -> None:
    built_stack, nodes, shell = built("none", {})
    with stack.up(built_stack, nodes):
        pass
    assert shell.texts == ["ping -n -I eth0 -c 1 -W 0.5 10.0.2.2"]
    assert built_stack.overlay == PAIR_UNDERLAYS["ip"].endpoints


def test_a_daemon_that_did_not_start_is_not_stopped() -> None:
    built_stack, nodes, shell = built("openvpn", {"ping": OK})
    built_stack.layers[0].down(nodes[0])
    assert shell.started == []
    assert shell.texts == ["ip link del openvpn-0"]


@pytest.mark.parametrize("text", ["nothing", "ipip+nothing", "ipip:ttl=0", "ipip+", ""])
def test_what_is_no_stack_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        stack.build(text, PAIR_UNDERLAYS["ip"].endpoints)


SILENT: dict[str, Answer] = {"ping": Result(1, "", "")}


def dies(*nodes: str) -> dict[str, Begin]:
    """OpenVPN on these nodes ends at once with the status 3."""
    return {"openvpn": lambda call, log: 3 if log.parent.name in nodes else None}


@pytest.mark.parametrize(("nodes", "where"), [(["a"], "a"), (["b"], "b"), (["a", "b"], "a")])
def test_a_daemon_that_dies_is_not_waited_for(nodes: list[str], where: str) -> None:
    built_stack, endpoints, shell = built("ipip+openvpn", {"0.5 10.11.0.2": Result(1, "", "")}, dies(*nodes))
    began = time.monotonic()
    message = f"^openvpn: its daemon on {where} ended with status 3$"
    with pytest.raises(StackFailed, match=message), stack.up(built_stack, endpoints):
        pytest.fail("it did not come up")
    assert time.monotonic() - began < stack.ANSWER_TIMEOUT / 2
    assert deleted(shell) == twice("openvpn", "ipip")


def test_a_daemon_of_a_layer_below_is_no_matter_of_this_one() -> None:
    built_stack, endpoints, _ = built("openvpn+ipip", {}, dies("a", "b"))
    with stack.up(built_stack, endpoints):
        assert [daemon.poll() for daemons in built_stack.layers[0].daemons.values() for daemon in daemons] == [3, 3]


def test_a_daemon_that_lives_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "ANSWER_TIMEOUT", 0.05)
    built_stack, endpoints, shell = built("openvpn", SILENT)
    with (
        pytest.raises(StackFailed, match=r"^openvpn: b did not answer a within 0\.05 s$"),
        stack.up(built_stack, endpoints),
    ):
        pytest.fail("it did not come up")
    assert [process.ended for process in shell.started] == ["stopped", "stopped"]


def test_every_layer_stands_over_the_family_that_is_below_it() -> None:
    built_stack = stack.build("wireguard:inner=ipv6+vxlan", PAIR_UNDERLAYS["ip6"].endpoints)
    assert [layer.context.outer for layer in built_stack.layers] == [6, 6]
    assert [next(iter(overlay.values())).family for overlay in built_stack.overlays] == [6, 6, 4]
    assert next(iter(built_stack.overlay.values())).mtu == 1500 - 80 - 70


def test_a_restart_takes_everything_down_before_anything_comes_up() -> None:
    built_stack, nodes, shell = built("ipip+gre", {})
    stack.restart(built_stack, nodes)
    assert deleted(shell) == twice("gre", "ipip")
    steps = [text.split()[2] for text in shell.texts if text.startswith("ip link") and "set" not in text]
    assert steps == ["del"] * 4 + ["add"] * 4


def test_one_node_can_come_up_alone() -> None:
    built_stack, nodes, shell = built("ipip+gre", {})
    waited = []
    stack.lift(
        built_stack,
        nodes,
        lambda layer, overlay: waited.append((layer.about.name, overlay["b"].address)),
        rising=[nodes[1]],
    )
    assert [text.split()[3] for text in shell.texts if "link add" in text] == [interface("ipip"), interface("gre", 1)]
    assert waited == [("ipip", "10.10.0.2"), ("gre", "10.11.0.2")]
    stack.lower(built_stack.layers, nodes[1:])
    assert deleted(shell) == [interface("gre", 1), interface("ipip")]


def test_a_layer_is_joined_once_when_it_is_up_on_all_nodes() -> None:
    built_stack, nodes, shell = built("ipsec", {})
    stack.prepare(built_stack, nodes)
    with stack.up(built_stack, nodes):
        pass
    steps = [text.split()[-1] for text in shell.texts if "--load-all" in text or "--initiate" in text]
    assert [step.rpartition("/")[2] for step in steps] == ["swanctl.conf", "swanctl.conf", "tunbench"]
