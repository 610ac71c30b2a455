"""Measures what stacks add to a packet: a small plan, and what came out of it beside what is computed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tunbench.analysis import overhead
from tunbench.analysis.overhead import OverheadCheck, Sizes
from tunbench.journal.readers.registry import record_of
from tunbench.journal.record import Record
from tunbench.plan import load
from tunbench.plan.load import Loaded
from tunbench.plan.toml import positions

PAYLOADS = (16, 64, 256, 512, 1024)
"""Bytes of payload of the echo requests, besides the one that fills the MTU."""

NAME = "overhead"
"""The plan's name, and how its run's folder ends."""

OPTIONS: Mapping[positions.Path, str] = {("stacks",): "STACKS"}
"""What the keys of the plan were made of."""


def plan(stacks: Sequence[str], payloads: Sequence[int]) -> str:
    """The text of a plan that measures the stacks."""
    return f'name = "{NAME}"\nstacks = {json.dumps(stacks)}\nworkloads = {json.dumps(overhead.workloads(payloads))}\n'


def loaded(text: str) -> Loaded:
    """The plan that was made. Raises PlanError, which names arguments: whoever names stacks has written no file."""
    return load.read(text, Path(f"{NAME}.toml"), options=OPTIONS)


def checks(folder: Path, stacks: Sequence[str], payloads: Sequence[int]) -> list[OverheadCheck]:
    """What a run of that plan found. Raises JournalError."""
    record = record_of(folder)
    measured = dict(_measured(folder, record))
    return [overhead.check(record, measured, stack, payloads) for stack in stacks]


def _measured(folder: Path, record: Record) -> Iterable[tuple[tuple[str, str], Sizes]]:
    for trial in record.trials:
        if trial.rows and trial.cell["workload"].startswith(overhead.OVERHEAD_WORKLOAD):
            measured = json.loads((folder / trial.folder / "overhead.json").read_text())
            yield (
                (trial.cell["stack"], trial.cell["workload"]),
                Sizes(measured["packet"], tuple(measured["below"]), tuple(measured.get("pieces", ()))),
            )
