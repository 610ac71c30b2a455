"""What the page of plans shows can run, and its tables name what there is."""

import re
import tomllib
from pathlib import Path

import pytest

from tunbench.plan.axes import access, link, machine, tuning
from tunbench.plan.keys import KEYS
from tunbench.plan.load import check
from tunbench.runner.declare.access import DSCP, FIREWALLS, FRAGMENTS, ICMP, LISTS, NATS
from tunbench.runner.declare.axes import AXES, NAMES
from tunbench.runner.declare.link import FRAMINGS, SEGMENTATIONS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "plans.md").read_text()
BLOCKS = [
    block
    for page in (PAGE, (DOCS / "access.md").read_text())
    for block in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
]

REST = {
    "stacks": 'stacks = ["none", "wireguard"]',
    "workloads": 'workloads = ["ping", "iperf3-udp"]',
    "profiles": 'profiles = ["baseline", { name = "wan", delay = ["20ms", "50ms"] }]',
    "link": 'link = ["wire", "1G"]',
    "tuning": 'tuning = ["default", "gvisor-full"]',
    "machine": 'machine = ["full", "slow"]',
}


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_can_run(block: str) -> None:
    given = tomllib.loads(block)
    rest = "\n".join(line for key, line in REST.items() if key not in given)
    plan = check(f'name = "example"\n{rest}\n{block}', "example.toml")
    by_key = {axis.key: plan.values[axis.name] for axis in AXES}
    assert all(by_key[key] if key in by_key else getattr(plan, key) for key in given)


def test_results_are_named_as_the_page_says() -> None:
    [block] = [block for block in BLOCKS if "step 10M" in block]
    plan = check(f'name = "example"\n{block}', "example.toml")
    names = {name for axis in plan.axes.values() for name in axis}
    sentence = PAGE.partition("Results are named by their values:")[2].partition("\n- ")[0]
    assert len(shown := re.findall(r"`([^`]+)`", sentence)) == 6
    assert set(shown) <= names


def test_every_key_is_in_the_table() -> None:
    keys = re.findall(r"^\| `\[?(\w+)\]?` \|", PAGE.partition("## Profiles")[0], re.MULTILINE)
    assert sorted(keys) == sorted(KEYS)


def test_every_name_is_on_the_page() -> None:
    shipped = [*link.shipped(), *tuning.shipped(), *machine.shipped()]
    keys = [*link.FORM.keys[1:], *tuning.FORM.keys[1:], *NAMES]
    names = [*shipped, *keys, *FRAMINGS, *SEGMENTATIONS, *machine.FEATURES]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_access_and_its_words_are_on_their_page() -> None:
    page = (DOCS / "access.md").read_text()
    words = [*access.shipped(), *access.FORM.keys[1:], *NATS, *FIREWALLS, *ICMP, *FRAGMENTS, *DSCP]
    assert [word for word in words if f"`{word}`" not in page and word != LISTS] == []
