"""What a tuning does to a lab: the commands, what is told, and what cannot be set."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.fakes import Call, FakeEvents, FakeShell, two_nodes
from tunbench.plan.axes.tuning import Tuning
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.network import tuning
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.shell import Result


class Kernel:
    """A kernel that has some sysctls in each namespace and some for all of them, and keeps what it is told."""

    def __init__(self, own: dict[str, str], shared: dict[str, str] | None = None) -> None:
        self.own, self.shared = own, shared or {}
        self.lab = False

    def __call__(self, call: Call) -> Result:
        name, _, value = call.argv[-1].removeprefix("/proc/sys/").replace("/", ".").partition("=")
        there = self.own if name in self.own else self.shared if self.lab else {}
        if name not in there:
            return Result(1, "", f"sysctl: cannot stat /proc/sys/{name}")
        if value == "bad":
            return Result(1, "", "sysctl: setting key: Invalid argument")
        if value:
            there[name] = value.replace(" ", "\t")
        return Result(0, there[name] + "\n", "")


class LabShell(FakeShell):
    """Says to the kernel whether it is the lab that asks."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__({"sysctl": kernel, "test -w": kernel})
        self.kernel = kernel

    def run(self, argv: Any, timeout: float, stdin: str = "") -> Result:
        self.kernel.lab = argv[0] != "nsenter"
        return super().run(argv, timeout, stdin)


def applied(given: Tuning, shell: FakeShell) -> FakeEvents:
    events = FakeEvents()
    ends = two_nodes(shell, events)
    tuning.apply(given.spec(), ends, [], events)
    return events


def test_the_default_touches_nothing() -> None:
    shell = LabShell(Kernel({}))
    assert applied(Tuning("default"), shell).told == []
    assert shell.calls == []


def test_sysctls_are_set_on_both_endpoints_and_read_back() -> None:
    kernel = Kernel({"net.ipv4.tcp_rmem": "1 2 3", "net.ipv4.tcp_recovery": "1"})
    given = Tuning("x", {"net.ipv4.tcp_rmem": "4096  131072 8388608", "net.ipv4.tcp_recovery": "0"})
    events = applied(given, LabShell(kernel))
    assert events.commands == [
        f"ip netns exec {node} sysctl -qw {word}"
        for node in ("a", "b")
        for word in ("net.ipv4.tcp_recovery=0", "'net.ipv4.tcp_rmem=4096  131072 8388608'")
    ]
    asked = {"sysctl net.ipv4.tcp_recovery": "0", "sysctl net.ipv4.tcp_rmem": "4096  131072 8388608"}
    installed = {"sysctl net.ipv4.tcp_recovery": "0", "sysctl net.ipv4.tcp_rmem": "4096 131072 8388608"}
    assert events.of("tuning") == [
        {"event": "tuning", "node": node, "asked": asked, "installed": installed} for node in ("a", "b")
    ]
    assert events.of("warning") == []


def test_what_all_namespaces_share_is_set_once_in_a_lab_of_its_own() -> None:
    events = applied(Tuning("x", {"net.core.rmem_max": "9"}), LabShell(Kernel({}, {"net.core.rmem_max": "5"})))
    assert events.commands == ["sysctl -qw net.core.rmem_max=9"]
    assert [(one["node"], one["installed"]) for one in events.of("tuning")] == [
        ("lab", {"sysctl net.core.rmem_max": "9"})
    ]


def test_what_belongs_to_the_machine_is_not_touched() -> None:
    shell = LabShell(Kernel({}))
    with pytest.raises(Unsupported, match=r"net\.core\.rmem_max cannot be set in this lab: .*only a vm lab can change"):
        applied(Tuning("x", {"net.core.rmem_max": "9"}), shell)
    assert not any("-qw" in text for text in shell.texts)


def test_a_value_that_the_kernel_refuses() -> None:
    with pytest.raises(CommandFailed, match="Invalid argument"):
        applied(Tuning("x", {"net.ipv4.tcp_recovery": "bad"}), LabShell(Kernel({"net.ipv4.tcp_recovery": "1"})))


def test_a_value_that_the_kernel_rounds_is_told() -> None:
    rounding: Callable[[Call], Result] = lambda call: Result(0, "4\n", "")  # noqa: E731
    shell = FakeShell({"sysctl": rounding})
    events = applied(Tuning("x", {"net.ipv4.neigh.default.retrans_time_ms": "3"}), shell)
    assert events.of("tuning")[0]["installed"] == {"sysctl net.ipv4.neigh.default.retrans_time_ms": "4"}
    assert [(one["name"], one["text"]) for one in events.of("warning")] == [
        ("tuning-differs", f"{node}: sysctl net.ipv4.neigh.default.retrans_time_ms: asked for 3, the kernel has 4")
        for node in ("a", "b")
    ]


def test_congestion_control() -> None:
    events = applied(Tuning("x", congestion="bbr"), LabShell(Kernel({tuning.CONGESTION: "cubic"})))
    assert events.commands[0] == f"ip netns exec a sysctl -qw {tuning.CONGESTION}=bbr"
    assert events.of("tuning")[1]["installed"] == {f"sysctl {tuning.CONGESTION}": "bbr"}
    with pytest.raises(Unsupported, match=r"no congestion control bad \(module tcp_bad\)"):
        applied(Tuning("x", congestion="bad"), LabShell(Kernel({tuning.CONGESTION: "cubic"})))


def test_an_interface_with_a_dot_in_its_name() -> None:
    shell = FakeShell({"sysctl": "0\n"})
    applied(Tuning("x", {"net.ipv4.conf.eth0/7.rp_filter": "0"}), shell)
    assert shell.texts[0] == "test -w /proc/sys/net/ipv4/conf/eth0.7/rp_filter"
