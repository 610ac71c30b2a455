"""What a gate found, as GitHub-flavoured Markdown: for a pull request, or the summary page of a workflow."""

from collections.abc import Sequence

from tunbench.analysis.compare.gate import GatedCell, GateResult
from tunbench.analysis.compare.runs import RunComparison
from tunbench.report import change_wording as wording

HEAD = ("stack", "condition", "workload", "metric", "base", "new", "change [low, high]", "p", "outcome")

MAX_ROWS = 50
"""Rows of a table; GitHub cuts a summary at 1 MiB."""

QUOTE = "'"
"""What stands for the mark of code."""

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "\\|*_~[]"},
    **{"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": QUOTE},
}
"""What stands for signs that Markdown or HTML takes for its own."""


def markdown(judged: GateResult, compared: RunComparison) -> str:
    """The whole summary: the verdict, what stops the run, what is undecided, and what differs of the runs."""
    parts = [f"## Tunbench: {'passed' if judged.passes else 'not passed'}", wording.of_gate(judged)]
    if judged.stopping:
        parts += ["### What stops it", _table(judged.stopping)]
    if judged.undecided and not judged.strict:
        parts += [_details(f"Undecided: {wording.cells(len(judged.undecided))}", _table(judged.undecided))]
    if compared.differences:
        lines = "\n".join(f"- {_escaped(line)}" for line in wording.differing(compared))
        parts += [_details("What differs of the runs", lines)]
    if not judged.identical:
        parts += [f"<sub>{_escaped(wording.method(compared))}.</sub>"]
    return "\n\n".join(parts) + "\n"


def _table(cells: Sequence[GatedCell]) -> str:
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * 4}{'---:|' * 4}---|"]
    for one in cells[:MAX_ROWS]:
        row = one.row
        fields = (
            _code(row.stack),
            *(_escaped(text) for text in (row.condition, row.workload, wording.metric_label(row))),
            *(
                wording.median(row, "a"),
                wording.median(row, "b"),
                wording.change(row),
                wording.p_value(row),
            ),
            _escaped(f"{one.outcome}: {one.why}" if one.why else one.outcome),
        )
        lines.append(f"| {' | '.join(fields)} |")
    more = [f"\nand {len(cells) - MAX_ROWS} more"] if len(cells) > MAX_ROWS else []
    return "\n".join([*lines, *more])


def _details(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _escaped(text: str) -> str:
    """The text without what Markdown or HTML would make something of, on one line."""
    return "".join(SPECIAL.get(sign, sign) for sign in wording.reason(text))


def _code(text: str) -> str:
    """The text as code, in which nothing is escaped but what parts the cells of a table."""
    return f"`{wording.reason(text).replace('`', QUOTE).replace('|', SPECIAL['|'])}`"
