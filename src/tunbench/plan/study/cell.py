"""What a claim or a table says of cells: which one it means, and what is expected of it."""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tunbench.plan.axes.link import MAX_MTU_BYTES
from tunbench.plan.axes.stack import read_stack
from tunbench.plan.axes.workload import read_workload
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.values import read_text
from tunbench.runner.declare import axes
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.verdicts import Verdict

METRIC = "throughput"
"""The metric of a cell that names none."""

SPREAD = "spread"
"""The largest of what a trial measured at several pairs and nodes, divided by the smallest."""

OF_SERIES = ("mean", "max", "sd")
"""What a claim or a table may ask of a trial's series besides its quantiles; reports of a run do not show it."""

SUM = "sum"
"""The sum of what a trial measured at several pairs and nodes, such as of all streams at once."""

OVER_PLACES = (SPREAD, SUM)

STATISTICS = ("value", "median", "p95", "p99", *OF_SERIES, *OVER_PLACES)
"""What a trial gives: one value, quantiles of its series, and more for those who name it."""

VERDICTS = (Verdict.OK, Verdict.FAILED)
"""The verdicts of which a claim may ask the share: of all trials but those that are unsupported."""

MARGINS = (0.001, 1.0)
"""The least and the largest margin within which two are called equal."""

CELL_KEYS = (*axes.NAMES, "metric", "statistic", "node", "pair", "verdict")
"""What a cell of a claim or a table can say."""

OF_A_METRIC = ("metric", "statistic", "node", "pair")
"""The keys that say which number of a trial is meant."""

CELL_EXAMPLE = '{ stack = "ipip", workload = "iperf2-tcp:duration=2" }'

EXPECT_EXAMPLES = '"> 1", "<= 0.5", "0.9..1.1" or "equal within 5%"'

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
EXPECTED = re.compile(
    rf"\s*(?:(?P<sign>[<>]=?)\s*(?P<bound>{NUMBER})|(?P<low>{NUMBER})\s*\.\.\s*(?P<high>{NUMBER}))\s*"
)


EQUAL = re.compile(rf"\s*equal\s+within\s+(?P<margin>{NUMBER})\s*%\s*")


class Expected(NamedTuple):
    """What a comparison is expected to yield: a number between two bounds, which may be infinite.

    With `strict` the bounds themselves are outside. With `equal` it is that two are equal, each at most so much more
    than the other as a margin allows; and not that their ratio is between two bounds that a text has named.
    """

    text: str
    low: float
    high: float
    strict: bool = False
    equal: bool = False

    def above(self, value: float) -> bool:
        """Whether a value is too large."""
        return value > self.high or (self.strict and value == self.high < math.inf)

    def below(self, value: float) -> bool:
        """Whether a value is too small."""
        return value < self.low or (self.strict and value == self.low > -math.inf)


Cell = Mapping[str, str]
"""Some of CELL_KEYS with what they are."""


def read_expected(value: object) -> Expected:
    """What `> 1`, `<= 0.5`, `0.9..1.1` or `equal within 5%` expects. Raises ValueError."""
    if isinstance(value, str) and (equal := EQUAL.fullmatch(value)):
        return _equal(value.strip(), float(equal["margin"]) / 100)
    found = EXPECTED.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError(f"{quoted(value)} is no expectation: write for example {EXPECT_EXAMPLES}")
    text = found[0].strip()
    if found["sign"]:
        bound, strict = float(found["bound"]), not found["sign"].endswith("=")
        ends = (bound, math.inf) if found["sign"][0] == ">" else (-math.inf, bound)
        return Expected(text, *ends, strict)
    low, high = float(found["low"]), float(found["high"])
    if low > high:
        raise ValueError(f'"{text}" holds no number: write the smaller bound first')
    return Expected(text, low, high)


def _equal(text: str, margin: float) -> Expected:
    """That two are equal within a margin: neither is more than 1 + margin times the other. Raises ValueError."""
    low, high = MARGINS
    if not low <= margin <= high:
        raise ValueError(f'"{text}" is out of range: allowed is {100 * low:g} to {100 * high:g} %')
    return Expected(text, 1 / (1 + margin), 1 + margin, equal=True)


def read_cell(value: object) -> Cell:
    """A cell, with stack and workload in their canonical spelling. Raises MistakeAt."""
    if not isinstance(value, dict):
        raise ValueError(f"{quoted(value)} is not a table: write for example {CELL_EXAMPLE}")
    cell = {}
    for key, one in value.items():
        if key not in CELL_KEYS:
            raise MistakeAt(f'unknown key "{key}"{nearest(key, list(CELL_KEYS))}', key)
        try:
            cell[key] = READERS.get(key, read_text)(one)
        except ValueError as error:
            raise MistakeAt(str(error), key) from None
    if "verdict" in cell and (more := next((key for key in OF_A_METRIC if key in cell), None)):
        raise MistakeAt("the share of trials with a verdict is no metric: take one of both away", more)
    return cell


def read_verdict(value: object) -> str:
    """One of VERDICTS. Raises ValueError."""
    if value not in VERDICTS:
        raise ValueError(f"{quoted(value)} is no verdict whose share is asked{nearest(str(value), list(VERDICTS))}")
    return str(value)


def read_statistic(value: object) -> str:
    """One of STATISTICS. Raises ValueError."""
    if value not in STATISTICS:
        raise ValueError(f"unknown statistic {quoted(value)}{nearest(str(value), list(STATISTICS))}")
    return str(value)


def read_stack_name(value: object) -> str:
    """The canonical spelling of a stack, which may fit over some links alone: the plan's are known where it has it.

    Raises ValueError.
    """
    return read_stack(value, MAX_MTU_BYTES).name


def read_workload_or_up(value: object) -> str:
    """The canonical spelling of a workload, or BRING_UP. Raises ValueError."""
    return BRING_UP if value == BRING_UP else read_workload(value).name


READERS: dict[str, Callable[[object], str]] = {
    "stack": read_stack_name,
    "workload": read_workload_or_up,
    "statistic": read_statistic,
    "verdict": read_verdict,
}
"""How the keys of a cell are read that are more than a text."""
