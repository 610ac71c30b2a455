"""Whether a file arrived as it was sent, by what sha256sum prints of both."""

import re

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS

SUM = re.compile(r"^([0-9a-f]{64})  /\S+$", re.ASCII | re.MULTILINE)


def read(sums: str) -> tuple[str, str]:
    """The sums of what was sent and of what arrived, as sha256sum printed them. Raises WorkloadFailed."""
    found = SUM.findall(sums)
    if len(found) != 2 or len(sums.splitlines()) != 2:
        raise WorkloadFailed(f"sha256sum did not print two sums: {sums[-LAST_WORDS:]!r}")
    return found[0], found[1]


def consistent(sums: tuple[str, str]) -> None:
    """Raises WorkloadFailed where another file arrived than was sent."""
    sent, arrived = sums
    if sent != arrived:
        raise WorkloadFailed("the file that arrived is not the one that was sent")
