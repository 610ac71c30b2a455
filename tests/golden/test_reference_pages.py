"""The pages of workloads and probes name all that there is, with units and defaults; links lead somewhere.

What docs/adding-a-tunnel.md says that a layer carries is what it carries.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.plan.load import check
from tunbench.runner import registry, stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WORKLOADS = (DOCS / "workloads.md").read_text()
PROBES = (DOCS / "probes.md").read_text()
README = (ROOT / "README.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")


def section(name: str) -> str:
    """What the page says of a workload; two may share a section."""
    [found] = [
        text
        for text in re.split(r"^## ", WORKLOADS, flags=re.MULTILINE)
        if name in text.partition("\n")[0].split(" and ")
    ]
    return found


def sharing(name: str) -> list[str]:
    """The workloads that stand in the section of this one."""
    return section(name).partition("\n")[0].split(" and ")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of all tables whose first row begins with this heading."""
    tables = re.findall(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for table in tables for line in table.splitlines()]


def test_the_tables_of_both_pages_have_every_workload() -> None:
    for page in (WORKLOADS, README):
        assert sorted(re.findall(r"`([\w-]+)`", " ".join(cells[0] for cells in rows(page, "workload")))) == sorted(
            registry.workload_names()
        )


@pytest.mark.parametrize("name", registry.workload_names())
def test_every_metric_of_a_workload_has_a_row_with_its_unit(name: str) -> None:
    found = {one: cells[1] for cells in rows(section(name), "metric") for one in cells[0].split(", ")}
    declared = [registry.workload(one).ABOUT.metrics for one in sharing(name)]
    assert found == {metric: about.unit for metrics in declared for metric, about in metrics.items()}


@pytest.mark.parametrize("name", registry.workload_names())
def test_every_option_of_a_workload_is_named_with_its_default(name: str) -> None:
    [text] = re.findall(r"^Options.*?\n\n", section(name), re.MULTILINE | re.DOTALL) or [""]
    found = set(re.findall(r"`(\w+)`\s\(([^)]+)\)", text))
    declared = [registry.workload(one).ABOUT.options for one in sharing(name)]
    assert found == {(option, about.default) for options in declared for option, about in options.items()}


def test_every_metric_of_a_probe_has_a_row_with_its_unit() -> None:
    found = sorted((probe, metric, unit) for probe, metric, unit, *_ in rows(PROBES, "probe"))
    declared = {name: registry.probe(name).ABOUT.metrics for name in registry.probe_names()}
    assert found == sorted((name, metric, about.unit) for name in declared for metric, about in declared[name].items())


def test_every_term_of_netem_has_a_row() -> None:
    terms = rows((DOCS / "methodology.md").read_text(), "term")
    named = [name for cells in terms for name in cells[0].split(", ")]
    assert sorted(named) == sorted(TERMS)


def test_the_plans_of_the_readme_can_run() -> None:
    plans = re.findall(r"^```toml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(plans) == 2
    for text in plans:
        assert check(text, "plan.toml").name == tomllib.loads(text)["name"]


def test_what_a_layer_carries_is_what_the_page_says() -> None:
    page = (DOCS / "adding-a-tunnel.md").read_text()
    shown = dict(re.findall(r'^(\[".+?\]) +([\w-]+)[:,]', page, re.MULTILINE))
    asked = {"pair": ("a", "b"), "hub-spoke": ("b", "a"), "site-to-site": ("a", "b")}
    assert sorted(shown.values()) == sorted(asked)
    for text, kind in shown.items():
        assert carried(kind, *asked[kind]) == ast.literal_eval(text)


def carried(kind: str, node: str, peer: str) -> list[str]:
    """The networks whose packets a node sends to a peer by WireGuard in a topology."""
    form = topology.read(kind)
    [layer] = stack.build("wireguard", underlay.of("ip", form).endpoints, form).layers
    return layer.context.carries(Node(node, FakeShell(), FakeEvents()), peer)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"
