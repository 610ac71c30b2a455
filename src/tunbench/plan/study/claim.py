"""The claims of a plan: sentences of a text, and the comparisons of cells that test them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tunbench.plan.study.cell import CELL_EXAMPLE, Cell, Expected, read_cell, read_expected
from tunbench.plan.study.publication import check_names
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.plan.toml.tables import Key, alone, read_list, read_table, unknown_in
from tunbench.plan.toml.values import matching, read_text

CLAIM_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Comparison:
    """What is expected of `left`, or of its ratio to `right`, which has what left has where it says nothing else."""

    left: Cell
    right: Cell | None
    expect: Expected

    @property
    def cells(self) -> dict[str, Cell]:
        """Each side by its key, as far as it is written."""
        return {"left": self.left, **({} if self.right is None else {"right": {**self.left, **self.right}})}


@dataclass(frozen=True)
class StudyClaim:
    """A sentence of a text, and how it is tested; or why it is not."""

    name: str
    text: str
    source: str
    compare: Sequence[Comparison]
    not_testable: str | None


def read_claims(value: object) -> list[StudyClaim]:
    """The claims of a list of tables, each with a name of its own. Raises ValueError, MistakeAt and Mistakes."""
    claims = read_list(value, read_claim, CLAIM_EXAMPLE)
    check_names("claim", [one.name for one in claims])
    return claims


def read_claim(value: object) -> StudyClaim:
    """The claim of a table. Raises ValueError and Mistakes."""
    claim = StudyClaim(**read_table(value, CLAIM_KEYS, CLAIM_EXAMPLE, unknown_in("claim", CLAIM_KEYS)))
    if bool(claim.compare) == bool(claim.not_testable):
        both = "has both compare and not_testable: take one of them away"
        neither = f"has no comparison: write {COMPARE_EXAMPLE}, or not_testable and why"
        raise ValueError(f'the claim "{claim.name}" {both if claim.compare else neither}')
    return claim


def read_comparison(value: object) -> Comparison:
    """The comparison of a table. Raises ValueError and Mistakes."""
    unknown = unknown_in("claim.compare", COMPARISON_KEYS)
    comparison = Comparison(**read_table(value, COMPARISON_KEYS, COMPARE_EXAMPLE, unknown))
    if comparison.expect.equal and comparison.right is None:
        raise MistakeAt(f'"{comparison.expect.text}" is about two cells: name right, or write "0.9..1.1"', "expect")
    if comparison.right is not None and "verdict" in {**comparison.left, **comparison.right}:
        raise MistakeAt("the share of a verdict is compared with a number alone: take right away", "right")
    return comparison


CLAIM_EXAMPLE = '[[claim]] and below it name = "ipip-before-gre"'
COMPARE_EXAMPLE = 'compare = [{ left = { stack = "ipip" }, right = { stack = "gre" }, expect = "> 1" }]'

COMPARISON_KEYS = {
    "left": Key(f"left = {CELL_EXAMPLE}", alone(read_cell)),
    "right": Key(f"right = {CELL_EXAMPLE}", alone(read_cell), lambda: None),
    "expect": Key('expect = "> 1"', alone(read_expected)),
}

CLAIM_KEYS = {
    "name": Key(
        'name = "ipip-before-gre"',
        alone(matching(CLAIM_NAME, "not a name: write lower-case letters, digits and -")),
    ),
    "text": Key('text = "IPIP carries more than GRE."', alone(read_text)),
    "source": Key('source = "Results, first table"', alone(read_text)),
    "compare": Key(COMPARE_EXAMPLE, lambda value, _: read_list(value, read_comparison, COMPARE_EXAMPLE), list),
    "not_testable": Key('not_testable = "one virtual core has no second one"', alone(read_text), lambda: None),
}
