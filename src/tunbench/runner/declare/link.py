"""A link: what joins a node to the next one. It owns rate, delay and queue of each direction, MTU and framing."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

ETHERNET_HEADER = 14
"""Bytes of a frame's header, which the kernel counts as part of it."""

DEFAULT_DELAY_SECONDS = 75e-6
"""What cards, cable and switch take at least, one way over one link. Between two endpoints there are two links, and a
round trip takes four times as long: 0.3 ms, as `ping` shows between two servers in one room."""

DEFAULT_QUEUE_PACKETS = 1000
"""What Linux gives an Ethernet interface: DEFAULT_TX_QUEUE_LEN of net/ethernet/eth.c."""

SLOW_FRAME_SECONDS = 200e-6
"""A full frame that takes longer to be sent takes that time for itself, as shorter ones do: such links are narrow. What
takes less, as 0.12 ms at 100 Mbit/s, is left to the link's delay, and costs no machine anything."""

SEGMENTATIONS = {
    "before": "what leaves a node is cut into packets of the link's MTU before anything judges it",
    "after": "bundles of up to 64 KiB pass as they are, as where netem sits above a network card's segmentation",
}


class Framing(NamedTuple):
    """What a medium needs beside each frame as the kernel counts it, in bytes, and for the shortest one at least.

    With `cells` what comes of it fills whole cells of ATM, of which 48 bytes in 53 are its own. `mtu` is the usual one.
    """

    beside: int
    least: int
    cells: bool
    mtu: int
    summary: str

    def wire_bytes(self, frame: int) -> int:
        """The bytes that a frame takes on the medium."""
        counted = max(frame + self.beside, self.least)
        return math.ceil(counted / 48) * 53 if self.cells else counted


FRAMINGS = {
    "ethernet": Framing(24, 84, False, 1500, "check sequence 4 B, preamble 8, gap 12; 84 B at least (IEEE 802.3)"),
    "pppoe": Framing(32, 84, False, 1492, "as Ethernet, and 8 B of PPPoE and PPP (RFC 2516)"),
    "atm": Framing(26, 0, True, 1492, "PPPoE over LLC/SNAP and AAL5, in cells of 53 B for 48 (RFC 2684)"),
    "none": Framing(0, 0, False, 1500, "nothing beside the 14 B of a frame's header"),
}


FIFO, POLICER = "fifo", "policer"

QUEUES = {
    FIFO: "packets wait in the order in which they came, as many as fit",
    "fq_codel": "a queue a flow, each kept short (RFC 8290)",
    "cake": "a queue a flow and a fair share a host, kept short, shaped by cake itself",
    POLICER: "nothing waits: what is above the rate and finds no token is dropped (RFC 2697's one rate)",
}
"""What becomes of packets that a link has no room for at once."""


class Direction(NamedTuple):
    """One direction of a link: bits a second, 0 without limit; seconds; and its queue.

    That is a kind, and where it is fifo so many packets, or else seconds; where it is a policer, the bytes of `burst`.
    """

    rate: float = 0.0
    delay: float = DEFAULT_DELAY_SECONDS
    queue_packets: int = DEFAULT_QUEUE_PACKETS
    queue_seconds: float = 0.0
    queue: str = FIFO
    burst: int = 0

    @property
    def polices(self) -> bool:
        """Whether what is above the rate is dropped instead of waiting."""
        return self.queue == POLICER

    def spec(self) -> dict[str, Any]:
        """What the runner gets; there is no queue where nothing has to wait."""
        if self.queue != FIFO:
            queue: dict[str, Any] = {"queue": self.queue, **({"burst": self.burst} if self.polices else {})}
        elif self.queue_seconds:
            queue = {"queue_seconds": self.queue_seconds}
        else:
            queue = {"queue_packets": self.queue_packets}
        return {"delay": self.delay, **({"rate": self.rate, **queue} if self.rate else {})}


USUAL = Direction()


@dataclass(frozen=True)
class Link:
    """A link: `up` is what leaves the node, `down` what comes to it; MTU in bytes.

    `gro` is how many seconds the interrupts of the card that receives are apart: what comes in between of a flow is put
    together (generic receive offload). 0 where each packet is handed on by itself.
    """

    name: str
    up: Direction = USUAL
    down: Direction = USUAL
    mtu: int = FRAMINGS["ethernet"].mtu
    framing: str = "ethernet"
    segmentation: str = "before"
    gro: float = 0.0

    @property
    def cuts(self) -> bool:
        """Whether what leaves a node is cut into packets before anything judges it."""
        return self.segmentation == "before"

    @property
    def polices(self) -> bool:
        """Whether one of its directions drops what is above the rate instead of letting it wait."""
        return any(way.polices for way in (self.up, self.down) if way.rate)

    @property
    def largest_frame(self) -> int:
        """Bytes of the largest frame as the kernel counts it."""
        return self.mtu + ETHERNET_HEADER

    @property
    def frames_put_together(self) -> int:
        """How many full frames come to the node between two interrupts, at its rate; 0 where that has no limit."""
        return int(self.gro * self.down.rate / 8 / FRAMINGS[self.framing].wire_bytes(self.largest_frame))

    def sending_seconds(self, direction: Direction, frame: int) -> float:
        """Seconds that a frame takes to be sent, which the kernel counts with so many bytes; 0 on a fast link.

        A link with a policer is faster than what the policer lets pass.
        """
        slowest = self._on_the_wire_seconds(direction, self.largest_frame)
        return self._on_the_wire_seconds(direction, frame) if slowest > SLOW_FRAME_SECONDS else 0.0

    def _on_the_wire_seconds(self, direction: Direction, frame: int) -> float:
        if not direction.rate or direction.polices:
            return 0.0
        return 8 * FRAMINGS[self.framing].wire_bytes(frame) / direction.rate

    def is_narrow(self, direction: Direction) -> bool:
        """Whether frames take their time to be sent in this direction."""
        return self.sending_seconds(direction, self.largest_frame) > 0

    @property
    def crossing_delay(self) -> float:
        """Seconds that both directions take: two links between two endpoints one way, or one there and back."""
        return self.up.delay + self.down.delay

    @property
    def base_round_trip(self) -> float:
        """Seconds of a round trip between two endpoints behind such links, where nothing waits."""
        return 2 * self.crossing_delay

    def queue_bytes(self, direction: Direction) -> int:
        """Bytes of full frames, as the kernel counts them, that the rate carries in the time of the queue."""
        on_the_wire = FRAMINGS[self.framing].wire_bytes(self.largest_frame)
        frames = direction.queue_seconds * direction.rate / (8 * on_the_wire)
        return max(1, round(frames)) * self.largest_frame

    def spec(self) -> dict[str, Any]:
        """The link as a shard names it."""
        return {
            "name": self.name,
            "up": self.up.spec(),
            "down": self.down.spec(),
            "mtu": self.mtu,
            "framing": self.framing,
            "segmentation": self.segmentation,
            **({"gro": self.gro} if self.gro else {}),
        }


def of_spec(spec: Mapping[str, Any]) -> Link:
    """The link that a shard names."""
    return Link(**{**spec, **{way: Direction(**spec.get(way, {})) for way in ("up", "down")}})
