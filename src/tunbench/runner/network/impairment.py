"""Impairments: one netem a direction, what the kernel installed of it, and what it dropped beyond its loss."""

import math
from collections.abc import Mapping
from typing import Any

from tunbench.runner.declare import netem_terms as written
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.netem_arithmetic import longest_delay, loss_deviation, mean_loss
from tunbench.runner.declare.netem_terms import TERMS, complete, number
from tunbench.runner.node.json_output import tables
from tunbench.runner.node.node import CommandFailed, Node

Terms = written.Terms

EFFECTS = (
    *("delay", "jitter", "loss", "gemodel_p", "state_p13", "state_p14", "reorder", "duplicate", "corrupt", "rate"),
    *("slot_min_delay", "slot_delay"),
)
"""The terms that do something on their own."""

SHOWN = {
    "limit": ("limit",),
    "delay": ("delay", "delay"),
    "jitter": ("delay", "jitter"),
    "delay_correlation": ("delay", "correlation"),
    "loss": ("loss-random", "loss"),
    "loss_correlation": ("loss-random", "correlation"),
    **{f"gemodel_{name}": ("loss-gemodel", name) for name in ("p", "r", "1-h", "1-k")},
    **{f"state_{name}": ("loss-state", name) for name in ("p13", "p31", "p32", "p23", "p14")},
    "ecn": ("ecn",),
    "reorder": ("reorder", "reorder"),
    "reorder_correlation": ("reorder", "correlation"),
    "gap": ("gap",),
    "duplicate": ("duplicate", "duplicate"),
    "duplicate_correlation": ("duplicate", "correlation"),
    "corrupt": ("corrupt", "corrupt"),
    "corrupt_correlation": ("corrupt", "correlation"),
    **{name: ("rate", name) for name in ("rate", "packetoverhead", "cellsize", "celloverhead")},
    "slot_min_delay": ("slot", "min-delay"),
    "slot_max_delay": ("slot", "max-delay"),
    "slot_delay": ("slot", "distribution"),
    "slot_jitter": ("slot", "jitter"),
    "slot_packets": ("slot", "packets"),
    "slot_bytes": ("slot", "bytes"),
}
"""Where `tc -j` of iproute2 6.1 shows each term. It shows no distribution: the kernel does not give its tables back."""

ROUNDED = {"duration": 1.5e-6, "ratio": 1e-9, "rate": 8}
"""What rounding may change: tc takes and shows whole µs, the kernel keeps 2⁻³² and whole bytes a second."""

LARGEST = 1e18
"""The largest number of a term: 32 bits of packets, 64 bits of nanoseconds."""

PRINTED = 1.1e-5
"""How much printing may change a value, relatively: tc is given six digits, and shows six."""

FASTEST = 10e9
"""Bits a second that a direction without `rate` is expected to carry at most; it sizes the queue."""

PACKET = 1500 * 8
"""Bits of a full packet; it sizes the queue."""


def limit(terms: Terms) -> int:
    """Packets that netem must hold so that it drops none for want of room: rate × longest delay, at least 1,000."""
    if number(terms, "limit"):
        return int(number(terms, "limit"))
    return max(1000, math.ceil((number(terms, "rate") or FASTEST) * longest_delay(terms) / PACKET))


def netem(terms: Terms) -> list[str]:
    """The arguments of `tc qdisc add … netem` for these terms."""
    full = complete(terms)
    words = ["limit", str(limit(terms)), *_delay(full), *_loss(full)]
    for name in ("duplicate", "corrupt", "reorder"):
        if full.get(name):
            words += [name, *_percent(full, name), *_percent(full, f"{name}_correlation")]
    if number(full, "gap") > 1:
        words += ["gap", f"{full['gap']:.0f}"]
    return [*words, *_rate(full), *_slot(full)]


def acts(terms: Terms) -> bool:
    """Whether these terms ask for a netem at all."""
    return any(terms.get(name) for name in EFFECTS)


def apply(node: Node, interface: str, terms: Terms) -> dict[str, Any]:
    """Puts netem on an interface. Returns what `tc` says of it, and beside it the `terms` that it has become.

    Raises Unsupported, CommandFailed.
    """
    if not acts(terms):
        return {}
    try:
        node.run("tc", "qdisc", "replace", "dev", interface, "root", "netem", *netem(terms))
    except CommandFailed as error:
        if "qdisc kind is unknown" in error.result.stderr:
            raise Unsupported("this kernel has no netem (module sch_netem)") from None
        if "No distribution data" in error.result.stderr:
            raise Unsupported("iproute2's tables of distributions are not there") from None
        raise
    qdisc = installed(node, interface)
    return {**qdisc, "terms": read_back(qdisc)} if qdisc else {}


def installed(node: Node, interface: str) -> dict[str, Any]:
    """What `tc` says of the netem on an interface: its options in SI units, and its counters."""
    return netem_of(node.ask("tc", "-s", "-j", "qdisc", "show", "dev", interface).stdout)


def netem_of(text: str) -> dict[str, Any]:
    """The netem in what `tc -s -j qdisc show` printed; empty where there is none. Raises WorkloadFailed."""
    return next((qdisc for qdisc in tables(text, "tc") if qdisc.get("kind") == "netem"), {})


