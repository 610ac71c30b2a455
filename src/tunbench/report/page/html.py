"""The report: one HTML file that needs nothing else, and asks nothing of any network."""

import base64
import hashlib
from pathlib import Path

from markupsafe import Markup

from tunbench.journal import files
from tunbench.report import palette
from tunbench.report.charts.canvas import chart_css
from tunbench.report.page import body, template
from tunbench.report.page.filters import choices
from tunbench.report.page.run_facts import plan_name
from tunbench.report.reported_run import ReportedRun
from tunbench.report.view import View, side_by_side

TEMPLATE = "report.html.j2"


def write(run: ReportedRun, path: Path) -> None:
    """Writes the report of a run to a file in its folder. Raises OSError where that cannot be."""
    files.write(path, page(side_by_side([run])))


def page(view: View) -> str:
    """The page of runs as HTML."""
    script = Markup(template.text("page.js"))
    return template.template(TEMPLATE).render(
        title=" and ".join(dict.fromkeys(plan_name(run.record) for run in view.runs)),
        parts=body.parts(view),
        filters=choices(view),
        script=script,
        script_hash=_sha256(script),
        style=Markup(palette.css() + chart_css() + template.text("style.css")),
    )


def _sha256(script: str) -> str:
    """The hash by which the page's content security policy lets its own script run, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
