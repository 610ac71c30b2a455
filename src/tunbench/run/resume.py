"""Goes on with a run that was begun, where all that decides its numbers is as it was."""

from pathlib import Path

from tunbench.journal import read
from tunbench.run.manifest import deciding_facts, describe
from tunbench.run.order import Order, RunError, read_order
from tunbench.toolbox import brought_programs


def reopen(folder: Path) -> Order:
    """What a run that was begun is to do.

    Raises RunError, JournalError, PlanError, LabError, ToolError and ImageError.
    """
    head = read.begun(folder)
    text, given = read.plan(folder), head.files
    for name, file in given.items():
        brought_programs.check_known(name, file)
    again = read_order(text, str(folder / "plan.toml"), head.overrides, given)
    now = describe(again)
    for key, name in deciding_facts(again).items():
        if now.get(key) != head.manifest.get(key):
            raise RunError(
                f"the {name} is not the one that {folder} was begun with; begin a new run with: tunbench run"
            )
    return again
