"""What netem's arithmetic lets one expect of each impaired profile, beside what `none` measured."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis.findings import Findings
from tunbench.analysis.order import profile_name
from tunbench.analysis.ratios import is_baseline
from tunbench.plan.profile import read_profile, shipped
from tunbench.plan.shard import Profile
from tunbench.report import units
from tunbench.runner.impairment import echo_loss, mean_delay

Terms = Mapping[str, float]


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


def impairments(findings: Findings) -> Impairments:
    """The impaired profiles of a run; one that neither the manifest describes nor Tunbench ships is left out."""
    used = [profile for profile in _profiles(findings) if any(any(terms.values()) for terms in _directions(profile))]
    spreads = dict.fromkeys(_spread(terms) for profile in used for terms in _directions(profile))
    return Impairments(
        [_row(profile, findings) for profile in used],
        [_clipping(delay, jitter) for delay, jitter in spreads if jitter > delay],
        [profile.name for profile in used if any(terms.get("reorder_correlation") for terms in _directions(profile))],
    )


def expected_delay(profile: Profile) -> float:
    """Seconds that the impairments of both directions add to a round trip, on average.

    A packet that is reordered is sent at once. Where reorderings are correlated they nearly never happen, and are left
    out. Source: `netem_enqueue` in Linux' net/sched/sch_netem.c.
    """
    return sum(mean_delay(*_spread(terms)) * (1 - _reordered(terms)) for terms in _directions(profile))


def _row(profile: Profile, findings: Findings) -> Impaired:
    delays, losses = _measured(findings, profile.name)
    return Impaired(
        profile.name,
        described(profile.forward),
        described(profile.reverse),
        units.quantity(expected_delay(profile), "s"),
        units.quantity(delays, "s"),
        units.quantity(echo_loss(profile.forward.get("loss", 0), profile.reverse.get("loss", 0)), "ratio"),
        units.quantity(losses, "ratio"),
    )


def described(terms: Terms) -> str:
    """The terms of one direction in words."""
    words = [_term(name, value) for name, value in terms.items() if value and name not in ("delay", "jitter")]
    delay, jitter = _spread(terms)
    if delay or jitter:
        words.insert(0, f"delay {_range(delay, jitter)}" if jitter else f"delay {units.plain(delay, 's')}")
    return ", ".join(words) or "nothing"


def _range(delay: float, jitter: float) -> str:
    return f"{units.plain(delay, 's')} ± {units.plain(jitter, 's')}"


def _spread(terms: Terms) -> tuple[float, float]:
    """Delay and jitter in seconds."""
    return terms.get("delay", 0), terms.get("jitter", 0)


def _term(name: str, value: float) -> str:
    words = name.replace("_", " ")
    if name == "rate":
        return f"{words} {units.plain(value, 'bit/s')}"
    return f"{words} {value:g}" if name == "limit" else f"{words} {units.plain(value, 'ratio')}"


def _clipping(delay: float, jitter: float) -> str:
    return f"{_range(delay, jitter)} has a mean of {units.quantity(mean_delay(delay, jitter), 's')}"


def _reordered(terms: Terms) -> float:
    return 0 if terms.get("reorder_correlation") else terms.get("reorder", 0)


def _measured(findings: Findings, profile: str) -> tuple[float | None, float | None]:
    """The mean round-trip time in seconds and the ratio of lost echoes of `none` under a profile, over all repeats."""
    samples = findings.samples.filter(pl.col("profile") == profile)
    bare = samples.filter(pl.col("stack").map_elements(is_baseline, return_dtype=pl.Boolean))
    times = bare.filter(pl.col("metric") == "rtt")
    lost = bare.filter((pl.col("metric") == "loss") & pl.col("workload").is_in(times["workload"].unique().to_list()))
    return _mean(times), _mean(lost)


def _mean(samples: pl.DataFrame) -> float | None:
    mean = samples["value"].mean()
    return float(mean) if isinstance(mean, int | float) else None


def _directions(profile: Profile) -> tuple[Terms, Terms]:
    return profile.forward, profile.reverse


def _profiles(findings: Findings) -> list[Profile]:
    """The profiles of the run: as the manifest's plan describes them, else as Tunbench ships them."""
    plan = findings.record.manifest.get("plan")
    listed = plan.get("profiles") if isinstance(plan, dict) else None
    entries = {profile_name(entry): entry for entry in listed} if isinstance(listed, list) else {}
    names = dict.fromkeys(values[0] for values in findings.conditions)
    read = (_read(entries.get(name, name)) for name in names)
    return [profile for profile in read if profile]


def _read(entry: Any) -> Profile | None:
    """A profile from a name, from a table as a plan has it, or from one as a shard has it; None where it is neither."""
    if isinstance(entry, dict) and isinstance(entry.get("forward"), dict):
        return Profile(
            str(entry.get("name")), entry["forward"], entry.get("reverse", {}), str(entry.get("placement", ""))
        )
    if isinstance(entry, str) and entry not in shipped():
        return None
    try:
        return read_profile(entry)
    except ValueError:
        return None
