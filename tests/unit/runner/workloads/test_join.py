"""A node that joins while the others are looked at."""

from pathlib import Path

import pytest

from tests.helpers.fakes import captured, move_home
from tests.helpers.probed_lab import ProbedLab
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.workloads import join
from tunbench.runner.workloads.shared import blocked_time
from tunbench.runner.workloads.shared.node_counters import Counters

CONNECT, SILENT = captured("probe-connect.txt"), captured("probe-silent.txt")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def looks(*sent: int, at: float = 1.0) -> list[Counters]:
    return [Counters(at, size, 1, {(7, 7): 1000 * size}) for size in sent]


def test_what_it_costs_all_others_is_added_up() -> None:
    samples = join.parse(CONNECT, 2.7, 0.5, looks(100, 200), looks(150, 260, at=2.0))
    assert [(one.metric, one.at) for one in samples] == [(name, 0.5) for name in ("join", "join-bytes", "join-cpu")]
    assert [one.value for one in samples] == pytest.approx([2.769814557 - 2.7, 110, 110e-6])


def test_a_node_that_nobody_answers_has_not_joined() -> None:
    with pytest.raises(WorkloadFailed, match="no node answered the one that joined within 50 s"):
        join.parse(SILENT, 0.0, 0.0, looks(1), looks(2, at=2.0))
    with pytest.raises(WorkloadFailed, match="went backwards"):
        join.parse(CONNECT, 2.7, 0.0, looks(2), looks(1, at=2.0))


def test_the_last_node_goes_and_comes_back_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_time, "answered_since", lambda node, log, moment: True)
    monkeypatch.setattr(join, "now", lambda: 2.7)
    lab = ProbedLab("vxlan", CONNECT, answers={"grep -Hs": captured("idle-1.txt")})
    commands = lab.execute("join", times="1", settle="2s")
    links = [one.split(" type")[0] for one in commands if "link del" in one or "link add" in one]
    assert [one[:13] for one in links] == ["b ip link del", "b ip link add"]
    assert [one for one in commands if "sleep" in one] == ["b sleep 1", "b sleep 2"]


def test_without_a_tunnel_there_is_nothing_to_join() -> None:
    with pytest.raises(Unsupported, match="there is no tunnel that could be joined"):
        ProbedLab("none", CONNECT).execute("join", times="1")


def test_who_keeps_the_place_of_one_that_has_left_is_not_joined_again() -> None:
    lab = ProbedLab("innernet", CONNECT)
    with pytest.raises(Unsupported, match="innernet gives the place of an endpoint that has left to no other one"):
        lab.execute("join", times="1")
