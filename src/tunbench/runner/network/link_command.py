"""Writes what a link does to packets as lines of `tc -batch`, and reads what the kernel made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunbench.runner.declare.link import FRAMINGS, Direction, Link
from tunbench.runner.network import netem_command
from tunbench.runner.node.json_output import value_at

NETEM, SHAPER, QUEUE = "1:", "2:", "3:"
"""The handles of the qdiscs of an interface, each the parent of the next one that is there."""

UNBOUNDED = 1_000_000_000
"""Bytes that a shaper may hold where its queue counts packets."""

LEAST_HELD = 100_000
"""Packets that a delay has room for at least, and more where 10 Gbit/s bring more in its time: it must drop none."""

RATE_ROUNDING = 8
"""Bits a second that the kernel rounds away: it keeps whole bytes."""


def shaper(interface: str, link: Link, direction: Direction, parent: str = "root") -> list[str]:
    """The rate and the queue of one direction of a link; nothing where it has no rate.

    Longer bundles than a frame are cut before they wait (`mtu`), and frames leave one by one. A timer that comes late
    would take rate away for good where a bucket holds one frame; it holds two, and the second may leave in half of its
    time. It counts what the medium adds to each frame, which netem's rate does not. Source: Linux 6.1,
    net/sched/sch_tbf.c.
    """
    if not direction.rate:
        return []
    framing = FRAMINGS[link.framing]
    held = link.queue_bytes(direction) if direction.queue_seconds else UNBOUNDED
    frame, rate = link.largest_frame, direction.rate
    words = f"tbf rate {rate:.0f}bit burst {2 * frame} peakrate {2 * rate:.0f}bit mtu {frame}"
    words += f" limit {held} mpu {framing.least}"
    words += f" overhead {framing.beside} linklayer {'atm' if framing.cells else 'ethernet'}"
    lines = [f"qdisc replace dev {interface} {parent} handle {SHAPER} {words}"]
    if not direction.queue_seconds:
        queue = f"pfifo limit {direction.queue_packets}"
        lines.append(f"qdisc add dev {interface} parent {SHAPER}1 handle {QUEUE} {queue}")
    return lines


def impaired(interface: str, netem: Sequence[str], link: Link, direction: Direction | None) -> list[str]:
    """Netem on an interface, and the shaper of a link behind it where the interface enters one."""
    lines = [f"qdisc replace dev {interface} root handle {NETEM} netem {' '.join(netem)}"]
    return [*lines, *(shaper(interface, link, direction, f"parent {NETEM}1") if direction else [])]


def delay(leaf: str, seconds: float) -> list[str]:
    """A delay for all that a leaf sends, as it arrives in the middle: netem on an interface that it is led through.

    It has a qdisc of its own: what jitter draws below zero is sent at once, and would take no base delay with it.
    """
    through, terms = f"from-{leaf}", {"delay": seconds}
    netem = netem_command.arguments(terms, max(LEAST_HELD, netem_command.limit(terms)))
    return [
        f"qdisc add dev {through} root netem {' '.join(netem)}",
        f"qdisc add dev to-{leaf} clsact",
        f"filter add dev to-{leaf} ingress matchall action mirred egress redirect dev {through}",
    ]


def differences(link: Link, direction: Direction, qdisc: Mapping[str, Any]) -> list[str]:
    """Where the shaper that the kernel shows is another one than was asked for."""
    rate = 8 * float(value_at(qdisc, "options", "rate") or 0)
    beside = value_at(qdisc, "options", "overhead") or 0
    found = []
    if abs(rate - direction.rate) > RATE_ROUNDING:
        found.append(f"rate: asked for {direction.rate:g} bit/s, installed is {rate:g}")
    if beside != FRAMINGS[link.framing].beside:
        found.append(f"overhead: asked for {FRAMINGS[link.framing].beside} B, installed is {beside}")
    return found
