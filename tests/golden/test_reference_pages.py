"""The pages of workloads and probes name all that there is, with units and defaults; links lead somewhere.

What docs/adding-a-tunnel.md says that a layer carries is what it carries.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.documentation import rows
from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.plan.expand import expand
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
STUDIES = sorted((DOCS / "studies").glob("*.md"))

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


def test_the_table_of_the_page_has_every_workload() -> None:
    told = " ".join(cells[0] for cells in rows(WORKLOADS, "workload"))
    assert sorted(re.findall(r"`([\w-]+)`", told)) == sorted(registry.workload_names())


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


def plans() -> Iterator[tuple[str, str]]:
    """Every whole plan that a page shows, with the page; those for a tunnel that does not ship have their own tests."""
    for page in PAGES:
        for text in re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            if text.startswith("name = ") and page.name != "adding-a-tunnel.md":
                yield page.name, text


def test_the_plans_of_all_pages_can_run() -> None:
    assert {name for name, _ in plans()} == {"README.md", "native.md"}
    for _, text in plans():
        assert check(text, "plan.toml").name == tomllib.loads(text)["name"]


def test_what_the_page_shows_of_a_plan_is_what_it_expands_to() -> None:
    text = (DOCS / "getting-started.md").read_text()
    [plan] = [plan for name, plan in plans() if name == "README.md"]
    shards = expand(check(plan, "wan.toml"))
    told = re.findall(r"^([0-9a-f]{12}) +(\d+)  (\S+) +(\S+) +(\S+) +(\d+)$", text, re.MULTILINE)
    every = [
        (one.id, str(one.repeat), one.profile.name, one.stack.name, one.stack.underlay, str(len(one.workloads)))
        for one in shards
    ]
    assert told == [*every[:3], *every[-3:]]
    trials = sum(len(one.workloads) for one in shards)
    for page in (README, text):
        assert f"wan.toml: ok, {len(shards)} shards, {trials} trials" in page


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {(ROOT / target).resolve() for target, _ in LINK.findall(README)}
    assert [page.name for page in PAGES if page not in linked and page.name != "README.md"] == []


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(README.splitlines()) <= 180
    assert len(BLOCK.sub("", README).split()) <= 1200


NAMED = re.compile(r"`((?:[\w-]+/)+[\w.-]+\.(?:py|toml|csv|md))`")


@pytest.mark.parametrize("page", [*PAGES, *STUDIES], ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """Within the repository, the package or the runner; `mirror` is the example of a page, and NAME stands for any."""
    roots = (ROOT, ROOT / "src/tunbench", ROOT / "src/tunbench/runner", ROOT / "src/tunbench/runner/tunnels")
    named = [
        name for name in NAMED.findall(page.read_text()) if not re.search("mirror/|erspan|NAME|FOLDER|runs/", name)
    ]
    assert [name for name in named if not any((root / name).is_file() for root in roots)] == []


@pytest.mark.parametrize("page", [*PAGES, *STUDIES], ids=lambda page: page.name)
def test_lines_of_prose_are_short(page: Path) -> None:
    """Tables, code, and what other programs write may be longer."""
    lines = BLOCK.sub("", page.read_text()).splitlines()
    long = [line for line in lines if len(line) > 120 and not line.startswith(("|", "    ", "!["))]
    assert page.name == "tunnels.md" or long == []


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


@pytest.mark.parametrize("page", [*PAGES, *STUDIES], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"
