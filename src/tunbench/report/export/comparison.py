"""Two runs compared, and what a gate says of it, as JSON can say it; values are in SI units."""

from typing import Any

from tunbench.analysis.compare.compared_cell import worst_first
from tunbench.analysis.compare.gate import GateResult
from tunbench.analysis.compare.runs import LEVEL, RunComparison


def as_json(compared: RunComparison) -> dict[str, Any]:
    """The comparison of two whole runs: that of their cells, and how many trials each lacks."""
    lacking = {"missing_trials_a": compared.lacking[0], "missing_trials_b": compared.lacking[1]}
    return {**cells_as_json(compared), **lacking}


def cells_as_json(compared: RunComparison) -> dict[str, Any]:
    """The comparison of cells, the worst row first."""
    return {
        "identical": compared.identical,
        "level": LEVEL,
        "tests": compared.tests,
        "differences": [one._asdict() for one in compared.differences],
        "rows": [row._asdict() for row in worst_first(compared.rows)],
    }


def gate_as_json(judged: GateResult, compared: RunComparison) -> dict[str, Any]:
    """What the gate says, and the comparison that it is said of: each row with its outcome."""
    about = {
        "passes": judged.passes,
        "tolerance": judged.tolerance,
        "strict": judged.strict,
        "counts": judged.counts,
        "missing_trials": compared.lacking[1],
    }
    rows = [{**one.row._asdict(), "outcome": one.outcome, "reason": one.why} for one in judged.cells]
    return {**about, **as_json(compared), "rows": rows}
