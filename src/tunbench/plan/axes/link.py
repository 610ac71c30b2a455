"""Reads the links of a plan: the name of a shipped one, or an inline table, which may sweep."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache

from tunbench.plan.axes import named_table
from tunbench.plan.axes.named_table import TableForm
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.mistakes import MistakeAt, as_written, quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner.declare import quantity
from tunbench.runner.declare.link import (
    ETHERNET_HEADER,
    FIFO,
    FRAMINGS,
    POLICER,
    QUEUES,
    SEGMENTATIONS,
    Direction,
    Link,
)
from tunbench.runner.declare.overlay import SMALLEST_MTU
from tunbench.runner.network.wires import LARGEST_BUNDLE_BYTES

OF_DIRECTION = ("rate", "delay", "queue")
"""The keys that a link has for both directions, and each direction for itself."""

OF_ACCESS = ("nat", "mapping", "firewall", "icmp", "fragments", "mss", "dscp", "jitter", "carrier", "portmap", "family")
"""Keys that need a gateway, which no link has."""

FORM = TableForm(
    "link",
    '{ name = "line", rate = "50M" }',
    keys=("name", *OF_DIRECTION, "up", "down", "mtu", "framing", "segmentation", "gro"),
    fixed=[("name",), ("up",), ("down",)],
    elsewhere={
        key: f'{key} belongs to a gateway: write for example access = {{ name = "home", nat = "port-restricted" }}'
        for key in OF_ACCESS
    },
    # A rate is a name that everybody knows: 100M, 1G.
    name=re.compile(r"[0-9A-Za-z][0-9A-Za-z-]*"),
    name_letters="letters, digits and -, a letter or digit first",
)

BUNDLES_ARE_POLICED = "a policer drops every bundle of packets that is larger than a frame"
"""Why a link that cuts nothing has none: net/sched/act_police.c of Linux 6.1 drops what is above its mtu."""

RATE_ALONE = re.compile(r"[0-9]{1,9}[KkMG](bit)?")
"""A rate in the place of a link, as the names of some are."""

WHOLE = re.compile(r"[0-9]+")

SLOWEST, FASTEST = 1e3, 1e12
"""Bits a second: the kernel keeps whole bytes, and netem's and tbf's arithmetic goes that far."""

MAX_DELAY_SECONDS = 60.0

MAX_GRO_SECONDS = 0.01
"""The longest that a card's interrupts wait. Source: Linux 6.1, IGB_MAX_ITR_USECS of drivers/net/ethernet/intel/igb."""

MAX_QUEUE_PACKETS = 10_000_000

MAX_QUEUE_BYTES = (1 << 32) - 1
"""The kernel is told a queue of time in 32 bits of bytes (Linux 6.1, struct tc_tbf_qopt)."""

LEAST_BURST_FRAMES, BURST_SECONDS = 10, 0.005
"""A policer's bucket where nobody says: ten full frames, or what the rate carries in 5 ms, whichever is more. Source:
Juniper, "Determining Proper Burst Size for Traffic Policers"."""

MAX_BURST_BYTES = 1_000_000_000

LONGEST_BURST_SECONDS = 274.0
"""What a policer's bucket holds of its rate at most: the kernel is told it in 32 bits of 64 ns (struct tc_police)."""

MAX_MTU_BYTES = 65_535
"""More, a veth does not take (Linux 6.1, ETH_MAX_MTU)."""


@cache
def shipped() -> dict[str, Link]:
    """The links that come with Tunbench, by name."""
    return named_table.shipped("links.toml", from_table)


def read_links(value: object) -> Iterator[Link]:
    """The links that an entry of a plan stands for: one, or those of its sweeps, named by the swept values.

    Raises ValueError; MistakeAt where it is in one key.
    """
    if isinstance(value, str) and value not in shipped() and _is_rate(value):
        raise ValueError(f'no link "{value}" is shipped: write link = {{ name = "{value}", rate = "{value}" }}')
    named_table.check_new(FORM, value, shipped())
    yield from named_table.read_entries(FORM, value, shipped(), from_table)


def _is_rate(text: str) -> bool:
    """Whether a name is a rate that a link may have."""
    try:
        return bool(RATE_ALONE.fullmatch(text)) and SLOWEST <= quantity.rate(text) <= FASTEST
    except ValueError:
        return False


def from_table(table: Mapping[str, object]) -> Link:
    """The link of a table without sweeps. Raises ValueError; MistakeAt where it is in one key."""
    name = named_table.name_of(FORM, table)
    framing = named_table.one_of(table, "framing", FRAMINGS, "ethernet")
    mtu = _mtu(table.get("mtu", FRAMINGS[framing].mtu))
    frame = FRAMINGS[framing].wire_bytes(mtu + ETHERNET_HEADER)
    both = _direction(table, Direction())
    link = Link(
        name,
        _one_way(table, "up", both, frame),
        _one_way(table, "down", both, frame),
        mtu,
        framing,
        named_table.one_of(table, "segmentation", SEGMENTATIONS, "before"),
        named_table.duration_of(table, "gro", MAX_GRO_SECONDS),
    )
    _check_queues(table, link)
    _check_gro(link, frame)
    if link.polices and not link.cuts:
        raise MistakeAt(
            f'{BUNDLES_ARE_POLICED}: write segmentation = "before", or take another queue',
            "segmentation",
        )
    if link.gro and link.down.polices:
        raise MistakeAt(
            f"{BUNDLES_ARE_POLICED}, which gro puts together before it: take gro away, or take another queue", "gro"
        )
    if "queue" in table and not (link.up.rate or link.down.rate):
        raise MistakeAt("queue does nothing without rate: write rate as well, or take queue away", "queue")
    return link


