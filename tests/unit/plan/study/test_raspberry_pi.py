"""The file of the study raspberry-pi-2021: its grid."""

import pytest

from tests.helpers.study_files import plan
from tunbench.plan.expand import expand

NAME = "raspberry-pi-2021"

LONG = {
    *(f"delay:delay={delay}ms" for delay in range(60, 101, 10)),
    *("network-1", "network-2", "network-3", "router-network-1"),
}
"""Profiles of which slow start takes more than a second, or where TCP has to find its rate between losses."""


@pytest.mark.parametrize("scale", ["", "quick", "prediction"])
def test_each_profile_has_streams_of_one_length(scale: str) -> None:
    found: dict[str, set[str]] = {}
    for shard in expand(plan(NAME, scale)):
        streams = {one.name for one in shard.workloads if one.name.startswith("iperf2-tcp")}
        found.setdefault(shard.profile.name, set()).update(streams)
    assert {len(streams) for streams in found.values()} == {1}
    lasting = {name for name, streams in found.items() if streams == {"iperf2-tcp:duration=20"}}
    assert lasting == LONG & found.keys()
