"""Impairments: one netem a direction, what the kernel installed of it, and its arithmetic."""

import json
import math
from collections.abc import Mapping
from typing import Any

from tunbench.runner.contract import Unsupported
from tunbench.runner.node import CommandFailed, Node
from tunbench.runner.options import Option

Terms = Mapping[str, float]
"""The terms of one direction, in SI units: seconds, ratios, bits a second, packets."""

TERMS: dict[str, Option] = {
    "delay": Option("duration", "0s", "delay of every packet", high=60),
    "jitter": Option("duration", "0s", "half the width of the delay's uniform distribution", high=60),
    "delay_correlation": Option("ratio", "0%", "correlation of a delay with the one before"),
    "loss": Option("ratio", "0%", "packets that are dropped at random"),
    "loss_correlation": Option("ratio", "0%", "correlation of a loss with the one before"),
    "reorder": Option("ratio", "0%", "packets that are sent at once, past those that wait for their delay"),
    "reorder_correlation": Option("ratio", "0%", "correlation of a reordering with the one before"),
    "duplicate": Option("ratio", "0%", "packets that are sent twice"),
    "corrupt": Option("ratio", "0%", "packets in which one bit is turned over"),
    "rate": Option("rate", "0", "bits a second that pass; 0: without limit", high=1e12),
    "limit": Option("count", "0", "packets that netem holds; 0: enough for 10 Gbit/s × delay", high=10_000_000),
}

PLACEMENTS = ("router", "endpoints", "overlay")
"""Where netem sits: on what stands between the endpoints, on their underlay or on their tunnel interfaces."""

FASTEST = 10e9
"""Bits a second that a direction without `rate` is expected to carry at most; it sizes the queue."""

PACKET = 1500 * 8
"""Bits of a full packet; it sizes the queue."""


def limit(terms: Terms) -> int:
    """Packets that netem must hold so that it drops none for want of room: rate × longest delay, at least 1,000."""
    if terms.get("limit"):
        return int(terms["limit"])
    longest = terms.get("delay", 0) + terms.get("jitter", 0)
    return max(1000, math.ceil((terms.get("rate") or FASTEST) * longest / PACKET))


def netem(terms: Terms) -> list[str]:
    """The arguments of `tc qdisc add … netem` for these terms."""
    words = ["limit", str(limit(terms))]
    if terms.get("delay") or terms.get("jitter"):
        words += ["delay", _us(terms.get("delay", 0))]
        if terms.get("jitter"):
            words += [_us(terms["jitter"]), *_percent(terms, "delay_correlation")]
    if terms.get("loss"):
        words += ["loss", "random", *_percent(terms, "loss"), *_percent(terms, "loss_correlation")]
    for name in ("duplicate", "corrupt"):
        if terms.get(name):
            words += [name, *_percent(terms, name)]
    if terms.get("reorder"):
        words += ["reorder", *_percent(terms, "reorder"), *_percent(terms, "reorder_correlation")]
    if terms.get("rate"):
        words += ["rate", f"{terms['rate']:.0f}bit"]
    return words


def apply(node: Node, interface: str, terms: Terms) -> dict[str, Any]:
    """Puts netem on an interface and returns what the kernel says it installed. Raises Unsupported, CommandFailed."""
    if not any(value for name, value in terms.items() if name != "limit"):
        return {}
    try:
        node.run("tc", "qdisc", "replace", "dev", interface, "root", "netem", *netem(terms))
    except CommandFailed as error:
        if "qdisc kind is unknown" in error.result.stderr:
            raise Unsupported("this kernel has no netem (module sch_netem)") from None
        raise
    return installed(node, interface)


def installed(node: Node, interface: str) -> dict[str, Any]:
    """What `tc` says of the netem on an interface: its options in SI units, and its counters."""
    listed = json.loads(node.ask("tc", "-s", "-j", "qdisc", "show", "dev", interface).stdout or "[]")
    return next((qdisc for qdisc in listed if qdisc.get("kind") == "netem"), {})


def deviations(terms: Terms, qdisc: Mapping[str, Any]) -> list[str]:
    """Where what is installed differs from what was asked by more than the kernel's rounding.

    It keeps times in ns (tc passes 1 µs), ratios as multiples of 2⁻³², and rates in whole bytes a second.
    """
    options = qdisc.get("options", {})
    delay, loss, reorder = options.get("delay", {}), options.get("loss-random", {}), options.get("reorder", {})
    found = {
        "delay": delay.get("delay", 0),
        "jitter": delay.get("jitter", 0),
        "delay_correlation": delay.get("correlation", 0),
        "loss": loss.get("loss", 0),
        "loss_correlation": loss.get("correlation", 0),
        "reorder": reorder.get("reorder", 0),
        "reorder_correlation": reorder.get("correlation", 0),
        "duplicate": options.get("duplicate", {}).get("duplicate", 0),
        "corrupt": options.get("corrupt", {}).get("corrupt", 0),
        "rate": options.get("rate", {}).get("rate", 0) * 8,
    }
    return [
        f"{name}: asked for {terms.get(name, 0):g}, installed is {value:g}"
        for name, value in found.items()
        if abs(value - terms.get(name, 0)) > (8 if name == "rate" else 1.5e-6)
    ]


def overflow(terms: Terms, qdisc: Mapping[str, Any]) -> str:
    """What to warn of where netem dropped more than its loss explains (6 standard deviations); else an empty text."""
    dropped, carried = qdisc.get("drops", 0), qdisc.get("packets", 0)
    loss = terms.get("loss", 0)
    offered = dropped + carried
    if dropped <= loss * offered + 6 * math.sqrt(loss * (1 - loss) * offered):
        return ""
    return f"{dropped} of {offered} packets were dropped, more than a loss of {loss:.3%} explains: raise its limit"


def mean_delay(delay: float, jitter: float) -> float:
    """Mean delay in seconds of netem's uniform `delay ± jitter`, whose negative values are sent at once.

    With d the delay and j the jitter, the mean is d where j ≤ d, and (d + j)² / 4j where j > d: the integral of x
    over 0 … d + j, divided by the width 2j. Source: `tabledist` and `netem_enqueue` in Linux' net/sched/sch_netem.c.
    """
    if jitter <= delay:
        return delay
    return (delay + jitter) * ((delay + jitter) / (4 * jitter))


def echo_loss(forward: float, reverse: float) -> float:
    """Ratio of echoes that are lost where each direction loses packets independently."""
    return 1 - (1 - forward) * (1 - reverse)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f}us"


def _percent(terms: Terms, name: str) -> list[str]:
    return [f"{terms[name] * 100:.6g}%"] if terms.get(name) else []
