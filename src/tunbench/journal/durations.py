"""How long the phases of a run's shards took, by the lab's clock."""

from collections.abc import Iterable

from tunbench.journal.events import JournalEvent, PhaseBegan, ShardEnded
from tunbench.labs.lab import TEMPLATE

LABS_WHOSE_CLOCK_STARTS_AT_BOOT = frozenset({"vm"})
"""The clock of the other labs is that of their machines, which has been running long before a shard."""


def durations(events: Iterable[JournalEvent], lab_kind: str, start: str = "") -> dict[str, float]:
    """Seconds of the lab's time in each phase, over all shards; `start` is what the shards start from.

    Where the clock does not begin with the boot, what of a shard's wall clock is in none of its phases is counted so.
    """
    since_boot = lab_kind in LABS_WHOSE_CLOCK_STARTS_AT_BOOT
    sums: dict[str, float] = {}
    last: dict[str, tuple[str, float]] = {}
    began: dict[str, float] = {}
    for event in events:
        if isinstance(event, PhaseBegan):
            before = last[event.shard][0] if event.shard in last else ""
            if event.name == "begin" or (event.name == "nodes" and before != "begin"):
                # What a template has behind it is none of the shard's time.
                loaded = start == TEMPLATE and event.name == "begin"
                last[event.shard] = ("boot", event.at if loaded or not since_boot else 0.0)
                began[event.shard] = event.at
            name, since = last.get(event.shard, ("boot", 0.0))
            sums[name] = sums.get(name, 0.0) + max(0.0, event.at - since)
            last[event.shard] = (event.name, event.at)
        elif isinstance(event, ShardEnded) and event.finished and not since_boot and event.shard in began:
            inside = last[event.shard][1] - began[event.shard]
            sums["boot"] = sums.get("boot", 0.0) + max(0.0, event.wall - inside)
    return sums