def counters(qdisc: Mapping[str, Any]) -> dict[str, int]:
    """What netem has carried, dropped and still holds since it was installed. Raises WorkloadFailed.

    Where there is none, it has carried nothing.
    """
    missing = None if qdisc else 0
    found: dict[str, Any] = {name: qdisc.get(name, missing) for name in ("packets", "bytes", "drops", "qlen")}
    for name, value in found.items():
        # The kernel's counters have 64 bits.
        if type(value) is not int or not 0 <= value < 1 << 64:
            raise WorkloadFailed(f"tc's JSON has no sound number at {name}: {value!r:.80}")
    return found


def read_back(qdisc: Mapping[str, Any]) -> dict[str, float]:
    """The terms that `tc` shows, in SI units: what the kernel made of those that were asked for.

    Raises WorkloadFailed.
    """
    terms = {}
    for name, path in SHOWN.items():
        value: Any = qdisc.get("options", {})
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int | float):
            if not abs(value) <= LARGEST:
                raise WorkloadFailed(f"tc's JSON has no sound number at {'.'.join(path)}: {value!r:.80}")
            terms[name] = float(value) * (8 if name == "rate" else 1)
    return terms


def deviations(terms: Terms, qdisc: Mapping[str, Any]) -> list[str]:
    """Where what is installed differs from what was asked by more than rounding and printing (ROUNDED, PRINTED)."""
    found, asked = read_back(qdisc), complete(terms)
    asked = {**asked, "limit": limit(terms)} if acts(terms) else {}
    return [
        f"{name}: asked for {number(asked, name):g}, installed is {number(found, name):g}"
        for name in SHOWN
        if not _equal(name, number(asked, name), number(found, name))
    ]


def overflow(terms: Terms, qdisc: Mapping[str, Any]) -> str:
    """What to warn of where netem dropped more than its loss explains; else an empty text.

    By chance it happens once in 6·10⁷ times at most: Bernstein's inequality, P(X − μ ≥ t) ≤ exp(−t² ÷ 2(σ² + t ÷ 3)),
    which holds for few packets too, has the bound exp(−18) at t = 6 + 6·√(1 + σ²). Without loss nothing is by chance.
    """
    counted = counters(qdisc)
    dropped, carried = counted["drops"], counted["packets"]
    mean = mean_loss(terms)
    # With a correlation, losses are rarer than asked for where they are less than a half, and else more frequent.
    loss = mean if mean is not None else number(terms, "loss") if number(terms, "loss") <= 0.5 else 1
    offered = dropped + carried
    by_chance = 6 + 6 * math.hypot(1, loss_deviation(terms, offered)) if loss else 0
    if dropped <= loss * offered + by_chance:
        return ""
    return f"{dropped} of {offered} packets were dropped, more than a loss of {loss:.3%} explains: raise its limit"


def _equal(name: str, asked: float, found: float) -> bool:
    return math.isclose(asked, found, rel_tol=PRINTED, abs_tol=ROUNDED.get(TERMS[name].kind, 0))


def _delay(terms: Terms) -> list[str]:
    if not terms.get("delay") and not terms.get("jitter"):
        return []
    words = ["delay", _us(number(terms, "delay"))]
    if terms.get("jitter"):
        words += [_us(number(terms, "jitter")), *_percent(terms, "delay_correlation")]
    # tc knows the uniform distribution by its absence: it has no table of it.
    spread = str(terms.get("distribution", "uniform"))
    return words if spread == "uniform" else [*words, "distribution", spread]


def _loss(terms: Terms) -> list[str]:
    words: list[str] = []
    if terms.get("loss"):
        words = ["loss", "random", *_percent(terms, "loss"), *_percent(terms, "loss_correlation")]
    for model, first in (("gemodel", "gemodel_r"), ("state", "state_p31")):
        if first in terms and any(terms.get(name) for name in EFFECTS if name.startswith(model)):
            values = [number(terms, name) for name in TERMS if name.startswith(f"{model}_")]
            words = ["loss", model, *(f"{value * 100:.6g}%" for value in values)]
    return [*words, "ecn"] if terms.get("ecn") else words


def _rate(terms: Terms) -> list[str]:
    if not terms.get("rate"):
        return []
    overheads = [f"{number(terms, name):.0f}" for name in ("packetoverhead", "cellsize", "celloverhead")]
    while overheads and overheads[-1] == "0":
        overheads.pop()
    return ["rate", f"{terms['rate']:.0f}bit", *overheads]


def _slot(terms: Terms) -> list[str]:
    if terms.get("slot_delay"):
        spread = str(terms.get("slot_distribution", "normal"))
        words = ["slot", "distribution", spread, _ns(terms, "slot_delay"), _ns(terms, "slot_jitter")]
    elif terms.get("slot_min_delay"):
        words = ["slot", _ns(terms, "slot_min_delay"), _ns(terms, "slot_max_delay")]
    else:
        return []
    for name in ("packets", "bytes"):
        if terms.get(f"slot_{name}"):
            words += [name, f"{terms[f'slot_{name}']:.0f}"]
    return words


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f}us"


def _ns(terms: Terms, name: str) -> str:
    return f"{number(terms, name) * 1e9:.0f}ns"


def _percent(terms: Terms, name: str) -> list[str]:
    return [f"{number(terms, name) * 100:.6g}%"] if terms.get(name) else []
