"""The plan that is made of a line's data sheet."""

from pathlib import Path
from typing import Any

import pytest

from tunbench.plan import choice
from tunbench.plan.choice import PURPOSES, Choice
from tunbench.plan.load import PlanError, read
from tunbench.plan.model import Plan


def asked(**changed: Any) -> Choice:
    given: dict[str, Any] = {
        "stacks": ["none", "wireguard"],
        **{"line": "300M/40M", "line_b": "", "delay": "35ms", "loss": "0.2%", "purpose": "", "seed": 7},
    }
    return choice.read(**{**given, **changed})


def plan(**changed: Any) -> Plan:
    return read(choice.text(asked(**changed), "tunbench choose …"), Path("choose.toml")).plan


def only(values: Any) -> Any:
    """The one value of an axis."""
    [found] = values
    return found


def test_the_line_is_the_link_of_both_sites() -> None:
    link: Any = only(plan().values["link"])
    assert (link.up.rate, link.down.rate) == (40e6, 300e6)
    assert plan().axes["access"] == ["none"]
    profile: Any = only(plan().values["profile"])
    assert profile.spec()["forward"] == {"delay": 0.035, "loss": 0.002}
    assert (plan().seed, plan().axes["stack"]) == (7, ["none", "wireguard"])


def test_two_lines_are_two_gateways() -> None:
    found = plan(line_b="50M/1G")
    accesses: Any = only(found.values["access"])
    rates = {node: (one.link.up.rate, one.link.down.rate) for node, one in accesses.own.items()}
    assert rates == {"a": (40e6, 300e6), "b": (1e9, 50e6)}
    assert found.axes["link"] == ["wire"]
    # Over IPv6 a gateway is a stateful firewall unless it is open.
    assert {one.firewall for one in accesses.own.values()} == {"open"}
    assert accesses.name == "none,a=line-300m-40m,b=line-50m-1g"


@pytest.mark.parametrize(
    ("given", "link", "profile"),
    [
        ({}, "300M-40M", "delay-35ms-loss-2-in-1000"),
        ({"line": "2.5G/900K", "loss": "0%"}, "2500M-900K", "delay-35ms"),
        ({"line": "1Gbit/1G", "delay": "0.5ms", "loss": "0.05%"}, "1G-1G", "delay-500us-loss-5-in-10000"),
        ({"delay": "0ms", "loss": "100%"}, "300M-40M", "delay-0ns-loss-1-in-1"),
    ],
)
def test_link_and_profile_are_called_by_what_they_are(given: dict[str, str], link: str, profile: str) -> None:
    found = plan(**given)
    assert (found.axes["link"], found.axes["profile"]) == ([link], [profile])


@pytest.mark.parametrize(
    ("line", "line_b", "to_b", "to_a"),
    [
        ("300M/40M", "", "40M", "40M"),
        ("300M/40M", "10M/1G", "10M", "300M"),
        ("0.5G/900K", "2M/600M", "900K", "0.5G"),
    ],
)
def test_each_way_has_the_smaller_of_what_goes_up_here_and_comes_down_there(
    line: str, line_b: str, to_b: str, to_a: str
) -> None:
    found = asked(line=line, line_b=line_b)
    assert (found.to_b, found.to_a) == (to_b, to_a)


@pytest.mark.parametrize("purpose", PURPOSES)
def test_every_purpose_has_a_plan_that_stops_by_width(purpose: str) -> None:
    found = plan(purpose=purpose)
    assert tuple(one.name for one in found.workloads) == PURPOSES[purpose].workloads
    assert found.until is not None and found.until.metrics == tuple(sorted(PURPOSES[purpose].metrics))


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "one stack": ({"stacks": ["none"]}, "name two stacks at least"),
    "a stack twice": ({"stacks": ["none", "gre", "none"]}, "none is named twice: take one of them away"),
    "no such stack": ({"stacks": ["none", "wireguardd"]}, 'did you mean "wireguard"'),
    "no up": ({"line": "300M"}, '--line: "300M" is not two rates'),
    "no unit": ({"line": "300/40"}, '--line: "300" has no unit: write what comes down and what goes up, such as'),
    "nothing": ({"line": "0/40M"}, '--line: "0" has no unit: write what comes down and what goes up, such as'),
    "too slow": ({"line": "0M/1M"}, '--line: "0M" is out of range: a line has 1K to 600G; write what comes down'),
    "too fast": ({"line": "1M/601G"}, '--line: "601G" is out of range: a line has 1K to 600G; write what comes down'),
    "no rate": ({"line": "fast/40M"}, "--line: .*fast"),
    "the other line": ({"line_b": "9M/"}, '--line-b: "9M/" is not two rates'),
    "a delay too long": ({"delay": "1h"}, '--delay: "1h" is out of range: allowed is 0 to 60 s'),
    "a delay without unit": ({"delay": "35"}, "--delay: "),
    "delays": ({"delay": "0ms..50ms step 10ms"}, "--delay: 0ms..50ms step 10ms are several values: give one, such as"),
    "losses": ({"loss": "1%..2% step 1%"}, "--loss: 1%..2% step 1% are several values: give one, such as 0.2%"),
    "a loss of more than all": ({"loss": "200%"}, "--loss: "),
    "a quote": ({"loss": '1%", x = "'}, "--loss: "),
    "another purpose": ({"purpose": "games"}, '--for: there is no "games"; known: backup, voip, web'),
}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, "--seed: -1 is out of range: allowed is 0 to 9223372036854775807"),
        (
            {"stacks": ["none", "macsec"], "line_b": "1G/1G"},
            "--line-b: macsec needs Ethernet between its endpoints, and a gateway passes IP packets: "
            "take one of them away",
        ),
    ],
)
def test_a_mistake_of_the_whole_names_an_option_and_no_file(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as told:
        choice.loaded(choice.text(asked(**given), "tunbench choose …"), Path("choose.toml"))
    assert str(told.value) == message


@pytest.mark.parametrize("line", ["1K/1K", "600G/600G", "1K/600G"])
def test_the_slowest_and_the_fastest_line_are_plans(line: str) -> None:
    choice.loaded(choice.text(asked(line=line), "tunbench choose …"), Path("choose.toml"))


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_names_its_option(case: str) -> None:
    changed, message = MISTAKES[case]
    with pytest.raises(PlanError, match=f"^{message}" if message.startswith("--") else message):
        asked(**changed)
