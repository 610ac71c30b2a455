"""How much a plan comes to: its shards, trials and wall clock, at least and at most, as data and in words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tunbench.plan.estimate.host_pace import estimate
from tunbench.plan.expand import expand, least, most, trials
from tunbench.plan.load import Loaded
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard
from tunbench.runner.declare import axes


class Extent(NamedTuple):
    """The shards that a plan has at least and at most; without `until` both are those that it expands to."""

    least: Sequence[Shard]
    most: Sequence[Shard]

    @property
    def in_words(self) -> str:
        """How many shards and trials there are."""
        shards = _several(len(self.least), len(self.most), "shard")
        return f"{shards}, {_several(trials(self.least), trials(self.most), 'trial')}"


def extent(plan: Plan) -> Extent:
    """The shards that a plan has at least and at most."""
    if plan.until:
        return Extent(least(plan), most(plan))
    shards = expand(plan)
    return Extent(shards, shards)


def in_words(plan: Plan, workers: int) -> str:
    """How many shards and trials a plan has and how long they take; with `until`, at least and at most."""
    found = extent(plan)
    ends = [found.least, found.most] if plan.until else [found.least]
    times = [duration_in_words(estimate(shards, workers, plan.lab.clock)) for shards in ends]
    side_by_side = "one lab" if workers == 1 else f"{workers} labs side by side"
    return f"{found.in_words}, about {' to '.join(dict.fromkeys(times))} with {side_by_side}"


def as_json(loaded: Loaded, shards: Sequence[Shard], workers: int) -> dict[str, Any]:
    """The expanded plan as JSON can say it; `seconds` is the estimate of wall clock."""
    plan = loaded.plan
    return {
        "name": plan.name,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "lab": plan.lab.kind,
        "clock": plan.lab.clock,
        "workers": workers,
        "seconds": _seconds(plan, shards, workers),
        **({"scale": loaded.scale, "scales": _scales(loaded, workers)} if len(loaded.plans) > 1 else {}),
        "trials": trials(shards),
        "shards": [{"id": shard.id, **shard.spec()} for shard in shards],
        **(_open_end(plan, workers) if plan.until else {}),
    }


def values_of(shards: Sequence[Shard]) -> dict[str, list[str]]:
    """The repeats and the values of each axis that the shards have, in their order."""
    found: dict[str, dict[str, None]] = {axis: {} for axis in ("repeat", *axes.NAMES)}
    for shard in shards:
        found["repeat"][str(shard.repeat)] = None
        for axis, value in shard.values.items():
            found[axis][value.name] = None
        found["workload"].update(dict.fromkeys(one.name for one in shard.workloads))
    return {axis: list(names) for axis, names in found.items()}


def duration_in_words(seconds: float) -> str:
    """Seconds as people say them, such as `4 min 50 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _seconds(plan: Plan, shards: Sequence[Shard], workers: int) -> float:
    return round(estimate(shards, workers, plan.lab.clock), 1)


def _scales(loaded: Loaded, workers: int) -> dict[str, float]:
    return {name: _seconds(plan, expand(plan), workers) for name, plan in loaded.plans.items()}


def _open_end(plan: Plan, workers: int) -> dict[str, Any]:
    """What `until` asks for, and how much the plan may become at most."""
    ends = {
        name: {"seconds": _seconds(plan, shards, workers), "shards": len(shards), "trials": trials(shards)}
        for name, shards in extent(plan)._asdict().items()
    }
    return {"until": plan.until._asdict() if plan.until else None, **ends}


def _several(few: int, many: int, what: str) -> str:
    if few != many:
        return f"{few} to {many} {what}s"
    return f"{few} {what}" if few == 1 else f"{few} {what}s"
