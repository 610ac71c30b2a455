"""Which shards a run asks for: those of the plan and, with `until`, more of the same, block after block."""

from collections.abc import Iterable, Sequence
from random import Random

from tunbench.journal import read
from tunbench.journal.events import BlockAnswered, JournalEvent, ShardEnded, TrialEnded
from tunbench.journal.folders import label_of_shard
from tunbench.journal.trial_result import trial_result
from tunbench.journal.warnings import first_trials
from tunbench.plan.expand import next_block
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard
from tunbench.plan.until import Until
from tunbench.runner.declare import axes


class Schedule:
    """The shards that a run asks for by group, and what the journal holds of them.

    A group is what has one value of each of axes.SHARD. Without `until` it has the shards of the plan. With
    it, a group whose shards are all done is asked whether its cells are narrow enough, and has another block where
    they are not. The answer depends on samples alone: on no other group, no order and no clock.
    """

    def __init__(self, plan: Plan, shards: Iterable[Shard], events: Sequence[JournalEvent]) -> None:
        self.plan = plan
        self.lab = read.head_of(events).manifest["lab"]
        self.done = read.finished_shards(events)
        self.trials = first_trials(events)
        self.answers = read.answers(events)
        self.groups: dict[str, list[Shard]] = {}
        self.settled: set[str] = set()
        self.unwritten: list[BlockAnswered] = []
        self.changed: list[str] = []
        for shard in shards:
            self.groups.setdefault(shard.group if plan.until else "", []).append(shard)
        for group in self.groups:
            self._settle(group)

    @property
    def asked(self) -> int:
        """How many shards are asked for, with those that are done."""
        return sum(map(len, self.groups.values()))

    def waiting(self) -> list[Shard]:
        """The shards that are asked for and not done, in the order in which they are executed."""
        return self.in_order(shard for group in self.groups.values() for shard in group if shard.id not in self.done)

    def in_order(self, shards: Iterable[Shard]) -> list[Shard]:
        """By repeat, and within a repeat in the plan's order; on the real clock in a random one.

        There the machine drifts, and what always came first would be favoured. The order follows from the plan's seed
        and from each shard alone: it is the same whatever is done already.
        """
        if self.plan.lab.clock == "virtual":
            return sorted(shards, key=lambda shard: shard.repeat)
        return sorted(shards, key=lambda shard: (shard.repeat, Random(f"{self.plan.seed}-order-{shard.id}").random()))

    def possible(self) -> list[Shard]:
        """The shards that may be asked for besides: those of further blocks of all groups that are not settled."""
        if not self.plan.until:
            return []
        found = []
        for name, group in self.groups.items():
            last = group[-1]
            while name not in self.settled and last.repeat < self.plan.until.max:
                found += next_block(last, self.plan.seed)
                last = found[-1]
        return found

    def take(self, shard: Shard, event: JournalEvent | None) -> list[Shard]:
        """Takes an event of a shard. Where it ends a block, that is answered; returns the next block."""
        if not self.plan.until:
            return []
        if isinstance(event, TrialEnded):
            self.trials.setdefault((shard.id, event.workload), event)
        if not (isinstance(event, ShardEnded) and event.finished):
            return []
        self.done.add(shard.id)
        before = len(self.groups[shard.group])
        self._settle(shard.group)
        return self.groups[shard.group][before:]

    def new_answers(self) -> list[BlockAnswered]:
        """The answers that the journal does not have yet, once."""
        new, self.unwritten = self.unwritten, []
        return new

    def _settle(self, group: str) -> None:
        """Answers each block of the group that is whole, and asks for the next one where that is the answer."""
        shards, until = self.groups[group], self.plan.until
        while until and group not in self.settled and all(shard.id in self.done for shard in shards):
            computed = self._answer(shards, until)
            answer = self.answers.get((group, len(shards)))
            if answer is None:
                self.unwritten.append(computed)
            elif (answer.enough, answer.more) != (computed.enough, computed.more):
                self.changed.append(f"{label_of_shard(shards[-1].spec())}: whether more repeats are needed")
            if not (answer or computed).more:
                self.settled.add(group)
            else:
                shards += next_block(shards[-1], self.plan.seed)

    def _answer(self, shards: list[Shard], until: Until) -> BlockAnswered:
        """Whether the cells of a group's shards are narrow enough."""
        # polars takes a second to import, and a plan without `until` does not need it here.
        from tunbench.analysis.samples import good_samples
        from tunbench.analysis.stopping import narrow_enough

        trials = [
            trial_result(self.lab, shard.spec(), self.trials[shard.id, workload.name])
            for shard in shards
            for workload in shard.workloads
            if (shard.id, workload.name) in self.trials
        ]
        found = narrow_enough(good_samples(trials), until)
        goes_on = not found.enough and found.widest is not None and len(shards) < until.max
        more = sum(len(shard.workloads) + 1 for shard in next_block(shards[-1], self.plan.seed)) if goes_on else 0
        cell = {name: value for name, value in shards[0].cell_of("").items() if name in axes.SHARD}
        return BlockAnswered(shards[0].group, cell, len(shards), found.enough, more, found.widest)
