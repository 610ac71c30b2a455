"""What netem's arithmetic lets one expect of each impaired profile, beside what `none` measured."""

import math
from typing import NamedTuple

import polars as pl

from tunbench.analysis.ratios import is_baseline
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.plan.axes.profile import Profile
from tunbench.report import units
from tunbench.report.profiles import profiles
from tunbench.runner import invocation
from tunbench.runner.declare import link
from tunbench.runner.declare.access import NONE
from tunbench.runner.declare.netem_arithmetic import echo_loss, mean_delay, mean_loss, reordered
from tunbench.runner.declare.netem_terms import TERMS, Terms, complete, number
from tunbench.runner.network.netem_report import PRINT_PRECISION

PING = "ping"
"""The workload whose round trips are those of the network alone: those of others wait for what was lost, too."""

ECHO_HEADERS = 14 + 20 + 8
"""Bytes of Ethernet, IPv4 and ICMP before an echo's payload."""

HOLDING_TERMS = ("slot_min_delay", "slot_delay")
"""Terms that hold packets up for a time that depends on what is sent."""


class Impaired(NamedTuple):
    """A row of the table of impairments; times and ratios as texts."""

    profile: str
    forward: str
    reverse: str
    mean: str
    measured_mean: str
    loss: str
    measured_loss: str


class Impairments(NamedTuple):
    """The table, what jitter wider than its delay comes to, and the profiles whose reordering is correlated."""

    rows: list[Impaired]
    clipped: list[str]
    correlated: list[str]


def impairments(analysis: RunAnalysis) -> Impairments:
    """The impaired profiles of a run; one that neither the manifest describes nor Tunbench ships is left out."""
    used = [profile for profile in profiles(analysis) if any(any(terms.values()) for terms in _directions(profile))]
    first = next(iter(analysis.record.specs.get("link", {}).values()), None)
    path = link.of_spec(first) if first else None
    bare = _bare(analysis, first["name"] if first else None)
    spreads = dict.fromkeys(_spread(terms) for profile in used for terms in _directions(profile))
    return Impairments(
        [
            _row(profile, analysis, _base(path, bare.get(profile.name)), *_measured(bare.get(profile.name)))
            for profile in used
        ],
        [_clipping(delay, jitter) for delay, jitter, spread in spreads if jitter > delay and spread == "uniform"],
        [profile.name for profile in used if any(terms.get("reorder_correlation") for terms in _directions(profile))],
    )


def expected_delay(profile: Profile, base: float = 0.0) -> float | None:
    """Seconds that both directions and the links take of a round trip, on average. None where it is not known.

    A packet that is reordered is sent at once. Where reorderings are correlated they nearly never happen, and are left
    out. It is not known with slots, where it depends on what is sent, nor for the faster of two duplicates.
    Source: `netem_enqueue` in Linux' net/sched/sch_netem.c.
    """
    for terms in _directions(profile):
        if any(terms.get(name) for name in HOLDING_TERMS) or (terms.get("duplicate") and terms.get("jitter")):
            return None
    delays = (mean_delay(*_spread(terms)) * (1 - (reordered(terms) or 0)) for terms in _directions(profile))
    return math.fsum([base, *delays])


def expected_loss(profile: Profile) -> float | None:
    """Ratio of echoes that the impairments of both directions lose. None where it is not known.

    It is not known for losses with a correlation, with duplicates, which make up for losses, and where packets are
    corrupted: most are then dropped for their checksum, but not all.
    """
    losses = [mean_loss(terms) for terms in _directions(profile)]
    spoilt = any(terms.get(name) for terms in _directions(profile) for name in ("duplicate", "corrupt"))
    known = [loss for loss in losses if loss is not None]
    return None if spoilt or len(known) < len(losses) else echo_loss(*known)


def _row(profile: Profile, analysis: RunAnalysis, base: float, delays: float | None, losses: float | None) -> Impaired:
    became = [_became(terms, analysis) for terms in _directions(profile)]
    return Impaired(
        profile.name,
        wording(profile.forward) + became[0],
        wording(profile.reverse) + became[1],
        units.quantity(expected_delay(profile, base), "s"),
        units.quantity(delays, "s"),
        units.quantity(expected_loss(profile), "ratio"),
        units.quantity(losses, "ratio"),
    )


