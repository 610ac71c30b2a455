"""Tunings: sysctls and congestion control of a lab, and what the kernel made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node

CONGESTION = "net.ipv4.tcp_congestion_control"

Settings = dict[str, str]
"""Settings by what they are called in events: `sysctl NAME`."""


def apply(tuning: Mapping[str, Any], endpoints: Sequence[Node], hosts: Sequence[Node], events: Events) -> None:
    """Tunes the endpoints and the hosts behind them, once the underlay stands; tells what the kernel made of it.

    Raises Unsupported where this lab cannot set something, and CommandFailed.
    """
    machine = endpoints[0].machine
    own, shared = _by_owner(tuning["sysctl"], endpoints[0], machine)
    if shared:
        _tell(machine, _set_sysctls(machine, shared), _sysctls(machine, shared), events)
    for node in (*endpoints, *hosts):
        asked = _set_sysctls(node, own) | _set_congestion(node, tuning["congestion"])
        if asked:
            _tell(node, asked, installed(node, tuning, own), events)


def installed(node: Node, tuning: Mapping[str, Any], sysctl: Mapping[str, str]) -> Settings:
    """What the kernel says of what a tuning set on a node; `sysctl` are those that this node has of its own."""
    return _sysctls(node, [*sysctl, *([CONGESTION] if tuning["congestion"] else [])])


def differences(asked: Settings, found: Settings) -> list[str]:
    """Where the kernel has something else than was asked for."""
    return [
        f"{name}: asked for {value}, the kernel has {found.get(name, 'nothing')}"
        for name, value in asked.items()
        if " ".join(value.split()) != found.get(name)
    ]


def _by_owner(sysctl: Mapping[str, str], endpoint: Node, machine: Node) -> tuple[Settings, Settings]:
    """The sysctls that each network namespace has, and those that only the first one has, for all of them.

    The root of the machine is in that first one only where the lab has the kernel to itself: on a kernel of others they
    are not to be touched, and the root's namespace does not have them.
    """
    own: Settings = {}
    shared: Settings = {}
    for name, value in sysctl.items():
        if _settable(endpoint, name):
            own[name] = value
        elif _settable(machine, name):
            shared[name] = value
        else:
            raise Unsupported(
                f"{name} cannot be set in this lab: the kernel does not know it, or keeps one for all namespaces, "
                "which only a vm lab can change"
            )
    return own, shared


def _settable(node: Node, name: str) -> bool:
    """Whether a sysctl is there and may be written: newer kernels show in every namespace what only the first sets."""
    path = name.translate(str.maketrans("./", "/."))
    return node.ask("test", "-w", f"/proc/sys/{path}").status == 0


def _set_sysctls(node: Node, sysctl: Mapping[str, str]) -> Settings:
    for name, value in sysctl.items():
        node.run("sysctl", "-qw", f"{name}={value}")
    return {f"sysctl {name}": value for name, value in sysctl.items()}


def _set_congestion(node: Node, algorithm: str) -> Settings:
    if not algorithm:
        return {}
    result = node.try_run("sysctl", "-qw", f"{CONGESTION}={algorithm}")
    if result.status != 0:
        raise Unsupported(f"this kernel has no congestion control {algorithm} (module tcp_{algorithm})")
    return {f"sysctl {CONGESTION}": algorithm}


def _sysctls(node: Node, names: Sequence[str] | Mapping[str, str]) -> Settings:
    return {f"sysctl {name}": " ".join(node.ask("sysctl", "-n", name).stdout.split()) for name in names}


def _tell(node: Node, asked: Settings, found: Settings, events: Events) -> None:
    events.tell("tuning", node=node.name, asked=asked, installed=found)
    for difference in differences(asked, found):
        events.tell("warning", name=WarningKind.TUNING_DIFFERS, text=f"{node.name}: {difference}")
