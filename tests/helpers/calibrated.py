"""The tiny study with a calibration: one number calibrates the machine, and the others are predicted."""

from pathlib import Path

from tests.helpers import studies
from tunbench.analysis.study.assessment import Assessment
from tunbench.plan.load import Loaded

CALIBRATION = """
[study.calibration]
table = "throughput"
system = "WireGuard"
condition = "LAN"
machine = "full"
why = "the processor alone is the limit"
"""

STUDY = studies.STUDY.replace(
    '\n[[study.table]]\ntable = "delay"',
    '\n[study.table.link_rate]\n"LAN" = "94.1M"\n"WAN" = "12.5M"\n\n[[study.table]]\ntable = "delay"',
)
"""The study of tunnels, with what the link of its first table carried."""

TEXT = studies.PLAN + STUDY + CALIBRATION + studies.CLAIMS


def loaded(folder: Path, scale: str = "full", text: str = TEXT, reference: str = studies.REFERENCE) -> Loaded:
    """The study at a scale."""
    return studies.loaded(folder, scale, text, reference)


def assessed(folder: Path, scale: str = "full", text: str = TEXT, reference: str = studies.REFERENCE) -> Assessment:
    """What a run says of it."""
    repeats, profiles = (6, ("baseline", "medium")) if scale == "full" else (3, ("baseline",))
    return studies.assessed(studies.found(repeats, profiles), loaded(folder, scale, text, reference))
