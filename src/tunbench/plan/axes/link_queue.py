"""Reads the queue of a link: packets, a time at its rate, or another kind, such as a policer with its bucket."""

import math
import re
from collections.abc import Mapping

from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.runner.declare import quantity
from tunbench.runner.declare.link import FIFO, POLICER, QUEUES, Direction, Link

WHOLE = re.compile(r"[0-9]+")

MAX_QUEUE_SECONDS = 60.0
"""As long as a delay may be."""

MAX_QUEUE_PACKETS = 10_000_000

MAX_QUEUE_BYTES = (1 << 32) - 1
"""The kernel is told a queue of time in 32 bits of bytes (Linux 6.1, struct tc_tbf_qopt)."""

LEAST_BURST_FRAMES, BURST_SECONDS = 10, 0.005
"""A policer's bucket where nobody says: ten full frames, or what the rate carries in 5 ms, whichever is more. Source:
Juniper, "Determining Proper Burst Size for Traffic Policers"."""

MAX_BURST_BYTES = 1_000_000_000

LONGEST_BURST_SECONDS = 274.0
"""What a policer's bucket holds of its rate at most: the kernel is told it in 32 bits of 64 ns (struct tc_police)."""


def with_queue(direction: Direction, value: object) -> Direction:
    """The direction with a queue of so many packets, of so much time at its rate, or of another kind."""
    text = str(value).strip()
    kind, colon, options = text.partition(":")
    if kind in QUEUES and kind != FIFO:
        burst = _burst(text, options) if colon else 0
        return direction._replace(queue=kind, burst=burst, queue_packets=Direction().queue_packets, queue_seconds=0.0)
    example = f'write packets, such as queue = 1000, or time, such as queue = "50ms", or a kind: {_named_queues()}'
    if isinstance(value, bool | float):
        raise MistakeAt(f"{quoted(value)} is no queue: {example}", "queue")
    try:
        packets = int(text) if WHOLE.fullmatch(text) else 0
        seconds = 0.0 if WHOLE.fullmatch(text) else quantity.duration(text, bare="")
    except ValueError:
        raise MistakeAt(f"{quoted(value)} is no queue: {example}", "queue") from None
    if packets <= 0 and seconds <= 0:
        raise MistakeAt(f"a queue of nothing passes nothing: {example}", "queue")
    if packets > MAX_QUEUE_PACKETS or seconds > MAX_QUEUE_SECONDS:
        most = f"{MAX_QUEUE_PACKETS} packets or {MAX_QUEUE_SECONDS:g} s"
        raise MistakeAt(f"{quoted(value)} is out of range: a queue has {most} at most", "queue")
    return direction._replace(queue=FIFO, burst=0, queue_packets=packets, queue_seconds=seconds)


def _named_queues() -> str:
    return ", ".join(f'"{kind}"' for kind in QUEUES if kind != FIFO)


def _burst(text: str, options: str) -> int:
    """The bytes of a policer's bucket, as they are written behind it."""
    example = 'write for example queue = "policer:burst=64kB"'
    name, _, size = options.partition("=")
    if not text.startswith(POLICER) or name != "burst":
        raise MistakeAt(f'"{text}" has an option that there is not: {example}', "queue")
    try:
        burst = quantity.size(size)
    except ValueError as error:
        raise MistakeAt(f"{error}; {example}", "queue") from None
    if not 0 < burst <= MAX_BURST_BYTES:
        raise MistakeAt(f'"{text}" is out of range: a burst is 1 B to {MAX_BURST_BYTES // 10**9} GB', "queue")
    return burst


def with_burst(direction: Direction, frame: int) -> Direction:
    """The direction of a policer with a bucket that a full frame of so many bytes on the wire fits into at least."""
    if not direction.polices or not direction.rate:
        return direction
    largest = int(LONGEST_BURST_SECONDS * direction.rate / 8)
    usual = max(LEAST_BURST_FRAMES * frame, round(BURST_SECONDS * direction.rate / 8))
    burst = direction.burst or usual
    if largest < frame:
        raise MistakeAt(
            f"at {direction.rate:g} bit/s a full frame of {frame} B takes more than the {LONGEST_BURST_SECONDS:g} s "
            "that the kernel counts for a policer: raise the rate, or take another queue",
            "queue",
        )
    if burst < frame:
        mend = f"make it larger, or take it away for {usual} B"
        if usual > largest:
            mend = f'write queue = "policer:burst={largest}B", which is the most at this rate'
        raise MistakeAt(
            f"a burst of {burst} B lets no full frame pass, which takes {frame} B on the wire: {mend}", "queue"
        )
    if burst > largest:
        raise MistakeAt(
            f"a burst of {burst} B takes more than the {LONGEST_BURST_SECONDS:g} s that the kernel counts: write "
            f'queue = "policer:burst={largest}B" at most',
            "queue",
        )
    return direction._replace(burst=burst)


def check_queues(table: Mapping[str, object], link: Link, frame: int) -> None:
    """Raises MistakeAt where a queue of time holds no full frame of so many bytes, or more than the kernel counts."""
    for way, direction in (("up", link.up), ("down", link.down)):
        if direction.queue_seconds and direction.rate and (wrong := _misfit(link, direction, frame)):
            own = table.get(way)
            raise MistakeAt(wrong, *([way] if isinstance(own, dict) and "queue" in own else []), "queue")


def _misfit(link: Link, direction: Direction, frame: int) -> str:
    """What is wrong with a queue of time at its rate, and the mend; empty where it fits."""
    frame_milliseconds = 8e3 * frame / direction.rate
    held = link.queue_bytes(direction)
    # The queue is one of whole frames, to which its time is rounded.
    if 1e3 * direction.queue_seconds < frame_milliseconds / 2:
        mend = "write queue = 1, for one frame"
        if frame_milliseconds < 1e3 * MAX_QUEUE_SECONDS:
            mend += f', or queue = "{math.ceil(frame_milliseconds)}ms"'
        return (
            f"at this rate a full frame of {frame} B takes {frame_milliseconds / 1e3:.3g} s, and finds no room: {mend}"
        )
    if held > MAX_QUEUE_BYTES:
        most = math.floor(frame_milliseconds * (MAX_QUEUE_BYTES // link.largest_frame))
        return (
            f"at this rate it holds {held} B, and the kernel counts {MAX_QUEUE_BYTES} at most: "
            f'write queue = "{most}ms" at most'
        )
    return ""
