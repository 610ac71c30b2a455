"""What of somebody else's run is executed again: a seeded choice of its shards, as an order of this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from tunbench.journal.events import ShardStarted
from tunbench.journal.folders import label_of_shard
from tunbench.journal.written_by import written_by
from tunbench.labs import payload
from tunbench.labs import registry as labs
from tunbench.labs.extras import extras_of, programs_of
from tunbench.plain_text import line
from tunbench.plan import load
from tunbench.plan.expand import digest_of_shards, expand
from tunbench.plan.load import Loaded, PlanError
from tunbench.plan.model import AUTO, LAB_CLOCKS, LabChoice
from tunbench.plan.shard import Shard, canonical
from tunbench.run import given_plugins
from tunbench.run.blocks import Schedule
from tunbench.run.order import Order, RunError
from tunbench.run.verify.archive import MEND, PLAN
from tunbench.run.verify.their_run import TheirRun, command, unverifiable
from tunbench.toolbox import brought_programs
from tunbench.toolbox.selection import ToolboxNeeds, at_hand


class AskedShards(NamedTuple):
    """The shards that a run asks for: those that came to their end, and those that did not, which measured nothing."""

    finished: list[Shard]
    unfinished: list[Shard]

    @property
    def total(self) -> int:
        """How many they are together."""
        return len(self.finished) + len(self.unfinished)


def check_runner(their: TheirRun) -> None:
    """Raises RunError where the run was measured by another runner: its numbers and these would not mean the same."""
    if their.head.manifest.get("runner") == payload.digest():
        return
    raise RunError(
        f"{their.name} was measured by another runner than that of this Tunbench, whose numbers mean something else; "
        f"verify it with the one that it is from: {written_by(their.head.manifest)}"
    )


def check_lab(their: TheirRun) -> None:
    """Raises RunError where the run is from a lab that is not known here."""
    kind, clock = (line(str(their.head.manifest["lab"][key]), 100) for key in ("kind", "clock"))
    if clock not in LAB_CLOCKS.get(kind, ()):
        raise RunError(
            f"{their.name} is from a lab that this version does not have, {kind} ({clock}); verify it with the "
            "Tunbench that it is from"
        )


def loaded_plan(their: TheirRun) -> Loaded:
    """The plan of a run in the lab where it was run, whose published numbers are not needed.

    Raises RunError.
    """
    # Of a study, the shards alone are executed again: no file beside the plan is looked for.
    try:
        loaded = load.read(their.plan, Path(their.name) / PLAN, their.head.overrides)._replace(study=None)
    except PlanError as error:
        raise RunError(
            f"{their.name} was not begun like this: its plan, or an option that its journal names, is not sound; "
            f"{MEND}\n"
            f"{error}"
        ) from None
    lab = their.head.manifest["lab"]
    kind, clock = lab["kind"], lab["clock"]
    if loaded.plan.lab.kind == AUTO:
        loaded = loaded.in_lab(kind, clock)
    if loaded.plan.lab != LabChoice(kind, clock):
        raise RunError(f"{their.name}: {PLAN} asks for another lab than its manifest names; one was changed; {MEND}")
    return loaded


def asked_shards(their: TheirRun, loaded: Loaded) -> AskedShards:
    """The shards that a run asks for.

    Raises RunError where its plan does not ask for what was executed, or where something counts that nobody can verify.
    """
    first = expand(loaded.plan)
    if digest_of_shards(loaded.plan, first) != their.head.manifest.get("shards"):
        raise RunError(
            f"{their.name}: {PLAN} does not ask for the shards that its manifest names; one of them was changed, or it "
            f"is from another version of Tunbench; {MEND}"
        )
    schedule = Schedule(loaded.plan, first, their.events)
    asked = {shard.id: shard for group in schedule.groups.values() for shard in group}
    for event in their.events:
        # A trial is one of its shard, which has started: that is settled where a journal is read.
        if isinstance(event, ShardStarted) and not _is_asked(event, asked.get(event.shard)):
            what = line(label_of_shard(event.spec), 200)
            raise RunError(
                f"{their.name}: its journal has {what}, which {PLAN} does not ask for; one of them was changed; {MEND}"
            )
    found = AskedShards(
        [shard for id, shard in asked.items() if id in schedule.done],
        [shard for id, shard in asked.items() if id not in schedule.done],
    )
    if not found.finished:
        raise RunError(f"{their.name} has no shard that came to its end; there is nothing to verify")
    _check_unfinished(their, found)
    # Answers follow from samples; where those were changed, that is told.
    if schedule.changed and not their.changed:
        raise RunError(
            f"{their.name}: its journal says otherwise than its samples, {line(schedule.changed[0], 300)}; one of them "
            f"was changed; {MEND}"
        )
    return found


def _check_unfinished(their: TheirRun, asked: AskedShards) -> None:
    """Raises RunError where a shard without its end has trials."""
    if counting := unverifiable(their.events, f"its {asked.total} shards"):
        raise RunError(
            f"{their.name}: {counting}. Its author goes on with it by tunbench run --resume, and packs it anew, with: "
            "tunbench pack RUN FILE"
        )


def _is_asked(event: ShardStarted, shard: Shard | None) -> bool:
    """Whether a plan asks for what was executed, given its shard of that id."""
    return shard is not None and canonical(event.spec) == canonical(shard.spec())


def choose(shards: Sequence[Shard], count: int | None, seed: int) -> list[Shard]:
    """So many of the shards, or all, in their order. The choice follows from the seed and the shards alone."""
    if count is None or count >= len(shards):
        return list(shards)
    drawn = Random(f"{seed}-verify").sample(sorted(shard.id for shard in shards), count)
    return [shard for shard in shards if shard.id in drawn]


def order_of(their: TheirRun, loaded: Loaded, shards: Sequence[Shard], given: Mapping[str, str]) -> Order:
    """The shards as an order of this machine, with the tools and brought programs that the run had, and no others.

    Raises RunError, ToolError and ImageError.
    """
    needs = needs_of(their, shards, given)
    lab = labs.lab(loaded.plan.lab.kind, loaded.plan.lab.clock)
    lab = lab.with_extras(at_hand(needs)).with_plugins(given_plugins.of_run(their.head.manifest))
    # What is asked for is these shards, whatever they measure.
    alone = loaded._replace(plan=replace(loaded.plan, until=None))
    return Order(alone, shards, lab, their.head.overrides, toolbox=needs)


def needs_of(their: TheirRun, shards: Sequence[Shard], given: Mapping[str, str]) -> ToolboxNeeds:
    """What the shards need of the toolbox, of what their run had. Raises RunError and ToolError."""
    declared = {extra for shard in shards for one in shard.needing for extra in extras_of(one)}
    had = {kind: their.head.manifest.get(kind) or {} for kind in ("tools", "brought")}
    tools = tuple(sorted(name for kind, name in declared if kind == "tools" and name in had["tools"]))
    programs = {name for shard in shards for one in shard.needing for name in programs_of(one)}
    names = {*programs, *(name for kind, name in declared if kind == "brought")}
    brought = names.intersection(had["brought"])
    found = brought_programs.files_at_hand(brought, given)
    for name in sorted(brought - found.keys()):
        raise RunError(
            f"{their.name} needs {name}{_which(had['brought'][name])}, which its author brought. No program is taken "
            f"from a run: bring the same one with: {command(their, f'--tool {name}=FILE')}"
        )
    return ToolboxNeeds(tools, {name: found[name] for name in sorted(brought)}, tuple(sorted(given.keys() - brought)))


def _which(told: object) -> str:
    """The version and SHA-256 of a brought program, as a stranger tells them."""
    if not isinstance(told, dict):
        return ""
    return f" {line(str(told.get('version')), 40)} (SHA-256 {line(str(told.get('sha256')), 64)})"