def wording(terms: Terms) -> str:
    """The terms of one direction in words."""
    words = [_term(name, value) for name, value in terms.items() if value and name not in ("delay", "jitter")]
    delay, jitter, _ = _spread(terms)
    if delay or jitter:
        words.insert(0, f"delay {_range(delay, jitter)}" if jitter else f"delay {units.plain(delay, 's')}")
    return ", ".join(words) or "nothing"


def _became(asked: Terms, analysis: RunAnalysis) -> str:
    """What the kernel made of the terms, where it is another value than was asked for."""
    found = next((terms for wanted, terms in analysis.record.installed if wanted == asked), {})
    full = complete(asked)
    other = [
        _term(name, value)
        for name, value in found.items()
        if name in full and not math.isclose(value, number(full, name), rel_tol=PRINT_PRECISION)
    ]
    return f"; installed: {', '.join(other)}" if other else ""


def _range(delay: float, jitter: float) -> str:
    return f"{units.plain(delay, 's')} ± {units.plain(jitter, 's')}"


def _spread(terms: Terms) -> tuple[float, float, str]:
    """Delay and jitter in seconds, and the distribution."""
    return number(terms, "delay"), number(terms, "jitter"), str(terms.get("distribution", "uniform"))


def _term(name: str, value: float | str) -> str:
    words = name.replace("_", " ")
    kind = TERMS[name].option.kind
    if kind == "switch":
        return words if value else f"no {words}"
    return f"{words} {value if isinstance(value, str) else units.plain(value, units.OF_KIND[kind])}"


def _clipping(delay: float, jitter: float) -> str:
    return f"{_range(delay, jitter)} has a mean of {units.quantity(mean_delay(delay, jitter), 's')}"


def _bare(analysis: RunAnalysis, of_link: str | None) -> dict[str, pl.DataFrame]:
    """The round-trip times and losses that `ping` told of `none` under each profile, over links of that name where it
    is known.

    A gateway has delays and losses of its own: what is measured behind one is left out.
    """
    of_ping = pl.col("workload").str.split(":").list.first() == PING
    samples = analysis.samples.filter(of_ping & pl.col("metric").is_in(["rtt", "loss"]) & (pl.col("access") == NONE))
    samples = samples.filter(pl.col("link") == of_link) if of_link else samples
    bare = samples.filter(pl.col("stack").map_elements(is_baseline, return_dtype=pl.Boolean))
    return {str(name): rows for (name,), rows in bare.partition_by("profile", as_dict=True).items()}


def _base(path: link.Link | None, bare: pl.DataFrame | None) -> float:
    """Seconds that an echo and its reply take over the links alone, on average over what was sent."""
    if not path:
        return 0.0
    echoes = {} if bare is None else {str(name): rows.height for (name,), rows in bare.group_by("workload")}
    sent = [
        count * 2 * (path.sending_seconds(path.up, frame) + path.sending_seconds(path.down, frame))
        for frame, count in ((ECHO_HEADERS + _payload(name), count) for name, count in echoes.items())
    ]
    return path.base_round_trip + math.fsum(sent) / max(1, sum(echoes.values()))


def _payload(ping: str) -> int:
    """Bytes of payload of the echoes of a workload; 0 where a journal has one that no ping of this version is."""
    try:
        return int(invocation.read(ping).options["size"])
    except ValueError:
        return 0


def _measured(bare: pl.DataFrame | None) -> tuple[float | None, float | None]:
    """The mean round-trip time in seconds and the ratio of lost echoes of `none`, over all repeats."""
    if bare is None:
        return None, None
    times = bare.filter(pl.col("metric") == "rtt")
    lost = bare.filter((pl.col("metric") == "loss") & pl.col("workload").is_in(times["workload"].unique().to_list()))
    return _mean(times), _mean(lost)


def _mean(samples: pl.DataFrame) -> float | None:
    mean = samples["value"].mean()
    return float(mean) if isinstance(mean, int | float) else None


def _directions(profile: Profile) -> tuple[Terms, Terms]:
    return profile.forward, profile.reverse
