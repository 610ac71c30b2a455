"""Mesh VPNs with their control planes: each comes up in a ring, goes direct, is joined anew, and fails in time."""

from pathlib import Path

import pytest

from tests.helpers.leaks import leaks
from tests.helpers.measuring import execute, verdicts
from tunbench.journal import journal
from tunbench.journal.record import Record
from tunbench.labs import payload
from tunbench.report.conclusion import finish
from tunbench.runner import registry
from tunbench.runner.declare.verdicts import Verdict
from tunbench.toolbox.tools import TOOLS

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(3600)]

PLAN = """\
name = "test"
topology = "ring"
stacks = {stacks}
workloads = {workloads}
profiles = ["{profile}"]
"""

MESHES = {name: registry.tunnel(name).about for name in registry.tunnel_names()}
SHIPPED = sorted(
    name for name, about in MESHES.items() if about.needs.tools and not about.needs.brought and not about.pods
)
"""Those whose programs the toolbox holds: all of them must be there for these tests."""

PING = "ping:count=25,interval=1"

MINUTE = 60.0
"""Seconds of the lab's time in which a failure must be told."""


def text(stacks: list[str], workloads: list[str], profile: str = "baseline") -> str:
    return PLAN.format(stacks=stacks, workloads=workloads, profile=profile)


def test_the_toolbox_is_there() -> None:
    missing = {tool for name in SHIPPED for tool in MESHES[name].needs.tools if not TOOLS[tool].installed}
    assert missing == set(), f"install them with: tunbench toolbox install {' '.join(sorted(missing))}"


@pytest.mark.parametrize("name", SHIPPED)
def test_a_mesh_comes_up_in_a_ring_goes_direct_and_is_joined_anew(name: str, tmp_path: Path) -> None:
    workloads = [
        "ping:count=10,pairs=each",
        "iperf3-tcp:duration=1,pairs=together",
        "connect:times=1,state=cold",
        "join:times=2",
    ]
    record = execute(tmp_path / "run", text([name], workloads))
    told = {workload: verdict for (_, workload), (verdict, _) in verdicts(record).items()}
    joined = Verdict.OK if MESHES[name].rejoins else Verdict.UNSUPPORTED
    assert told == dict.fromkeys(told, Verdict.OK) | {"join:times=2": joined}
    proofs = [event for event in journal.events(tmp_path / "run") if event["event"] == "proof"]
    assert {event["pair"] for event in proofs} == {"a-b", "b-c", "c-a"}
    assert {warning.name for warning in record.warnings} & {"relayed", "outside", "left-behind"} == set()
    finish(tmp_path / "run")
    assert leaks(tmp_path / "run") == []


# How headscale is made to fail: a key that nobody gave, a control plane that does not start, one that dies while
# something is measured, and one that nobody reaches.
WRONG_KEY = ('"preauthkeys", "create", "--user", "1"', '"version"')
DOES_NOT_START = ("server_url: https://{control}:{port}", "server_url: https://{control}:{port}\nnoise: 7")
DIES = ('self.start(node, *self._headscale("serve"))', 'self.start(node, "timeout", "25", *self._headscale("serve"))')
CUT_OFF = ('f"--login-server=https://{self._control}"', '"--login-server=https://10.0.252.9"')


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (WRONG_KEY, "headscale: a did not enrol within"),
        (DOES_NOT_START, "headscale: its daemon on control ended with status 1"),
        (CUT_OFF, "headscale: a did not enrol within"),
    ],
)
def test_a_failure_is_told_within_a_minute(
    change: tuple[str, str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = spoilt(change, tmp_path, monkeypatch)
    assert {verdict for verdict, _ in verdicts(record).values()} == {"failed"}
    assert all(why.startswith(reason) for _, why in verdicts(record).values())
    assert lasted(tmp_path / "run") < MINUTE


def test_a_control_plane_that_dies_while_something_is_measured_fails_it_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = verdicts(spoilt(DIES, tmp_path, monkeypatch))
    assert found["headscale", "up"] == ("ok", "")
    verdict, why = found["headscale", PING]
    assert verdict == Verdict.FAILED and why.startswith("headscale: its daemon on control ended with status 124")
    assert lasted(tmp_path / "run") < MINUTE


def spoilt(change: tuple[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """A run in which a line of headscale's tunnel is another."""
    files = payload.runner_files()
    [name] = [one for one, code in files.items() if "tunnels/headscale/" in one and change[0].encode() in code]
    assert files[name].count(change[0].encode()) == 1
    files[name] = files[name].replace(change[0].encode(), change[1].encode())
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    return execute(folder / "run", text(["headscale"], [PING]))


def lasted(run: Path) -> float:
    """Seconds of the lab's time from the first daemon to the end."""
    began, ended = (
        next(event["at"] for event in journal.events(run) if event.get("name") == phase) for phase in ("up", "end")
    )
    return float(ended) - float(began)
