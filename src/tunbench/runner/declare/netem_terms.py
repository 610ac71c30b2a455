"""The terms of an impairment: names, units and ranges, as tc-netem(8) of iproute2 6.1 has them."""

from collections.abc import Mapping

from tunbench.runner.declare.options import Option

Terms = Mapping[str, float | str]
"""The terms of one direction, in SI units: seconds, ratios, bits a second, packets, bytes; the distribution's name."""

DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
"""How netem spreads delays: evenly, or by a table of iproute2."""

WIDEST_JITTER = 2.147
"""Seconds of the widest jitter: the kernel keeps 2³¹ − 1 ns at most, and shortens a longer one without a word."""

TERMS: dict[str, Option] = {
    "delay": Option("duration", "0s", "delay of every packet", high=60),
    "jitter": Option("duration", "0s", "half the uniform distribution's width, or a table's unit", high=WIDEST_JITTER),
    "delay_correlation": Option("ratio", "0%", "correlation of a delay with the one before"),
    "distribution": Option("choice", "uniform", "how delays are spread by jitter", DISTRIBUTIONS),
    "loss": Option("ratio", "0%", "packets that are dropped at random"),
    "loss_correlation": Option("ratio", "0%", "correlation of a loss with the one before"),
    "gemodel_p": Option("ratio", "0%", "Gilbert-Elliott loss: from the good state into the bad one"),
    "gemodel_r": Option("ratio", "100%", "from the bad state into the good one; 1 - p where it is not written"),
    "gemodel_1-h": Option("ratio", "100%", "packets that are dropped in the bad state"),
    "gemodel_1-k": Option("ratio", "0%", "packets that are dropped in the good state"),
    "state_p13": Option("ratio", "0%", "loss by four states: from a gap into a burst, with a loss"),
    "state_p31": Option("ratio", "100%", "from a loss in a burst into a gap; 1 - p13 where it is not written"),
    "state_p32": Option("ratio", "0%", "from a loss to a received packet within a burst"),
    "state_p23": Option("ratio", "100%", "from a received packet to a loss within a burst"),
    "state_p14": Option("ratio", "0%", "single losses within a gap"),
    "ecn": Option("switch", "off", "packets of ECN-capable flows are marked where they would be dropped"),
    "reorder": Option("ratio", "0%", "packets that are sent at once, past those that wait for their delay"),
    "reorder_correlation": Option("ratio", "0%", "correlation of a reordering with the one before"),
    "gap": Option("count", "1", "every so many packets one may be reordered", high=1_000_000),
    "duplicate": Option("ratio", "0%", "packets that are sent twice"),
    "duplicate_correlation": Option("ratio", "0%", "correlation of a duplication with the one before"),
    "corrupt": Option("ratio", "0%", "packets in which one bit is turned over"),
    "corrupt_correlation": Option("ratio", "0%", "correlation of a corruption with the one before"),
    "rate": Option("rate", "0", "bits a second that pass; 0: without limit", high=1e12),
    "packetoverhead": Option("size", "0", "bytes that rate adds to each packet", low=-20, high=65535),
    "cellsize": Option("size", "0", "bytes of the cells in which rate counts packets; 0: none", high=65535),
    "celloverhead": Option("size", "0", "bytes that rate adds to each cell", low=-65535, high=65535),
    "slot_min_delay": Option("duration", "0s", "shortest time between slots, in which packets leave together", high=60),
    "slot_max_delay": Option("duration", "0s", "longest time between slots; as the shortest if not written", high=60),
    "slot_delay": Option("duration", "0s", "time between slots that a distribution spreads", high=60),
    "slot_jitter": Option("duration", "0s", "a table's unit for the time between slots", high=WIDEST_JITTER),
    "slot_distribution": Option("choice", "normal", "how the time between slots is spread", DISTRIBUTIONS[1:]),
    "slot_packets": Option("count", "0", "packets of a slot at most; 0: any", high=1_000_000),
    "slot_bytes": Option("size", "0", "bytes of a slot at most; 0: any", high=1_000_000_000),
    "limit": Option("count", "0", "packets that netem holds; 0: enough for 10 Gbit/s × delay", high=10_000_000),
}
"""The terms of tc-netem(8), in the order in which a command has them."""

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