def _check_queues(table: Mapping[str, object], link: Link) -> None:
    """Raises MistakeAt where a queue of time holds more bytes than the kernel counts."""
    for way, direction in (("up", link.up), ("down", link.down)):
        if not direction.queue_seconds or not direction.rate or link.queue_bytes(direction) <= MAX_QUEUE_BYTES:
            continue
        own = table.get(way)
        milliseconds = math.floor(1e3 * direction.queue_seconds * MAX_QUEUE_BYTES / link.queue_bytes(direction))
        raise MistakeAt(
            f"at this rate it holds {link.queue_bytes(direction)} B, and the kernel counts {MAX_QUEUE_BYTES} at most: "
            f'write queue = "{milliseconds}ms" at most',
            *([way] if isinstance(own, dict) and "queue" in own else []),
            "queue",
        )


def _check_gro(link: Link, frame: int) -> None:
    """Raises MistakeAt where a card puts nothing together; a full frame has so many bytes."""
    if link.gro and 2 * link.mtu > LARGEST_BUNDLE_BYTES:
        raise MistakeAt(
            f"two packets of {link.mtu} bytes are more than the {LARGEST_BUNDLE_BYTES} that are put together at most: "
            "take gro away",
            "gro",
        )
    if link.gro and link.down.rate and link.frames_put_together < 2:
        frame_microseconds = math.ceil(1e6 * 8 * frame / link.down.rate)
        least = 2 * frame_microseconds
        mend = "raise the rate" if least > 1e6 * MAX_GRO_SECONDS else f'write gro = "{least}us" at least'
        raise MistakeAt(
            f"two frames take longer than that at the link's rate, so that nothing is put together: {mend}, or take "
            "gro away",
            "gro",
        )


def _one_way(table: Mapping[str, object], way: str, both: Direction, frame: int) -> Direction:
    """One direction: what its own table says, and else what holds for both; a full frame has so many bytes."""
    own = table.get(way, {})
    if not isinstance(own, dict):
        raise MistakeAt(f'{quoted(own)} is not a table: write for example {way} = {{ rate = "10M" }}', way)
    try:
        named_table.check_keys(own, OF_DIRECTION)
        found = _direction(own, both)
        if "queue" in own and not found.rate:
            raise MistakeAt("queue does nothing without rate: write rate as well, or take queue away", "queue")
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), way, *mistake.at) from None
    try:
        return _with_burst(found, frame)
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), *([way] if "queue" in own else []), *mistake.at) from None


def _direction(table: Mapping[str, object], usual: Direction) -> Direction:
    found = usual
    if "rate" in table:
        found = found._replace(rate=_rate(table["rate"]))
    if "delay" in table:
        found = found._replace(delay=named_table.duration_of(table, "delay", MAX_DELAY_SECONDS))
    if "queue" in table:
        found = _with_queue(found, table["queue"])
    return found


def _rate(value: object) -> float:
    text = as_written(value)
    try:
        rate = quantity.rate(text)
    except ValueError as error:
        raise MistakeAt(str(error), "rate") from None
    # Whoever writes 100 has megabits in mind.
    if rate and text.strip(" +-").replace(".", "", 1).isdecimal():
        raise MistakeAt(f'{quoted(value)} has no unit: write for example rate = "100M"', "rate")
    if not SLOWEST <= rate <= FASTEST:
        raise MistakeAt(
            f'"{text}" is out of range: a rate is 1K to 1000G; take the key away for a link without limit', "rate"
        )
    return rate


def _with_queue(direction: Direction, value: object) -> Direction:
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
    if packets > MAX_QUEUE_PACKETS or seconds > MAX_DELAY_SECONDS:
        most = f"{MAX_QUEUE_PACKETS} packets or {MAX_DELAY_SECONDS:g} s"
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


def _with_burst(direction: Direction, frame: int) -> Direction:
    """The direction of a policer with a bucket that a full frame of so many bytes on the wire fits into at least."""
    if not direction.polices or not direction.rate:
        return direction
    usual = max(LEAST_BURST_FRAMES * frame, round(BURST_SECONDS * direction.rate / 8))
    burst, largest = direction.burst or usual, int(LONGEST_BURST_SECONDS * direction.rate / 8)
    if largest < frame:
        raise MistakeAt(
            f"at {direction.rate:g} bit/s a full frame of {frame} B takes more than the {LONGEST_BURST_SECONDS:g} s "
            "that the kernel counts for a policer: raise the rate, or take another queue",
            "queue",
        )
    if burst < frame:
        raise MistakeAt(
            f"a burst of {burst} B lets no full frame pass, which takes {frame} B on the wire: make it larger, or take "
            f"it away for {min(usual, largest)} B",
            "queue",
        )
    if burst > largest:
        raise MistakeAt(
            f"a burst of {burst} B takes more than the {LONGEST_BURST_SECONDS:g} s that the kernel counts: write "
            f'queue = "policer:burst={largest}B" at most',
            "queue",
        )
    return direction._replace(burst=burst)


def _mtu(value: object) -> int:
    if isinstance(value, str) and WHOLE.fullmatch(value) and len(value) < 9:
        # The values of a range are texts.
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MistakeAt(f"{quoted(value)} is not a whole number of bytes: write for example mtu = 9000", "mtu")
    if not SMALLEST_MTU[4] <= value <= MAX_MTU_BYTES:
        raise MistakeAt(f"{value} is out of range: allowed is {SMALLEST_MTU[4]} to {MAX_MTU_BYTES} bytes", "mtu")
    return value


READER = AxisReader('link = ["wire", "1G"]', alone(read_links))
