"""How the growth of a metric with the number of nodes is named, in charts and in tables."""

from tunbench.analysis.growth import Growth, growths
from tunbench.report import units
from tunbench.report.view import View


def of_runs(view: View) -> list[tuple[str, Growth]]:
    """What grows in each run, with the run's label."""
    return [(label, one) for label, run in zip(view.labels, view.runs, strict=True) for one in growths(run.values)]


def named(view: View, run: str, one: Growth) -> str:
    """The stack, and of several runs the one in which it grows."""
    return f"{one.stack} · {run}" if view.several else one.stack


def exponent(one: Growth) -> str:
    """The exponent with its interval, such as `n^1.02 [0.98, 1.07]`, or that there is none."""
    if one.exponent is None or one.low is None or one.high is None:
        return "no exponent"
    middle, low, high = (decimals(value) for value in (one.exponent, one.low, one.high))
    return f"n^{middle} [{low}, {high}]"


def decimals(value: float | None) -> str:
    """A number with two decimals; what rounds to nothing has no sign."""
    return "" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", units.MINUS)
