"""The publications that Tunbench reproduces, as JSON can say them: how much each holds, and what each scale takes."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from tunbench.plan.estimate.duration import default_workers
from tunbench.plan.estimate.host_pace import estimate
from tunbench.plan.expand import expand, trials
from tunbench.plan.extent import in_words
from tunbench.plan.load import Loaded, PlanError
from tunbench.plan.study.publication import Study


class Numbers(NamedTuple):
    """How many numbers of a published table there are, and how many cannot be read or were never measured."""

    published: int
    illegible: int


def as_json(name: str, loaded: Loaded) -> dict[str, Any]:
    """A study in a few words, and its scales. Raises PlanError."""
    study, numbers = study_of(loaded), numbers_of(loaded).values()
    return {
        "name": name,
        "title": study.title,
        "year": study.year,
        "scales": scales(loaded),
        "claims": len(loaded.claims),
        "published": sum(one.published for one in numbers),
        "illegible": sum(one.illegible for one in numbers),
        "file": str(loaded.path),
    }


def study_of(loaded: Loaded) -> Study:
    """The publication of a plan. Raises PlanError where it is of none."""
    if loaded.study is None:
        raise PlanError(f"{loaded.path}: this is no study: it has no table [study]; tunbench study list shows them")
    return loaded.study


def numbers_of(loaded: Loaded) -> Mapping[tuple[str, str, str], Numbers]:
    """The numbers of each published table, metric and statistic. Raises PlanError."""
    from tunbench.journal.readers import published

    rows = published.read(loaded)
    every = Counter((row.table, row.metric, row.statistic) for row in rows)
    legible = Counter((row.table, row.metric, row.statistic) for row in rows if row.value is not None)
    return {key: Numbers(legible[key], count - legible[key]) for key, count in every.items()}


def scales(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """The shards, trials and seconds of each scale; the name of the only one is empty."""
    found = {}
    for scale, plan in loaded.plans.items():
        shards, workers = expand(plan), default_workers(plan.lab.clock)
        found[scale if len(loaded.plans) > 1 else ""] = {
            "shards": len(shards),
            "trials": trials(shards),
            "workers": workers,
            "seconds": round(estimate(shards, workers, plan.lab.clock), 1),
            "words": in_words(plan, workers),
        }
    return found
