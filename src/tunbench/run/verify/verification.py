"""What came out of executing shards of somebody else's run again: equal to the byte, or what differs."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tunbench.journal import read
from tunbench.journal.folders import label_of_shard
from tunbench.journal.readers.journal import assemble
from tunbench.journal.record import Record
from tunbench.plan.shard import Shard
from tunbench.run.verify.again import AskedShards
from tunbench.run.verify.their_run import TheirRun
from tunbench.run.verify.unequal import UnequalTrial, unequal_trials, with_events


class Verification(NamedTuple):
    """What was executed again of all `total` shards that the run asks for, by their labels, and what differs.

    `interrupted` are those that did not come to their end here, `unfinished` those that did not in the run.
    `changed` says what was changed of the run afterwards.
    """

    run: str
    seed: int
    total: int
    shards: tuple[str, ...]
    unequal: tuple[UnequalTrial, ...]
    interrupted: tuple[str, ...]
    unfinished: tuple[str, ...]
    changed: str

    @property
    def differing(self) -> int:
        """How many shards did not come out equal."""
        return len({one.shard for one in self.unequal}) + len(self.interrupted)

    @property
    def equal(self) -> bool:
        """Whether all that was executed again is equal to the byte, and nothing was changed."""
        return not (self.unequal or self.interrupted or self.changed)


def compared(their: TheirRun, folder: Path, shards: Sequence[Shard], asked: AskedShards, seed: int) -> Verification:
    """What differs of the shards, which were executed again in a folder. Raises JournalError."""
    here = read.events(folder)
    done = read.finished_shards(here)
    whole = [shard for shard in shards if shard.id in done]
    return Verification(
        run=their.name,
        seed=seed,
        total=asked.total,
        shards=tuple(label_of_shard(shard.spec()) for shard in shards),
        unequal=tuple(with_events(unequal_trials(whole, their.events, here), their.folder, folder)),
        interrupted=tuple(label_of_shard(shard.spec()) for shard in shards if shard.id not in done),
        unfinished=tuple(label_of_shard(shard.spec()) for shard in asked.unfinished),
        changed=their.changed,
    )


def of_shards(their: TheirRun, shards: Sequence[Shard]) -> Record:
    """The record of a run as if it had had these shards alone."""
    ids = {shard.id for shard in shards}
    return assemble([event for event in their.events if getattr(event, "shard", None) in (None, *ids)])
