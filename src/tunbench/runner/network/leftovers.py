"""What a stack leaves behind on a node: it is compared before it comes up and after it has been taken down."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tunbench.runner.node import processes
from tunbench.runner.node.node import TIMEOUT, Node

FALLBACKS = {
    *("gre0", "gretap0", "erspan0", "tunl0", "sit0", "ip6tnl0", "ip6gre0", "ip_vti0", "ip6_vti0"),
    *("ip6erspan0", "ip6gretap0"),
}
"""Interfaces that the kernel makes in every namespace as soon as their module is there: Linux 6.1."""

COMMANDS = (
    ("", ("ip", "-batch", "-"), "rule show\nxfrm state\nxfrm policy\n"),
    ("nf_tables", ("nft", "list", "tables"), ""),
)
"""Commands that list things, and what each reads; without its module there is nothing to list."""

Seen = frozenset[str]


def look(nodes: Sequence[Node]) -> Seen:
    """The interfaces, addresses, routes, rules, IPsec states and policies, nftables and processes of the nodes."""
    running = _named()
    return frozenset(f"{node.name}: {what}" for node in nodes for what in (*_on(node), *_running(node, running)))


def _on(node: Node) -> Iterable[str]:
    for name, read in FILES.items():
        yield from read(_lines(node, name))
    for module, argv, questions in COMMANDS:
        if module and not Path("/sys/module", module).exists():
            continue
        result = node.shell.run(node.inside(argv), TIMEOUT, questions)
        # What is indented belongs to the line before, and has counters that move.
        yield from (line for line in result.stdout.splitlines() if line[:1].strip())


def _lines(node: Node, name: str) -> list[str]:
    """A file of the node's network namespace, by the process that holds it."""
    try:
        return (processes.PROC / (node.holder or "none") / "net" / name).read_text().splitlines()
    except OSError:
        return []


def _interfaces(lines: list[str]) -> Iterable[str]:
    names = (line.partition(":")[0].strip() for line in lines if ":" in line)
    return (f"interface {name}" for name in names if name not in FALLBACKS)


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
"""Files of /proc/PID/net, and what is read of each: see proc(5) and Linux 6.1, net/ipv6/route.c."""


def _named() -> dict[str, list[str]]:
    """The names of all processes by their PID namespace, without those that have ended and nobody asked about."""
    found: dict[str, list[str]] = {}
    for process in processes.everywhere():
        try:
            name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(") ")
        except OSError:
            continue
        if not rest.startswith("Z"):
            found.setdefault(processes.namespace(process.name), []).append(name)
    return found


def _running(node: Node, running: Mapping[str, Sequence[str]]) -> Iterable[str]:
    namespace = processes.namespace(node.holder) if node.holder else ""
    return (f"process {name}" for name in running.get(namespace, ()) if namespace)
