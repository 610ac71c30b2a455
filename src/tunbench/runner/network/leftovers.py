"""What a stack leaves behind on a node: it is compared before it comes up and after it has been taken down."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from tunbench.runner.node.node import NET, Node

COMMANDS = (
    ("", ("ip", "-batch", "-"), "rule show\nxfrm state\nxfrm policy\n"),
    ("nf_tables", ("nft", "list", "tables"), ""),
)
"""Commands that list things, and what each reads; without its module there is nothing to list."""

Seen = frozenset[str]

PROC = Path("/proc")


def snapshot(nodes: Sequence[Node], fallback_devices: Collection[str] = ()) -> Seen:
    """The interfaces, addresses, routes, rules, IPsec states and policies, nftables and processes of the nodes.

    Fallback devices are left out: the kernel makes them on its own as a module is loaded.
    """
    of_the_kernel = {f"interface {name}" for name in fallback_devices}
    seen = ((node.name, what) for node in nodes for what in (*_on(node), *_processes(node)))
    return frozenset(f"{name}: {what}" for name, what in seen if what not in of_the_kernel)


def _on(node: Node) -> Iterable[str]:
    for name, listed in FILES.items():
        yield from listed(node.read_if_there(NET / name).splitlines())
    for module, argv, questions in COMMANDS:
        if module and not node.exists(Path("/sys/module", module)):
            continue
        result = node.ask(*argv, text=questions)
        # What is indented belongs to the line before, and has counters that move.
        yield from (line for line in result.stdout.splitlines() if line[:1].strip())


def _interfaces(lines: list[str]) -> Iterable[str]:
    names = (line.partition(":")[0].strip() for line in lines if ":" in line)
    return (f"interface {name}" for name in names)


def _addresses(lines: list[str]) -> Iterable[str]:
    return (f"address or network {found[0]}" for line in lines if (found := re.search(r"\d+\.\d+\.\d+\.\d+", line)))


def _addresses6(lines: list[str]) -> Iterable[str]:
    # The kernel gives link-local addresses itself, and some time after an interface is up.
    fields = (line.split() for line in lines)
    return (f"address {line[0]} on {line[5]}" for line in fields if not line[0].startswith("fe80"))


def _routes(lines: list[str]) -> Iterable[str]:
    return (f"route {' '.join(line.split()[:3])}" for line in lines[1:])


def _routes6(lines: list[str]) -> Iterable[str]:
    fields = (line.split() for line in lines)
    return (f"route {line[0]} on {line[9]}" for line in fields if not line[0].startswith(("fe80", "ff")))


FILES: dict[str, Callable[[list[str]], Iterable[str]]] = {
    "dev": _interfaces,
    "fib_trie": _addresses,
    "if_inet6": _addresses6,
    "route": _routes,
    "ipv6_route": _routes6,
}
"""Files of /proc/PID/net, and what each lists: see proc(5) and Linux 6.1, net/ipv6/route.c."""


def _processes(node: Node) -> Iterable[str]:
    """The processes of a node by their name, without those that have ended and nobody asked about."""
    for path in node.matching(PROC, "[0-9]*/stat"):
        name, _, state = node.read_if_there(path).partition("(")[2].rpartition(") ")
        if state and not state.startswith("Z"):
            yield f"process {name}"
