"""How long the phases of a run's shards took, by the lab's clock."""

from collections.abc import Iterable

from tunbench.journal.events import JournalEvent, PhaseBegan, ShardEnded

BOOTS_ITS_CLOCK = "vm"
"""The kind of lab whose clock begins with the boot of each shard; that of hosts has been running long before."""


def durations(events: Iterable[JournalEvent], lab: str) -> dict[str, float]:
    """Seconds of the lab's time in each phase, over all shards.

    Where the clock does not begin with the boot, what of a shard's wall clock is in none of its phases is counted so.
    """
    since_boot = lab == BOOTS_ITS_CLOCK
    sums: dict[str, float] = {}
    last: dict[str, tuple[str, float]] = {}
    began: dict[str, float] = {}
    for event in events:
        if isinstance(event, PhaseBegan):
            name, since = last.get(event.shard, ("boot", 0.0))
            if event.name == "nodes":
                name, since = "boot", 0.0 if since_boot else event.at
                began[event.shard] = event.at
            sums[name] = sums.get(name, 0.0) + max(0.0, event.at - since)
            last[event.shard] = (event.name, event.at)
        elif isinstance(event, ShardEnded) and event.finished and not since_boot and event.shard in began:
            inside = last[event.shard][1] - began[event.shard]
            sums["boot"] = sums.get("boot", 0.0) + max(0.0, event.wall - inside)
    return sums
