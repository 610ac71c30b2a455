"""A mistake in the file of a tunnel, workload or probe, met in a lab: which trials fail by it."""

import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import MARKER, FakeEvents, FakeLabShell, move_home, shard
from tests.helpers.plugins import PROBE, TUNNEL, WORKLOAD, made
from tunbench.plugins import taken
from tunbench.runner import stack
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node import node
from tunbench.runner.shard import live
from tunbench.runner.tunnels.shared import kernel_links

PING, TCP = "ping:count=5,interval=0.01", "iperf3-tcp:duration=3"


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """What a test takes is gone afterwards."""
    yield
    taken.release()


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    return move_home(monkeypatch, tmp_path, "made")


def lived(home: Path, spec: dict[str, Any], proof: str = "none") -> list[dict[str, Any]]:
    """The trials of a shard."""
    live(spec, EmulatedNetwork(FakeLabShell(home, f"proof-{proof}.pcap")), events := FakeEvents())
    return events.of("trial")


def verdicts(trials: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(trial["workload"], trial["verdict"]) for trial in trials]


def test_a_mistake_in_a_tunnels_file_gives_every_trial_its_verdict_with_file_and_line(
    home: Path, tmp_path: Path
) -> None:
    mistaken = TUNNEL.replace('point_to_point(self, node, "gre")', "point_to_pint(self, node)")
    line = mistaken.splitlines().index("        kernel_links.point_to_pint(self, node)") + 1
    taken.take([made(tmp_path / "mine", {"tunnels/mine.py": mistaken})])
    trials = lived(home, shard("mine", 1, PING, TCP).spec())
    assert verdicts(trials) == [("up", "failed"), (PING, "failed"), (TCP, "failed")]
    for trial in trials:
        assert f"tunnels/mine.py:{line}: AttributeError: module" in trial["reason"]
        assert "Traceback" not in trial["reason"]


def test_one_in_a_workloads_file_is_that_of_its_trials_alone(home: Path, tmp_path: Path) -> None:
    mistaken = WORKLOAD.replace("    trial.samples.append(", "    trial.sample.append(")
    taken.take([made(tmp_path / "mine", {"workloads/my_wait.py": mistaken})])
    trials = lived(home, shard("none", 1, PING, "my-wait", TCP).spec())
    assert verdicts(trials) == [("up", "ok"), (PING, "ok"), ("my-wait", "failed"), (TCP, "ok")]
    assert re.search(r"workloads/my_wait\.py:\d+: AttributeError: ", trials[2]["reason"])


def test_one_in_a_probes_file_is_that_of_the_trials_around_which_it_looks(home: Path, tmp_path: Path) -> None:
    mistaken = PROBE.replace('def read(scene):\n    """Nothing."""', "def read(scene):\n    return scene.nothing")
    taken.take([made(tmp_path / "mine", {"probes/my_look.py": mistaken})])
    trials = lived(home, {**shard("none", 1, PING, TCP).spec(), "probes": ["my-look"]})
    assert verdicts(trials) == [("up", "ok"), (PING, "failed"), (TCP, "failed")]
    assert re.search(r"probes/my_look\.py:\d+: AttributeError: ", trials[1]["reason"])


@pytest.mark.parametrize("where", ["the door to a machine", "a file that tunnels share"])
def test_one_of_tunbenchs_own_is_no_failure_of_the_tunnel_that_met_it(
    where: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, name = (node.Node, "bridge") if where == "the door to a machine" else (kernel_links, "udp_checksum")
    file = inspect.getfile(node if of is node.Node else kernel_links)
    found: dict[str, Any] = {}
    exec(compile('def mistaken(*_): raise AttributeError("Tunbench\'s own")', file, "exec"), found)
    monkeypatch.setattr(of, name, found["mistaken"])
    with pytest.raises(AttributeError, match="own"):
        lived(home, shard("vxlan", 1, PING).spec(), "vxlan")


def test_one_of_tunbenchs_own_is_none_of_a_file_that_it_did_not_meet(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: object) -> None:
        raise AttributeError("Tunbench's own")

    monkeypatch.setattr(stack, "prepare", mistaken)
    with pytest.raises(AttributeError, match="own"):
        lived(home, shard("none", 1, PING).spec())
