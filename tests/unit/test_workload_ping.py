"""ping with do-not-fragment: what does not fit is lost, and who refused it is counted."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.fakes import FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.unit.outputs import edited, of, sound
from tunbench.runner.options import resolve
from tunbench.runner.shell import Result
from tunbench.runner.underlay import UNDERLAYS
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import ping

REFUSALS = ("ping-df-local.txt", "ping-df-frag-needed.txt", "ping-df-packet-too-big.txt")


@pytest.mark.parametrize("name", REFUSALS)
def test_what_does_not_fit_is_lost_and_refused(name: str) -> None:
    samples = ping.parse(captured(name), 0.01, df=True)
    assert [(one.metric, one.value) for one in samples] == [("loss", 1), ("duplicates", 0), ("refused", 3)]


def test_what_fits_is_not_refused() -> None:
    samples = ping.parse(captured("ping-df-fits.txt"), 0.01, df=True)
    assert [one.value for one in samples if one.metric in ("loss", "refused")] == [0, 0]
    assert sum(one.metric == "rtt" for one in samples) == 3


def test_what_vanishes_is_lost_and_not_refused() -> None:
    samples = ping.parse(captured("ping-all-lost.txt"), 0.01, df=True)
    assert [(one.metric, one.value) for one in samples] == [("loss", 1), ("duplicates", 0), ("refused", 0)]


def test_without_the_option_nothing_is_counted_as_refused() -> None:
    samples = ping.parse(captured("ping-df-local.txt"), 0.01)
    assert [(one.metric, one.value) for one in samples] == [("loss", 1), ("duplicates", 0)]


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    move_home(monkeypatch, tmp_path)
    # ping ends with status 1, and the errors stand in its other output.
    shell, events = FakeShell({"ping": Result(1, "", captured("ping-df-local.txt"))}), FakeEvents()
    client, server = two_nodes(shell, events)
    options = resolve(ping.ABOUT.options, {"count": "3", "size": "1473", "df": "on"}, "ping")
    trial = Trial(options, client, server, UNDERLAYS["ip6"].endpoints)
    ping.execute(trial)
    assert events.commands == ["ip netns exec a ping -n -c 3 -i 0.01 -s 1473 -M do -W 5 fd00:0:0:2::2"]
    assert trial.samples[-1].value == 3


@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_output_that_was_edited_gives_sound_values_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    sound(of("ping", lambda text: ping.parse(text, 0.01, df=True), []), edited(captured(dice.choice(REFUSALS)), dice))
