"""Why a cell that was measured has no ratio to `none`."""

from collections.abc import Iterable

from tunbench.analysis.ratios import underlay
from tunbench.analysis.run_analysis import RunAnalysis, verdict_of
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.declare.verdicts import Verdict

NO_NONE = "the plan has no stack none"
"""Why there is no ratio at all in a run."""


def reason(analysis: RunAnalysis, stack: str, condition: str, workload: str, metric: str) -> str:
    """Why a stack's metric has no ratio to `none` in a condition, in words."""
    if condition in analysis.not_comparable:
        return "bundles of packets were lost as one packet each: stacks were not judged alike"
    bare = analysis.bare.get(underlay(stack))
    if not analysis.bare:
        return f"the run has no stack {BARE} to compare with"
    if not underlay(stack) or bare is None:
        return "the stack none was not run on the same kind of underlay" if analysis.bare else NO_NONE
    verdict = verdict_of(analysis, bare, condition, workload)
    if verdict in (Verdict.FAILED, Verdict.UNSUPPORTED):
        return f"the stack {bare} {'failed' if verdict == 'failed' else 'was unsupported'}"
    if verdict != Verdict.OK:
        return f"the stack {bare} was not run" if verdict == "not run" else f"of the stack {bare}, {verdict}"
    values = analysis.measured_bare.get((bare, condition, workload, metric))
    if not values:
        return f"the stack {bare} has no value of it"
    return f"the stack {bare} is 0 in a trial" if 0 in values else "a value is below 0"


def reasons_with_conditions(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Reasons with the conditions that each is of, such as `the stack none failed (high, low)`."""
    found: dict[str, dict[str, None]] = {}
    for reason, condition in reasons:
        found.setdefault(reason, {})[condition] = None
    return [f"{reason} ({', '.join(conditions)})" for reason, conditions in found.items()]
