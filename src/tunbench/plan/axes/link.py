"""Reads the links of a plan: the name of a shipped one, or an inline table, which may sweep."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache

from tunbench.plan.axes import named_table, profile
from tunbench.plan.axes.link_queue import WHOLE, check_queues, with_burst, with_queue
from tunbench.plan.axes.named_table import TableForm
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.mistakes import MistakeAt, as_written, quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner.declare import quantity
from tunbench.runner.declare.link import (
    ETHERNET_HEADER,
    FRAMINGS,
    SEGMENTATIONS,
    Direction,
    Link,
)
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.declare.overlay import SMALLEST_MTU
from tunbench.runner.network.wires import LARGEST_BUNDLE_BYTES

OF_DIRECTION = ("rate", "delay", "queue")
"""The keys that a link has for both directions, and each direction for itself."""

OF_ACCESS = ("nat", "mapping", "firewall", "icmp", "fragments", "mss", "dscp", "carrier", "portmap", "family")
"""Keys that need a gateway, which no link has."""

OF_PROFILE = tuple(term for term in TERMS if term not in OF_DIRECTION)
"""What the network between does, and no link."""

FORM = TableForm(
    "link",
    '{ name = "line", rate = "50M" }',
    keys=("name", *OF_DIRECTION, "up", "down", "mtu", "framing", "segmentation", "gro"),
    fixed=[("name",), ("up",), ("down",)],
    elsewhere={
        **{
            key: f'{key} belongs to a gateway: write for example access = {{ name = "home", nat = "port-restricted" }}'
            for key in OF_ACCESS
        },
        **{
            key: f"{key} belongs to a profile: write for example profiles = [{profile.FORM.example}]"
            for key in OF_PROFILE
        },
    },
    # A rate is a name that everybody knows: 100M, 1G.
    name=re.compile(r"[0-9A-Za-z][0-9A-Za-z-]*"),
    name_letters="letters, digits and -, a letter or digit first",
)

BUNDLES_ARE_POLICED = "a policer drops every bundle of packets that is larger than a frame"
"""Why a link that cuts nothing has none: net/sched/act_police.c of Linux 6.1 drops what is above its mtu."""

RATE_ALONE = re.compile(r"[0-9]{1,9}[KkMG](bit)?")
"""A rate in the place of a link, as the names of some are."""

SLOWEST, FASTEST = 1e3, 1e12
"""Bits a second: the kernel keeps whole bytes, and netem's and tbf's arithmetic goes that far."""

MAX_DELAY_SECONDS = 60.0

MAX_GRO_SECONDS = 0.01
"""The longest that a card's interrupts wait. Source: Linux 6.1, IGB_MAX_ITR_USECS of drivers/net/ethernet/intel/igb."""

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
    check_queues(table, link, frame)
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
        return with_burst(found, frame)
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), *([way] if "queue" in own else []), *mistake.at) from None


def _direction(table: Mapping[str, object], usual: Direction) -> Direction:
    found = usual
    if "rate" in table:
        found = found._replace(rate=_rate(table["rate"]))
    if "delay" in table:
        found = found._replace(delay=named_table.duration_of(table, "delay", MAX_DELAY_SECONDS))
    if "queue" in table:
        found = with_queue(found, table["queue"])
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
