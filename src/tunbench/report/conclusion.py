"""What concludes a run: all that follows from its journal, written to its folder."""

from pathlib import Path

from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.plan.load import Loaded
from tunbench.report.page import html
from tunbench.report.reported_run import ReportedRun, reported_run
from tunbench.run import results

REPORT = "report.html"
"""The report of a run, in its folder."""


def finish(folder: Path, loaded: Loaded | None = None) -> ReportedRun:
    """Writes manifest, samples and report. Raises JournalError and RunError.

    `loaded` is the plan of the run, which else is read again where it is a study.
    """

    def write_report(analysis: RunAnalysis) -> ReportedRun:
        reported = reported_run(analysis, folder, loaded=loaded)
        html.write(reported, folder / REPORT)
        return reported

    return results.finish(folder, write_report)
