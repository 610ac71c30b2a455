"""Whether the cells that a study's tables and claims name are cells of its plan."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from tunbench.plan.axes import machine
from tunbench.plan.model import Plan
from tunbench.plan.scales import FULL
from tunbench.plan.study.calibration import Calibration, table_of
from tunbench.plan.study.cell import Cell
from tunbench.plan.study.claim import StudyClaim
from tunbench.plan.study.grid import Grid, NoCell, grid, resolve
from tunbench.plan.study.publication import Study
from tunbench.plan.study.published_table import PublishedTable
from tunbench.plan.toml.bounds import MAX_MISTAKES_OF_SCALE
from tunbench.plan.toml.mistakes import Mistake, MistakeAt
from tunbench.plan.toml.positions import Path
from tunbench.runner.declare.options import nearest


def mistakes(study: Study | None, claims: Sequence[StudyClaim], plans: Mapping[str, Plan]) -> list[Mistake]:
    """What is wrong with the cells of tables and claims; `plans` has the plan of each scale.

    Each must be one cell of the full plan. At another scale it may be missing, but not be several.
    """
    if not claims and not study:
        return []
    found: list[Mistake] = []
    for scale, plan in plans.items():
        of = grid(plan)
        more = chain(_of_claims(claims, of), _of_study(study, of) if study else ())
        found += islice((one for one in more if scale == FULL or not one.absence), MAX_MISTAKES_OF_SCALE)
    return list(dict.fromkeys(found))


def left_out(claims: Sequence[StudyClaim], plan: Plan) -> dict[str, int]:
    """How many comparisons of each claim name a cell that this plan does not have, by the claim's name."""
    of = grid(plan)
    return {
        claim.name: sum(
            any(one.absence for cell in each.cells.values() for one in _tried(cell, of, (), {}))
            for each in claim.compare
        )
        for claim in claims
    }


def _of_claims(claims: Sequence[StudyClaim], of: Grid) -> Iterator[Mistake]:
    for number, claim in enumerate(claims):
        for place, comparison in enumerate(claim.compare):
            tables: dict[str, Path] = {}
            for side, cell in comparison.cells.items():
                at: Path = ("claim", number, "compare", place, side)
                tables |= dict.fromkeys(getattr(comparison, side), at)
                wrong = list(_tried(cell, of, at, tables))
                yield from wrong
                if wrong:
                    # What is wrong with left would be told again of right, which has what left has.
                    break


def _of_study(study: Study, of: Grid) -> Iterator[Mistake]:
    for number, table in enumerate(study.table):
        for name in table.conditions:
            yield from _of_condition(study, table, name, ("study", "table", number), of)
    if study.calibration:
        yield from _of_calibration(study, study.calibration, of)
    for number, clustering in enumerate(study.clustering):
        at: Path = ("study", "clustering", number, "cell")
        for name, stack in study.systems.items():
            cell = {**clustering.cell, "stack": stack}
            yield from _tried(cell, of, at, {**dict.fromkeys(cell, at), "stack": ("study", "systems", name)})


def _of_condition(study: Study, table: PublishedTable, name: str, at: Path, of: Grid) -> Iterator[Mistake]:
    """The plan may leave some systems out under a condition, but not all of them."""
    condition = table.conditions[name]
    tables = {**dict.fromkeys(table.cell, (*at, "cell")), **dict.fromkeys(condition, (*at, "conditions", name))}
    owner: Path = ("study",) if table.systems is None else at
    left_out = []
    for system, stack in study.systems_of(table).items():
        cell: Cell = {**table.cell, **condition, "stack": stack}
        wrong = list(_tried(cell, of, (*at, "conditions", name), {**tables, "stack": (*owner, "systems", system)}))
        # An absence without a key of its own is one that cuts have made.
        left_out += [one for one in wrong if one.absence and one.path == (*at, "conditions", name)]
        yield from (one for one in wrong if one not in left_out)
        if any(not one.absence for one in wrong):
            break
    if len(left_out) == len(study.systems_of(table)):
        yield left_out[0]._replace(sentence="the plan has cells of it with none of the table's systems")


def _of_calibration(study: Study, calibration: Calibration, of: Grid) -> Iterator[Mistake]:
    """The plan may leave a system of a table out, but not the one that calibrates its machine."""
    table, at = study.table[table_of(calibration, study.table)], ("study", "calibration")
    cell = {
        **table.cell,
        **table.conditions[calibration.condition],
        "stack": study.systems_of(table)[calibration.system],
    }
    yield from (one._replace(path=at) for one in _tried(cell, of, at, {}) if one.absence)
    # Where what it names is not what the plan has, a report says that its machine is not the calibrated one.
    known = [*of.values["machine"], *machine.shipped()]
    if calibration.machine not in known:
        sentence = f'"{calibration.machine}" is no machine of this plan, and no shipped one'
        yield Mistake((*at, "machine"), f"{sentence}{nearest(calibration.machine, known)}")


def _tried(cell: Cell, of: Grid, at: Path, tables: Mapping[str, Path]) -> Iterator[Mistake]:
    """What is wrong with a cell that stands `at` a path; `tables` are the paths of those that have its keys."""
    try:
        resolve(cell, of)
    except MistakeAt as error:
        key = next((str(one) for one in error.at), "")
        table = tables.get(key, at)
        # A system is a key itself: its stack stands at its name.
        path = table if not key or "systems" in table else (*table, key)
        yield Mistake(path, str(error), absence=isinstance(error, NoCell))
