"""The table of tools, and what a stack says of the toolbox."""

from contextlib import suppress
from pathlib import Path

import pytest

from tunbench.labs import extras
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.plan.axes.stack import parse
from tunbench.plan.extent import duration_in_words
from tunbench.report.terminal.listings import size_of
from tunbench.runner import registry
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.tunnel import About
from tunbench.runner.stack import _missing
from tunbench.toolbox import build_requirements
from tunbench.toolbox.tools import TOOLS, Tool, UnknownTool, tool


@pytest.mark.parametrize("one", TOOLS.values(), ids=lambda one: one.name)
def test_a_tool_is_whole(one: Tool) -> None:
    assert (one.language == "go") == bool(one.module)
    assert set(one.cgo) <= set(one.parts)
    assert not one.cgo or "gcc" in one.calls, "C code needs a compiler"
    assert build_requirements.number(one.version) and build_requirements.number(one.oldest)
    assert one.seconds > 0 and one.space > 1e6
    assert one.folder.name == f"{one.name}-{one.version}"


def test_no_name_stands_for_two_images_and_no_program_is_in_two_tools() -> None:
    assert not set(TOOLS) & {*ADDONS, "base"}
    programs = [program for one in TOOLS.values() for program in one.programs]
    assert len(programs) == len(set(programs))


def abouts() -> list[About]:
    """What every tunnel declares, with the usual options and with each choice that it has."""
    found = []
    for name in registry.tunnel_names():
        kind = registry.tunnel(name)
        given = [{option: choice} for option, one in kind.takes().items() for choice in one.choices]
        for options in [{}, *given]:
            # A choice may want another one beside it.
            with suppress(ValueError):
                found.append(kind.with_options(resolve(kind.takes(), options, name)))
    return found


def test_what_tunnels_declare_is_in_the_toolbox() -> None:
    for about in abouts():
        needs, recipes = about.needs, {recipe.name for recipe in about.sources.recipes}
        assert set(needs.tools) <= recipes, about.name
        assert not set(needs.tools) & set(needs.brought), about.name
        held = {program for name in needs.tools for program in TOOLS[name].programs}
        assert not needs.tools or held & set(needs.programs), f"{about.name} needs no program of its tools"


def test_an_unknown_tool_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownTool, match=r'^there is no tool "headscal"; did you mean "headscale"\?$'):
        tool("headscal")
    assert tool("headscale") is TOOLS["headscale"]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("tailscaled", "the program tailscaled is not installed; install it with: tunbench toolbox install tailscale"),
        # Its tool is not among those that are needed.
        ("headscale", "the program headscale is not installed"),
        ("wg", "the program wg is not installed"),
        ("zerotier-one", "zerotier-one is not installed (docs/tunnels.md#headscale)"),
    ],
)
def test_a_verdict_names_the_mend(program: str, message: str) -> None:
    about = registry.tunnel("headscale").about
    needs = about.needs._replace(tools=("tailscale",), brought=("zerotier-one",))
    assert _missing(program, needs, about.sources, "docs/tunnels.md#headscale") == message


def test_a_stack_names_what_it_needs_beyond_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    about = registry.tunnel("ipip").about.needing(tools=("wesher",), brought=("mycelium",), addons=("libreswan",))
    monkeypatch.setattr(registry.tunnel("ipip"), "about", about)
    assert extras.extras_of(parse("wireguard+ipip")) == {("tools", "wesher"), ("brought", "mycelium")}
    assert extras.images_beyond_base([parse("wireguard+ipip")]) == ["libreswan", "mycelium", "wesher"]
    assert extras.images_beyond_base([parse("wireguard")]) == []
    images = [TOOLS["wesher"], TOOLS["headscale"]]
    assert extras.needed([parse("ipip")], images) == [TOOLS["wesher"]]
    assert extras.needed([parse("wireguard")], images) == []


DOCS = Path(__file__).parents[3] / "docs" / "toolbox.md"


def rows(heading: str) -> list[list[str]]:
    """The cells of the table of the page whose second column has this heading, without marks."""
    table = DOCS.read_text().partition(f"| tool | {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_page_names_every_tool_with_what_it_holds() -> None:
    listed = [cells[:3] for cells in rows("version")]
    assert listed == [[one.name, one.version, ", ".join(one.programs)] for one in TOOLS.values()]


def test_the_page_says_what_each_takes() -> None:
    listed = rows("Go or Rust")
    assert listed == [
        [
            one.name,
            f"{one.language.title()} {one.oldest}",
            ", ".join(" ".join(one.calls.values()).split()),
            duration_in_words(one.seconds),
            size_of(one.space),
        ]
        for one in TOOLS.values()
    ]
