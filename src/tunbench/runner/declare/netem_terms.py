"""The terms of an impairment, as tc-netem(8) of iproute2 6.1 has them."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare.options import Option

Terms = Mapping[str, float | str]
"""The terms of one direction, in SI units: seconds, ratios, bits a second, packets, bytes; the distribution's name."""

DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
"""How netem spreads delays: evenly, or by a table of iproute2."""

WIDEST_JITTER = 2.147
"""Seconds of the widest jitter: the kernel keeps 2³¹ − 1 ns at most, and shortens a longer one without a word."""


class Clause(NamedTuple):
    """A part of a command: the words with which it begins, and behind them the values of its terms.

    Durations in it have the `unit` us or ns. Values at its end that say nothing are left out, unless it is `whole`.
    """

    words: str
    unit: str = "us"
    whole: bool = False


class Term(NamedTuple):
    """A term of netem: where a command has it, what may be written in a plan, and what it means for others.

    `shown` are the keys under which `tc -j` of iproute2 6.1 shows it; it shows no distribution, because the kernel does
    not give its table back. The term does nothing, or tc refuses it, without one of those that it `needs`; of it and
    those that it `excludes` netem takes one. It `acts` if it does something on its own.
    """

    clause: Clause
    option: Option
    shown: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    acts: bool = False


DELAY, LOSS = Clause("delay"), Clause("loss random")
GEMODEL, STATE = Clause("loss gemodel", whole=True), Clause("loss state", whole=True)
DUPLICATE, CORRUPT, REORDER = Clause("duplicate"), Clause("corrupt"), Clause("reorder")
SLOT, SLOT_DISTRIBUTION = Clause("slot", "ns"), Clause("slot distribution", "ns")

