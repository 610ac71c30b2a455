import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import studies
from tests.helpers.runs import ScriptedLab
from tunbench.journal.read import loaded_plan
from tunbench.journal.readers import published
from tunbench.labs import registry as labs
from tunbench.plan.estimate.duration import estimate
from tunbench.plan.expand import expand
from tunbench.plan.load import PlanError, load, read, shipped_studies
from tunbench.plan.study.cell import read_expected
from tunbench.plan.study.grid import NoCell, grid, resolve
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.run import execution, resume
from tunbench.run.order import read_order


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["<", "<=", ">", ">="]))
def test_a_sign_expects_all_of_one_side(bound: float, sign: str) -> None:
    expected = read_expected(f"{sign} {bound!r}")
    beyond = math.inf if sign[0] == ">" else -math.inf
    assert not expected.below(beyond) and not expected.above(beyond)
    assert expected.below(-beyond) or expected.above(-beyond)
    at_bound = expected.below(bound) or expected.above(bound)
    assert at_bound == (not sign.endswith("="))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_range_holds_its_bounds_and_nothing_beyond(one: float, other: float) -> None:
    low, high = sorted((one, other))
    expected = read_expected(f"{low!r}..{high!r}")
    assert (expected.low, expected.high) == (low, high)
    assert not expected.below(low) and not expected.above(high)
    assert expected.below(math.nextafter(low, -math.inf)) and expected.above(math.nextafter(high, math.inf))


@pytest.mark.parametrize("text", ["", "1", "= 1", "> ", "> x", "1..", "..1", "2..1", "> 1 2", 1, None])
def test_what_expects_nothing_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"expect|number"):
        read_expected(text)


def test_a_scale_replaces_keys_of_the_plan(tmp_path: Path) -> None:
    full, quick = (studies.loaded(tmp_path, scale) for scale in ("full", "quick"))
    assert (len(expand(full.plan)), len(expand(quick.plan))) == (48, 12)
    assert (full.scale, quick.scale, list(full.plans)) == ("full", "quick", ["full", "quick"])
    assert full.plans["quick"] == quick.plan
    assert full.plan.axes["stack"] == quick.plan.axes["stack"]


def test_the_command_line_overrides_a_scale_too(tmp_path: Path) -> None:
    assert load(str(studies.written(tmp_path)), seed=9, scale="quick").plan.seed == 9


@pytest.mark.parametrize(
    ("text", "scale", "message"),
    [
        (studies.PLAN, "quik", '--scale: any.toml has no scale "quik"; did you mean "quick"?'),
        (studies.PLAN.split("[scale")[0], "quick", "--scale: any.toml has no scales: leave the option away, or write"),
        (studies.PLAN.split("[scale")[0], "full", "--scale: any.toml has no scales: leave the option away, or write"),
    ],
)
def test_a_scale_that_is_not_there_is_refused(text: str, scale: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(text, Path("any.toml"), {"scale": scale})
    assert message in str(caught.value)


def test_what_is_wrong_with_any_scale_is_told() -> None:
    text = studies.PLAN.replace("repeats = 3", "repeats = 0")
    with pytest.raises(PlanError, match=r"any.toml:8: scale.quick.repeats: 0 is out of range"):
        read(text, Path("any.toml"))


def test_an_open_axis_has_the_one_value_that_measures_the_metric(tmp_path: Path) -> None:
    of = grid(studies.loaded(tmp_path, "quick").plan)
    assert resolve({"stack": "ipip"}, of)["workload"] == studies.TCP
    assert resolve({"stack": "ipip", "metric": "rtt"}, of)["workload"] == studies.PING
    assert resolve({"stack": "ipip", "metric": "connect"}, of)["workload"] == "up"
    with pytest.raises(MistakeAt, match="leaves open which workload it is"):
        resolve({"stack": "ipip", "metric": "cost"}, of)


def test_another_spelling_of_a_stack_is_the_plans_own(tmp_path: Path) -> None:
    of = grid(studies.loaded(tmp_path, "quick").plan)
    assert resolve({"stack": "wireguard:outer=ipv4"}, of)["stack"] == "wireguard"
    assert resolve({"stack": "ipip", "workload": "iperf3-tcp:duration=1s"}, of)["workload"] == studies.TCP
    with pytest.raises(NoCell):
        resolve({"stack": "vxlan"}, of)


def test_a_scale_may_leave_out_what_a_claim_needs(tmp_path: Path) -> None:
    text = (
        studies.PLAN + f'workloads = ["{studies.PING}"]\nstacks = ["none", "ipip"]\n' + studies.STUDY + studies.CLAIMS
    )
    path = studies.written(tmp_path, text)
    assert len(expand(load(str(path), scale="quick").plan)) == 6


def test_a_claim_needs_no_study(tmp_path: Path) -> None:
    loaded = read(studies.PLAN + studies.CLAIMS, tmp_path / "any.toml")
    assert loaded.study is None and len(loaded.claims) == 4


def test_a_run_keeps_its_scale_and_its_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab())
    path, folder = studies.written(tmp_path), tmp_path / "run"
    order = read_order(path.read_text(), str(path), {"scale": "quick"})
    execution.create(folder, order)
    path.unlink()
    (tmp_path / "tiny.csv").unlink()
    assert resume.reopen(folder).shards == order.shards
    assert len(order.shards) == 12
    again = loaded_plan(folder)
    assert (again.scale, again.plan) == ("quick", order.plan)
    assert (folder / "tiny.csv").read_text() == studies.REFERENCE


def test_a_study_without_its_reference_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab())
    text = studies.PLAN + studies.STUDY
    with pytest.raises(PlanError, match=r'16: study.reference: there is no file "tiny.csv"'):
        read_order(text, str(tmp_path / "any.toml"), {})


LONGER = ("mesh-thesis-2026", "mesh-kubernetes-2024")
"""Their quick scales have some systems, in an hour: tests/unit/plan/study has a file of each."""


@pytest.mark.parametrize("name", [name for name in shipped_studies() if name not in LONGER])
def test_quick_covers_every_system_three_times_in_half_an_hour(name: str) -> None:
    loaded = load(name, scale="quick")
    assert loaded.study is not None
    assert loaded.plan.repeats == 3
    assert set(loaded.study.systems.values()) <= set(loaded.plan.axes["stack"])
    assert estimate(expand(loaded.plan), 2) <= 1800


@pytest.mark.parametrize("name", shipped_studies())
def test_every_shipped_study_is_whole(name: str) -> None:
    loaded = load(name)
    assert loaded.study and loaded.claims
    assert "quick" in loaded.plans
    assert published.read(loaded)
