"""Writes the terms of an impairment as the arguments of `tc qdisc add … netem`."""

import math
from itertools import groupby

from tunbench.runner.declare.netem_arithmetic import longest_delay
from tunbench.runner.declare.netem_terms import TERMS, Clause, Terms, complete

FASTEST_RATE = 10e9
"""Bits a second that a direction is expected to carry at most; it sizes the queue."""

FULL_PACKET_BITS = 1500 * 8
"""Bits of a full packet; it sizes the queue."""

DEFAULTS = {name: term.option.value(term.option.default) for name, term in TERMS.items()}

CLAUSES = {clause: list(names) for clause, names in groupby(TERMS, key=lambda name: TERMS[name].clause)}
"""The terms of each part of a command, in their order."""


def acts(terms: Terms) -> bool:
    """Whether these terms ask for a netem at all."""
    return any(terms.get(name) for name, term in TERMS.items() if term.acts)


def limit(terms: Terms) -> int:
    """Packets that netem must hold so that it drops none for want of room: rate × longest delay, at least 1,000."""
    return max(1000, math.ceil(FASTEST_RATE * longest_delay(terms) / FULL_PACKET_BITS))


def arguments(terms: Terms, held: int = 0) -> list[str]:
    """The arguments of netem for these terms; it holds `held` packets, or as many as come together in its delay."""
    full = complete(terms)
    words = [word for clause, names in CLAUSES.items() for word in _clause(clause, names, full)]
    return ["limit", str(held or limit(terms)), *words]


def _clause(clause: Clause, names: list[str], full: Terms) -> list[str]:
    """The words of a part of a command; none where no term asks for it."""
    if not any(_differs(name, full) for name in names if _begins(clause, name)):
        return []
    while not clause.whole and not _differs(names[-1], full):
        names = names[:-1]
    return [*clause.words.split(), *(word for name in names for word in _value(name, clause, full))]


def _begins(clause: Clause, name: str) -> bool:
    """Whether a part of a command is written for the sake of this term, which then does not need another one of it."""
    return TERMS[name].acts or not any(TERMS[other].clause == clause for other in TERMS[name].needs)


def _differs(name: str, full: Terms) -> bool:
    """Whether a term has another value than netem assumes, where it assumes any."""
    return bool(full.get(name)) and full[name] != DEFAULTS[name]


def _value(name: str, clause: Clause, full: Terms) -> list[str]:
    value = full.get(name, DEFAULTS[name])
    match TERMS[name].option.kind:
        case "switch":
            return []
        case "choice":
            return [str(value)]
        case "duration":
            scale = {"us": 1e6, "ns": 1e9}[clause.unit]
            return [f"{float(value) * scale:.0f}{clause.unit}"]
        case "ratio":
            return [f"{float(value) * 100:.6g}%"]
        case _:
            return [f"{float(value):.0f}"]
