"""What the page of choosing shows is what the commands say and write."""

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.helpers.documentation import DOCS, named, rows
from tests.helpers.metric_labs import measuring
from tests.helpers.runs import invoke, runs_here
from tunbench.analysis import e_model
from tunbench.plan.choice import PURPOSES, QUEUE_MILLISECONDS
from tunbench.plan.estimate import host_pace
from tunbench.plan.expand import expand
from tunbench.plan.load import check

PAGE = (DOCS / "choose-a-vpn.md").read_text()
BLOCKS = dict(re.findall(r"^```\n\$ (tunbench choose .*)\n((?:.*\n)*?)```$", PAGE, re.MULTILINE))
[PLAN] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A scripted lab on two cores, as fast as those that the estimates were read off."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(host_pace, "now", lambda workers: 1.0)
    folder = runs_here(monkeypatch, tmp_path)
    measuring(monkeypatch, lambda shard: 1e6 * (1 + shard.repeat / 1e4))
    return folder


@pytest.mark.parametrize("command", BLOCKS)
def test_each_command_says_what_the_page_shows(command: str) -> None:
    done = invoke(*shlex.split(command)[1:])
    assert done.exit_code == 0
    shown = BLOCKS[command].splitlines()
    assert done.stderr.splitlines()[: len(shown)] == shown


def test_there_are_commands_that_say_something_and_that_write() -> None:
    assert [bool(shown) for shown in BLOCKS.values()] == [True, False]


def test_the_plan_of_the_page_is_the_one_that_is_written() -> None:
    [command] = [command for command in BLOCKS if "--write" in command]
    invoke(*shlex.split(command)[1:])
    assert Path("my-plan.toml").read_text() == PLAN
    assert {one.stack.name for one in expand(check(PLAN, "my-plan.toml"))} == {"wireguard", "openvpn"}


def test_every_purpose_has_a_row_with_its_metrics_and_its_width() -> None:
    told = {
        "".join(named(cells[0])): (named(cells[2]), cells[2].rpartition(": ")[2]) for cells in rows(PAGE, "`--for`")
    }
    assert told == {name: (list(one.metrics), one.width.replace("%", " %")) for name, one in PURPOSES.items()}


def test_the_call_of_the_page_has_the_rating_of_its_delay_and_loss() -> None:
    [told] = re.findall(r"^wireguard: R ([\d.]+) .* MOS ([\d.]+); ([\d.]+) ms .* ([\d.]+) % not played$", PAGE, re.M)
    rating, opinion, milliseconds, percent = map(float, told)
    computed = e_model.rating(milliseconds / 1000, percent / 100)
    assert (round(computed, 1), round(e_model.opinion(computed), 2)) == (rating, opinion)


def test_the_queue_of_the_page_is_the_one_of_the_plan() -> None:
    assert f"a queue of {QUEUE_MILLISECONDS} ms" in PAGE
