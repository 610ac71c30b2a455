"""What is sent to a group passes policies of IPsec below the layer that carries it, and goes around those above."""

import re
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.labs import payload

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

# Counts at the router what is ESP and what is VXLAN in the clear, while datagrams are sent.
COUNTING = b"""

_uncounted = execute

COUNTERS = (
    "table inet counting { chain forward { type filter hook forward priority 0; "
    'meta l4proto esp counter comment "esp"; udp dport 4789 counter comment "clear"; }; }'
)


def execute(trial):
    router = trial.site.nodes["router"]
    router.run("nft", COUNTERS)
    try:
        _uncounted(trial)
    finally:
        listed = router.ask("nft", "list", "table", "inet", "counting").stdout
        router.run("nft", "delete", "table", "inet", "counting")
    trial.outputs["counted.txt"] = listed
"""

COUNTED = re.compile(r'counter packets (\d+) .*comment "(\w+)"')


def test_policies_below_take_what_vxlan_makes_of_multicast_and_above_it_would_go_around_them(tmp_path: Path) -> None:
    files = payload.runner_files()
    files["tunbench/runner/workloads/multicast.py"] += COUNTING
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(payload, "runner_files", lambda *_: files)
        text = plan(["ipsec+vxlan", "vxlan+ipsec"], '["baseline"]', ["multicast"])
        record = execute(tmp_path / "run", text, workers=1)
    assert values(record, "loss", "ipsec+vxlan") == [0.0]
    measured = [one for one in record.trials if one.cell["workload"] == "multicast"]
    [trial] = [one for one in measured if one.cell["stack"] == "ipsec+vxlan"]
    counted = COUNTED.findall((tmp_path / "run" / trial.folder / "counted.txt").read_text())
    by_name = {name: int(count) for count, name in counted}
    # A hundred datagrams, and no packet of VXLAN beside ESP.
    assert by_name["esp"] >= 100 and by_name["clear"] == 0
    verdict, reason = verdicts(record)["vxlan+ipsec", "multicast"]
    assert verdict == "unsupported" and reason.startswith("ipsec takes no multicast here")
