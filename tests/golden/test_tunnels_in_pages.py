"""What pages say of tunnels, by number and by name, is what they declare."""

import re
from collections.abc import Callable

import pytest

from tests.helpers.documentation import DOCS, README, having, named, page, rows
from tunbench.runner import registry
from tunbench.runner.catalogue import variants
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.declare.tunnel import About
from tunbench.runner.tunnel import Tunnel


def groups() -> dict[str, list[str]]:
    """The groups of tunnels of the README, each with the spellings that it names."""
    return {cells[0]: named(cells[1]) for cells in rows(README, "group")}


def test_the_readme_names_and_counts_every_tunnel() -> None:
    layers = {text.partition(":")[0] for spelled in groups().values() for text in spelled}
    assert sorted(layers) == registry.tunnel_names()
    [told] = re.findall(r"the (\d+) tunnels", README)
    assert int(told) == len(registry.tunnel_names())


def test_the_readme_says_which_mesh_vpns_have_a_control_plane() -> None:
    having = {name for name in registry.tunnel_names() for about in variants(name).values() if CONTROL in about.roles}
    told = groups()["mesh VPNs with a control plane"]
    assert {text.partition(":")[0] for text in told} == having
    assert [text for text in told if CONTROL not in variants(text.partition(":")[0])[text].roles] == []
    assert [text for text in groups()["mesh VPNs without one"] if CONTROL in variants(text)[text].roles] == []


def test_the_readme_says_which_tunnels_need_programs_that_debian_lacks() -> None:
    [tools, brought] = re.findall(r"builds those of (.*?); those of (.*?) you", README, re.DOTALL)[0]
    every = {text: about for name in registry.tunnel_names() for text, about in variants(name).items()}
    always = {text for text, about in every.items() if about.needs.tools}
    # A tunnel that always needs them is named alone, not with each of its options.
    assert set(named(tools)) == {text for text in always if ":" not in text or text.partition(":")[0] not in always}
    assert set(named(brought)) == {text for text, about in every.items() if about.needs.brought and ":" not in text}


def spelled(name: str, text: str) -> set[str]:
    """The texts between backticks in the one part of a page that the pattern finds."""
    [found] = re.findall(text, page(name), re.DOTALL)
    return set(named(found))


def test_the_pages_say_which_tunnels_join_two() -> None:
    told = spelled("limitations.md", r"- ((?:`[\w-]+`(?:, | and ))+`[\w-]+`) join two endpoints")
    assert told == having(lambda about: about.joins)


def test_the_pages_say_which_tunnels_relay() -> None:
    assert spelled("methodology.md", r"could go through another node \((.*?)\)") == having(lambda about: about.relays)


def test_the_pages_say_which_programs_give_their_interface_an_mtu() -> None:
    told = spelled("methodology.md", r"give their interface an MTU whatever is below: (.*?) have their own defaults")
    assert told == having(lambda about: about.own_mtu)
    largest = re.findall(r"(\d+) for `(\w+)`", re.findall(r"own largest does: (.*?)\.", page("methodology.md"))[0])
    limited = {name: str(registry.tunnel(name).about.largest_mtu) for name in registry.tunnel_names()}
    without = having(lambda about: about.own_mtu or about.largest_mtu == About._field_defaults["largest_mtu"])
    assert {name: number for number, name in largest} == {n: mtu for n, mtu in limited.items() if n not in without}


def test_the_pages_say_which_formats_are_bounds() -> None:
    told = spelled("methodology.md", r"packets can be smaller by up to `spare` bytes\.(.*?)0 for all others")
    found = set()
    for name in registry.tunnel_names():
        spare = _spares(name)
        found |= {name for given in ({}, {"compression": "1"}) if spare(given)}
        chosen = [("relay", "on"), *(("path", path) for path in registry.tunnel(name).about.paths)]
        found |= {f"{name}:{key}={value}" for key, value in chosen if spare({key: value}) > spare({})}
    assert told == found


def _spares(name: str) -> Callable[[dict[str, str]], int]:
    """By options, those left out that a tunnel does not have: the bytes by which its packets may be smaller."""
    kind = registry.tunnel(name)
    takes = kind.takes()
    return lambda given: kind.format(resolve(takes, {key: given[key] for key in given if key in takes}, name), 4).spare


def test_the_pages_say_which_layers_yield_something_else() -> None:
    told = {text for cells in rows(page("methodology.md"), "layer") for text in named(cells[0])}
    own = {name for name in registry.tunnel_names() if "yields" in vars(registry.tunnel(name))}
    assert own <= {text.partition(":")[0] for text in told}
    assert {text.partition(":")[0] for text in told} <= set(registry.tunnel_names())


@pytest.mark.parametrize("name", registry.tunnel_names())
def test_a_tunnel_that_writes_mtu_is_named_among_the_decisions(name: str) -> None:
    kind = registry.tunnel(name)
    own = "mtu" in kind.about.options or kind.takes.__func__ is not Tunnel.takes.__func__  # type: ignore[attr-defined]
    [rule] = re.findall(r"\*\*`mtu`, `inner` and `outer`.*?\n\n", (DOCS / "decisions.md").read_text(), re.DOTALL)
    assert (f"`{name}` has an `mtu` of its own" in rule) == (own and "mtu" in kind.takes())
