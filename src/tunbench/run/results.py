"""What a run leaves besides its journal, and is derived from it: the manifest, the samples and the report."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tunbench.journal import files
from tunbench.journal.folders import resume_command
from tunbench.journal.read import MANIFEST
from tunbench.journal.readers.registry import record_of
from tunbench.run.order import RunError

if TYPE_CHECKING:
    from tunbench.analysis.run_analysis import RunAnalysis

Report = TypeVar("Report")


def finish(folder: Path, write_report: Callable[["RunAnalysis"], Report]) -> Report:
    """Derives everything else from the journal: manifest.json, samples.parquet, and the report of what it found.

    Reports stand above runs, so that whoever calls this hands in what writes one. Raises JournalError and RunError.
    """
    # polars takes a second to import, and whoever only executes does not need it.
    from tunbench.analysis.run_analysis import analyse
    from tunbench.analysis.samples import every_sample

    record = record_of(folder)
    try:
        files.write(folder / MANIFEST, json.dumps(record.manifest, indent=1, sort_keys=True) + "\n")
        packed = io.BytesIO()
        every_sample(record).write_parquet(packed)
        files.write(folder / "samples.parquet", packed.getvalue())
        return write_report(analyse(record))
    except OSError as error:
        raise RunError(
            f"cannot write to {folder}: {error.strerror or error}; the journal is whole. Make room, then: "
            f"{resume_command(folder)}"
        ) from None