TERMS: dict[str, Term] = {
    "delay": Term(
        DELAY,
        Option("duration", "0s", "delay of every packet", high=60),
        shown=("delay", "delay"),
        acts=True,
    ),
    "jitter": Term(
        DELAY,
        Option("duration", "0s", "half the uniform distribution's width, or a table's unit", high=WIDEST_JITTER),
        shown=("delay", "jitter"),
        needs=("delay",),
        acts=True,
    ),
    "delay_correlation": Term(
        DELAY,
        Option("ratio", "0%", "correlation of a delay with the one before"),
        shown=("delay", "correlation"),
        needs=("jitter",),
    ),
    "distribution": Term(
        Clause("distribution"),
        Option("choice", "uniform", "how delays are spread by jitter", DISTRIBUTIONS),
        needs=("jitter",),
    ),
    "loss": Term(
        LOSS,
        Option("ratio", "0%", "packets that are dropped at random"),
        shown=("loss-random", "loss"),
        acts=True,
    ),
    "loss_correlation": Term(
        LOSS,
        Option("ratio", "0%", "correlation of a loss with the one before"),
        shown=("loss-random", "correlation"),
        needs=("loss",),
    ),
    "gemodel_p": Term(
        GEMODEL,
        Option("ratio", "0%", "Gilbert-Elliott loss: from the good state into the bad one"),
        shown=("loss-gemodel", "p"),
        excludes=("loss",),
        acts=True,
    ),
    "gemodel_r": Term(
        GEMODEL,
        Option("ratio", "100%", "from the bad state into the good one; 1 - p where it is not written"),
        shown=("loss-gemodel", "r"),
        needs=("gemodel_p",),
    ),
    "gemodel_1-h": Term(
        GEMODEL,
        Option("ratio", "100%", "packets that are dropped in the bad state"),
        shown=("loss-gemodel", "1-h"),
        needs=("gemodel_p",),
    ),
    "gemodel_1-k": Term(
        GEMODEL,
        Option("ratio", "0%", "packets that are dropped in the good state"),
        shown=("loss-gemodel", "1-k"),
        needs=("gemodel_p",),
    ),
    "state_p13": Term(
        STATE,
        Option("ratio", "0%", "loss by four states: from a gap into a burst, with a loss"),
        shown=("loss-state", "p13"),
        excludes=("loss", "gemodel_p"),
        acts=True,
    ),
    "state_p31": Term(
        STATE,
        Option("ratio", "100%", "from a loss in a burst into a gap; 1 - p13 where it is not written"),
        shown=("loss-state", "p31"),
        needs=("state_p13",),
    ),
    "state_p32": Term(
        STATE,
        Option("ratio", "0%", "from a loss to a received packet within a burst"),
        shown=("loss-state", "p32"),
        needs=("state_p13",),
    ),
    "state_p23": Term(
        STATE,
        Option("ratio", "100%", "from a received packet to a loss within a burst"),
        shown=("loss-state", "p23"),
        needs=("state_p13",),
    ),
    "state_p14": Term(
        STATE,
        Option("ratio", "0%", "single losses within a gap"),
        shown=("loss-state", "p14"),
        excludes=("loss", "gemodel_p"),
        acts=True,
    ),
    "ecn": Term(
        Clause("ecn"),
        Option("switch", "off", "packets of ECN-capable flows are marked where they would be dropped"),
        shown=("ecn",),
        needs=("loss", "gemodel_p", "state_p13", "state_p14"),
    ),
    "duplicate": Term(
        DUPLICATE,
        Option("ratio", "0%", "packets that are sent twice"),
        shown=("duplicate", "duplicate"),
        acts=True,
    ),
    "duplicate_correlation": Term(
        DUPLICATE,
        Option("ratio", "0%", "correlation of a duplication with the one before"),
        shown=("duplicate", "correlation"),
        needs=("duplicate",),
    ),
    "corrupt": Term(
        CORRUPT,
        Option("ratio", "0%", "packets in which one bit is turned over"),
        shown=("corrupt", "corrupt"),
        acts=True,
    ),
    "corrupt_correlation": Term(
        CORRUPT,
        Option("ratio", "0%", "correlation of a corruption with the one before"),
        shown=("corrupt", "correlation"),
        needs=("corrupt",),
    ),
    "reorder": Term(
        REORDER,
        Option("ratio", "0%", "packets that are sent at once, past those that wait for their delay"),
        shown=("reorder", "reorder"),
        needs=("delay",),
        acts=True,
    ),
    "reorder_correlation": Term(
        REORDER,
        Option("ratio", "0%", "correlation of a reordering with the one before"),
        shown=("reorder", "correlation"),
        needs=("reorder",),
    ),
    "gap": Term(
        Clause("gap"),
        Option("count", "1", "every so many packets one may be reordered", high=1_000_000),
        shown=("gap",),
        needs=("reorder",),
    ),
    "slot_min_delay": Term(
        SLOT,
        Option("duration", "0s", "shortest time between slots, in which packets leave together", high=60),
        shown=("slot", "min-delay"),
        acts=True,
    ),
    "slot_max_delay": Term(
        SLOT,
        Option("duration", "0s", "longest time between slots; as the shortest if not written", high=60),
        shown=("slot", "max-delay"),
        needs=("slot_min_delay",),
    ),
    "slot_distribution": Term(
        SLOT_DISTRIBUTION,
        Option("choice", "normal", "how the time between slots is spread", DISTRIBUTIONS[1:]),
        needs=("slot_delay",),
    ),
    "slot_delay": Term(
        SLOT_DISTRIBUTION,
        Option("duration", "0s", "time between slots that a distribution spreads", high=60),
        shown=("slot", "distribution"),
        needs=("slot_jitter",),
        excludes=("slot_min_delay",),
        acts=True,
    ),
    "slot_jitter": Term(
        SLOT_DISTRIBUTION,
        Option("duration", "0s", "a table's unit for the time between slots", high=WIDEST_JITTER),
        shown=("slot", "jitter"),
        needs=("slot_delay",),
    ),
    "slot_packets": Term(
        Clause("packets"),
        Option("count", "0", "packets of a slot at most; 0: any", high=1_000_000),
        shown=("slot", "packets"),
        needs=("slot_min_delay", "slot_delay"),
    ),
    "slot_bytes": Term(
        Clause("bytes"),
        Option("size", "0", "bytes of a slot at most; 0: any", high=1_000_000_000),
        shown=("slot", "bytes"),
        needs=("slot_min_delay", "slot_delay"),
    ),
}
"""The terms of tc-netem(8), in the order in which a command has them. A term is declared here and nowhere else."""

PLACEMENTS = ("router", "endpoints", "overlay")
"""Where netem sits: on what stands between the endpoints, on their underlay or on their tunnel interfaces."""


def number(terms: Terms, name: str) -> float:
    """The value of a term in SI units; 0 where it is not given."""
    return float(terms.get(name, 0))


def complete(terms: Terms) -> dict[str, float | str]:
    """The terms, and what tc assumes of those that are not written. Source: tc-netem(8)."""
    full = dict(terms)
    if number(terms, "gemodel_p"):
        full = {"gemodel_r": 1 - number(terms, "gemodel_p"), "gemodel_1-h": 1.0, "gemodel_1-k": 0.0, **full}
    if number(terms, "state_p13") or number(terms, "state_p14"):
        full = {"state_p31": 1 - number(terms, "state_p13"), "state_p32": 0.0, "state_p23": 1.0, **full}
    if number(terms, "reorder"):
        full["gap"] = number(terms, "gap") or 1
    if number(terms, "slot_min_delay"):
        full["slot_max_delay"] = number(terms, "slot_max_delay") or number(terms, "slot_min_delay")
    return full
