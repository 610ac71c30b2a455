"""The profiles of a run, wherever it tells of them."""

from typing import Any

from tunbench.analysis.order import profile_name
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.plan.axes.profile import Profile, read_profile, shipped


def profiles(analysis: RunAnalysis) -> list[Profile]:
    """The profiles of the run: as its shards have them, else as its plan describes them or Tunbench ships them."""
    entries = {profile_name(entry): entry for entry in analysis.record.listed("profiles")}
    entries.update(analysis.record.specs.get("profile", {}))
    names = dict.fromkeys(values[0] for values in analysis.conditions)
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
