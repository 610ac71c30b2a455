"""Goes on with a run that was begun, where all that decides its numbers is as it was."""

from pathlib import Path

from tunbench.journal import read
from tunbench.journal.folders import resume_command
from tunbench.labs.image import ImageError
from tunbench.plan.cache_folder import cache
from tunbench.run import given_plugins
from tunbench.run.manifest import CACHED_FACTS, deciding_facts, describe
from tunbench.run.order import Order, RunError, read_order
from tunbench.toolbox import brought_programs


def reopen(folder: Path) -> Order:
    """What a run that was begun is to do.

    Raises RunError, JournalError, PlanError, LabError, ToolError and ImageError.
    """
    head = read.begun(folder)
    given_plugins.check(head.manifest, str(folder), resume_command(folder))
    text, given = read.plan(folder), head.files
    for name, file in given.items():
        brought_programs.check_known(name, file)
    again = read_order(text, str(folder / "plan.toml"), head.overrides, given)
    again = again._replace(lab=again.lab.with_plugins(given_plugins.of_run(head.manifest)))
    try:
        now = describe(again)
    except ImageError as error:
        raise ImageError(f"{error}. {_where_else()}") from None
    for key, name in deciding_facts(again).items():
        if now.get(key) != head.manifest.get(key):
            cached = f"{_where_else()}; else " if key in CACHED_FACTS else ""
            raise RunError(
                f"the {name} is not the one that {folder} was begun with; {cached}begin a new run with: tunbench run"
            )
    return again


def _where_else() -> str:
    """Where an image or tool may be that is not the one that a run was begun with, and how to name the place."""
    return f"this cache is {cache()}: if the run was begun with another one, name it with XDG_CACHE_HOME"
