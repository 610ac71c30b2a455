"""A Kubernetes cluster in the VM: traffic goes from pod to pod, as Calico's VXLAN, from one that was saved or not."""

from itertools import product
from pathlib import Path

import pytest

from tests.helpers import draws
from tests.helpers.images import ensured
from tests.helpers.measuring import execute, values, verdicts
from tunbench.journal import journal
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.labs.vm.templates import start
from tunbench.runner import registry
from tunbench.toolbox.tools import TOOLS

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(7200)]

CALICO = registry.tunnel("calico").about

PLAN = """\
name = "test"
seed = 1
repeats = 1
topology = "cluster"
stacks = {stacks}
workloads = ["ping:count=20", "iperf3-tcp:duration=1"]
profiles = ["baseline", "low"]
[lab]
kind = "vm"
clock = "virtual"
"""

CUT = """\
name = "cut"
seed = 1
repeats = 1
topology = "cluster"
stacks = ["calico:checksum-offload={offload}"]
workloads = ["iperf3-tcp:duration=5"]
profiles = [{{ name = "loss", loss = "5%", placement = "endpoints", reverse = {{}} }}]
[lab]
kind = "vm"
clock = "virtual"
"""

WARNED_OF = {"outside", "left-behind", "relayed", "fresh-boot"}


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    for addon in CALICO.needs.addons:
        ensured(ADDONS[addon])
    missing = [name for name in CALICO.needs.tools if not TOOLS[name].installed]
    assert missing == [], f"install them with: tunbench toolbox install {' '.join(missing)}"


def test_traffic_goes_from_pod_to_pod_and_is_equal_whether_the_cluster_was_saved_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks = ["calico", "calico:mtu=1230"]
    one = execute(tmp_path / "one", PLAN.format(stacks=stacks), workers=1)
    monkeypatch.setenv(start.SWITCH, "off")
    other = execute(tmp_path / "other", PLAN.format(stacks=stacks), workers=1)
    assert {told for told in verdicts(one).values()} == {("ok", "")}
    proofs = [event for event in journal.events(tmp_path / "one") if event["event"] == "proof"]
    assert {(event["pair"], event["findings"][0]["layer"]) for event in proofs} == {("pod-a-pod-b", "calico")}
    assert {warning.name for warning in one.warnings} & WARNED_OF == set()
    for stack, profile in product(stacks, ("baseline", "low")):
        found = values(one, "throughput", stack, profile=profile)
        assert found == values(other, "throughput", stack, profile=profile) != []


@pytest.mark.parametrize("offload", ["on", "off"])
def test_netem_judges_packets_where_calico_reckons_checksums_and_bundles_else(offload: str, tmp_path: Path) -> None:
    execute(tmp_path / "run", CUT.format(offload=offload))
    [judged] = [
        event["counters"]["netem"]
        for event in journal.events(tmp_path / "run")
        if event["event"] == "queue" and event["counters"]["netem"]["drops"]
    ]
    least, most = draws.drawn(judged["packets"] + judged["drops"], 0.05)
    assert (least <= judged["drops"] <= most) == (offload == "off")
