"""Reads what `tc -s -j qdisc show` tells of a netem: the terms that the kernel installed, and what it dropped."""

import math
from collections.abc import Mapping
from typing import Any

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.netem_arithmetic import loss_deviation, mean_loss
from tunbench.runner.declare.netem_terms import TERMS, Terms, complete, number
from tunbench.runner.network.netem_command import acts
from tunbench.runner.node.json_output import value_at

ROUNDING = {"duration": 1.5e-6, "ratio": 1e-9}
"""What rounding may change: tc takes and shows whole µs, the kernel keeps 2⁻³²."""

LARGEST_NUMBER = 1e18
"""The largest number of a term: 32 bits of packets, 64 bits of nanoseconds."""

PRINT_PRECISION = 1.1e-5
"""How much printing may change a value, relatively: tc is given six digits, and shows six."""


def read_back(qdisc: Mapping[str, Any]) -> dict[str, float]:
    """The terms that `tc` shows, in SI units: what the kernel made of those that were asked for.

    Raises WorkloadFailed.
    """
    terms = {}
    for name, term in TERMS.items():
        value = value_at(qdisc.get("options", {}), *term.shown) if term.shown else None
        if isinstance(value, int | float):
            if not abs(value) <= LARGEST_NUMBER:
                raise WorkloadFailed(f"tc's JSON has no sound number at {'.'.join(term.shown)}: {value!r:.80}")
            terms[name] = float(value)
    return terms


def deviations(terms: Terms, qdisc: Mapping[str, Any]) -> list[str]:
    """Where what is installed differs from what was asked by more than rounding and printing may change."""
    found, asked = read_back(qdisc), complete(terms) if acts(terms) else {}
    return [
        f"{name}: asked for {number(asked, name):g}, installed is {number(found, name):g}"
        for name, term in TERMS.items()
        if term.shown and not _equal(name, number(asked, name), number(found, name))
    ]


def overflow(terms: Terms, counted: Mapping[str, int]) -> str:
    """What to warn of where netem dropped more than its loss explains; else an empty text.

    By chance it happens once in 6·10⁷ times at most: Bernstein's inequality, P(X − μ ≥ t) ≤ exp(−t² ÷ 2(σ² + t ÷ 3)),
    which holds for few packets too, has the bound exp(−18) at t = 6 + 6·√(1 + σ²). Without loss nothing is by chance.
    """
    dropped, carried = counted["drops"], counted["packets"]
    mean = mean_loss(terms)
    # With a correlation, losses are rarer than asked for where they are less than a half, and else more frequent.
    loss = mean if mean is not None else number(terms, "loss") if number(terms, "loss") <= 0.5 else 1
    offered = dropped + carried
    by_chance = 6 + 6 * math.hypot(1, loss_deviation(terms, offered)) if loss else 0
    if dropped <= loss * offered + by_chance:
        return ""
    return f"{dropped} of {offered} packets were dropped, more than a loss of {loss:.3%} explains: there was no room"


def _equal(name: str, asked: float, found: float) -> bool:
    return math.isclose(asked, found, rel_tol=PRINT_PRECISION, abs_tol=ROUNDING.get(TERMS[name].option.kind, 0))
