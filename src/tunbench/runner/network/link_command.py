"""Writes what a link does to packets as lines of `tc -batch`, and reads what the kernel made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunbench.runner.declare.link import ETHERNET_HEADER, FIFO, FRAMINGS, Direction, Link
from tunbench.runner.network import netem_command
from tunbench.runner.node.json_output import value_at

NETEM, SHAPER, QUEUE = "1:", "2:", "3:"
"""The handles of the qdiscs of an interface, each the parent of the next one that is there."""

UNBOUNDED = 1_000_000_000
"""Bytes that a shaper may hold where its queue counts packets."""

LEAST_HELD = 100_000
"""Packets that a delay has room for at least, and more where 10 Gbit/s bring more in its time: it must drop none."""

CELL_BYTES, CELL_HEADER_BYTES = 48, 5
"""A cell of ATM: what it carries, and its header (ITU-T I.361)."""

RATE_ROUNDING = 8
"""Bits a second that the kernel rounds away: it keeps whole bytes."""


SHAPE_THEMSELVES = ("cake",)
"""The kinds of queue that keep the rate, too."""


def shaper_kind(direction: Direction) -> str:
    """The kind of qdisc that keeps the rate of a direction of a link."""
    return direction.queue if direction.queue in SHAPE_THEMSELVES else "tbf"


def shaper(interface: str, link: Link, direction: Direction, parent: str = "root") -> list[str]:
    """The rate and the queue of one direction of a link; nothing where it has no rate, or where nothing waits.

    Longer bundles than a frame are cut before they wait (`mtu`), and frames leave one by one. A timer that comes late
    would take rate away for good where a bucket holds one frame; it holds two, and the second may leave in half of its
    time. It counts what the medium adds to each frame, which netem's rate does not. Source: Linux 6.1,
    net/sched/sch_tbf.c.
    """
    if not direction.rate or direction.polices:
        return []
    framing = FRAMINGS[link.framing]
    if direction.queue in SHAPE_THEMSELVES:
        # It counts from the packet on, without its header of Ethernet.
        beside = (
            f"overhead {framing.beside + ETHERNET_HEADER} mpu {framing.least} {'atm' if framing.cells else 'noatm'}"
        )
        return [
            f"qdisc replace dev {interface} {parent} handle {SHAPER} cake bandwidth {direction.rate:.0f}bit {beside}"
        ]
    held = link.queue_bytes(direction) if direction.queue_seconds else UNBOUNDED
    frame, rate = link.largest_frame, direction.rate
    words = f"tbf rate {rate:.0f}bit burst {2 * frame} peakrate {2 * rate:.0f}bit mtu {frame}"
    words += f" limit {held} mpu {framing.least}"
    words += f" overhead {framing.beside} linklayer {'atm' if framing.cells else 'ethernet'}"
    lines = [f"qdisc replace dev {interface} {parent} handle {SHAPER} {words}"]
    if not direction.queue_seconds:
        queue = f"pfifo limit {direction.queue_packets}" if direction.queue == FIFO else direction.queue
        lines.append(f"qdisc add dev {interface} parent {SHAPER}1 handle {QUEUE} {queue}")
    return lines


def impaired(
    interface: str, netem: Sequence[str], link: Link | None = None, direction: Direction | None = None
) -> list[str]:
    """Netem on an interface, and the shaper of a link behind it where the interface enters one."""
    lines = [f"qdisc replace dev {interface} root handle {NETEM} netem {' '.join(netem)}"]
    return [*lines, *(shaper(interface, link, direction, f"parent {NETEM}1") if link and direction else [])]


def policer(interface: str, link: Link, direction: Direction) -> list[str]:
    """The policer of one direction of a link, on the interface where its packets come out: there all are cut.

    It counts without the header of Ethernet, which is off a packet that has arrived. What it passes goes on to other
    filters. Source: Linux 6.1, net/sched/act_police.c.
    """
    framing = FRAMINGS[link.framing]
    words = f"police rate {direction.rate:.0f}bit burst {direction.burst} mtu {link.largest_frame}"
    words += f" overhead {framing.beside + ETHERNET_HEADER} mpu {framing.least}"
    words += f" linklayer {'atm' if framing.cells else 'ethernet'} conform-exceed drop/continue"
    return [
        f"qdisc replace dev {interface} clsact",
        f"filter add dev {interface} ingress prio 1 matchall action {words}",
    ]


IN_ORDER = 1e12
"""Bits a second of netem's own rate, with which a packet leaves after the one before it whatever jitter drew for both:
1500 B take 12 ns. Source: Linux 6.1, netem_enqueue of net/sched/sch_netem.c."""


def sending(link: Link, direction: Direction) -> str:
    """Netem's own rate for a direction of a narrow link, by which a frame has arrived when its last bit has.

    A shaper cannot do it: whoever has waited long enough leaves it at once. Behind one, frames come as fast as this
    rate passes them, and none waits longer. Empty for a link that is not narrow. Source: Linux 6.1, netem_enqueue and
    packet_time_ns of net/sched/sch_netem.c.
    """
    if not link.is_narrow(direction):
        return ""
    framing = FRAMINGS[link.framing]
    cells = f" {CELL_BYTES} {CELL_HEADER_BYTES}" if framing.cells else ""
    return f"rate {direction.rate:.0f}bit {framing.beside}{cells}"


def delay(interface: str, through: str, seconds: float, jitter: float = 0.0, sent: str = "") -> list[str]:
    """A delay for all that arrives at an interface: netem on another one, that it is led through.

    It has a qdisc of its own: what a profile's jitter draws below zero is sent at once, and would take no base delay
    with it. A link's own jitter changes no order. `sent` is the rate at which it was sent there, where the link is
    narrow.
    """
    terms = {"delay": seconds, **({"jitter": jitter} if jitter else {})}
    netem = netem_command.arguments(terms, max(LEAST_HELD, netem_command.limit(terms)))
    in_order = [sent] if sent else [f"rate {IN_ORDER:.0f}bit"] if jitter else []
    return [
        f"qdisc add dev {through} root netem {' '.join([*netem, *in_order])}",
        f"qdisc replace dev {interface} clsact",
        f"filter add dev {interface} ingress matchall action mirred egress redirect dev {through}",
    ]


def narrow(interface: str, through: str, sent: str) -> list[str]:
    """The way into a narrow link: what leaves by an interface waits in another one, whose queue is the link's, and is
    sent behind that, frame by frame.
    """
    return [
        f"qdisc replace dev {interface} root netem limit {LEAST_HELD} {sent}",
        f"qdisc replace dev {interface} clsact",
        f"filter add dev {interface} egress matchall action mirred egress redirect dev {through}",
    ]


def differences(link: Link, direction: Direction, there: Mapping[str, Any]) -> list[str]:
    """Where the shaper or policer that the kernel shows is another one than was asked for; of a policer it tells no
    rate.
    """
    framing = FRAMINGS[link.framing]
    with_header = direction.polices or direction.queue in SHAPE_THEMSELVES
    asked = framing.beside + (ETHERNET_HEADER if with_header else 0)
    shown = there if direction.polices else there.get("options", {})
    rate = 8 * float(value_at(shown, "bandwidth") or value_at(shown, "rate") or 0)
    beside = value_at(shown, "overhead") or 0
    found = []
    if not direction.polices and abs(rate - direction.rate) > RATE_ROUNDING:
        found.append(f"rate: asked for {direction.rate:g} bit/s, installed is {rate:g}")
    if beside != asked:
        found.append(f"overhead: asked for {asked} B, installed is {beside}")
    return found
