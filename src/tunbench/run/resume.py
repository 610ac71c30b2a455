"""Goes on with a run that was begun, where all that decides its numbers is as it was."""

from contextlib import suppress
from pathlib import Path

from tunbench.journal import read
from tunbench.journal.folders import resume_command
from tunbench.journal.journal import MEND, JournalError
from tunbench.journal.readers.registry import record_of
from tunbench.labs.image import ImageError
from tunbench.plan.cache_folder import cache
from tunbench.run import given_plugins
from tunbench.run.manifest import CACHED_FACTS, deciding_facts, describe
from tunbench.run.order import Order, RunError, read_order
from tunbench.run.verify.their_run import changed_since_its_end
from tunbench.toolbox import brought_programs


def reopen(folder: Path) -> Order:
    """What a run that was begun is to do.

    Raises RunError, JournalError, PlanError, LabError, ToolError and ImageError.
    """
    head = read.begun(folder)
    _check_unchanged(folder)
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


def _check_unchanged(folder: Path) -> None:
    """Raises RunError where a run was changed after its end: to go on would give it the manifest of what was changed.

    A manifest that cannot be read holds no fingerprint, and is written anew.
    """
    with suppress(JournalError):
        if changed := changed_since_its_end(folder, record_of(folder)):
            raise RunError(f"{changed}; {MEND}")


def _where_else() -> str:
    """Where an image or tool may be that is not the one that a run was begun with, and how to name the place."""
    return f"this cache is {cache()}: if the run was begun with another one, name it with XDG_CACHE_HOME"
