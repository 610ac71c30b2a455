"""The pages of the documentation are true.

docs/tunnels.md is what the tunnels declare: TUNBENCH_UPDATE_GOLDEN=1 writes it anew. What docs/adding-a-tunnel.md shows
is executed: its tunnel, its workload and its plans, as the plug-in that the page makes of them.
"""

import io
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.plugins import made
from tunbench.analysis import overhead
from tunbench.analysis.overhead import OverheadCheck, PacketOverhead
from tunbench.cli import app
from tunbench.plan.load import check
from tunbench.plugins import installed, taken
from tunbench.report.export import tunnel_pages as page_of_tunnels
from tunbench.report.terminal.overhead_table import rendered
from tunbench.run import overhead as measuring
from tunbench.runner import registry, stack
from tunbench.runner.declare import path, spelling
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import OPTION_KINDS, resolve
from tunbench.runner.declare.tunnel import About, Needs
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.tunnel import common_options

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tunnels.md"
ADDING = (DOCS / "adding-a-tunnel.md").read_text()


def test_the_page_of_the_tunnels_is_what_they_declare() -> None:
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        PAGE.write_text(page_of_tunnels.markdown())
    assert PAGE.read_text() == page_of_tunnels.markdown()


def test_what_the_page_shows_of_a_study_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    printed = CliRunner().invoke(app, ["study", "list"]).output
    first, *_ = printed.split("\n\n")
    assert f"$ tunbench study list\n{first}\n\n…\n" in (DOCS / "getting-started.md").read_text()


def blocks(language: str) -> list[str]:
    """The blocks of code on the page that are marked with this language; without one they show a terminal."""
    every = re.findall(r"^```(\w*)\n(.*?)^```$", ADDING, re.MULTILINE | re.DOTALL)
    return [text for marked, text in every if marked == language]


def block(language: str, mark: str) -> str:
    """The one block of this language that has the mark."""
    [found] = [text for text in blocks(language) if mark in text]
    return found


NAME = "mirror"
"""What the page calls its plug-in."""

FILES = {"tunnels/erspan.py": block("python", "class Erspan"), "workloads/full_mtu.py": block("python", "def execute")}


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    """The page's plug-in is taken."""
    folder = made(tmp_path / NAME, FILES)
    taken.take([folder])
    yield folder
    taken.release()


def test_the_folder_of_the_page_is_the_one_that_its_commands_name() -> None:
    assert f"    {NAME}/\n" + "".join(f"      {file}\n" for file in FILES) in ADDING
    assert all(f"`{NAME}/{file}`" in ADDING for file in FILES)
    commands = re.findall(r"^(?:\$|   ) (tunbench .*)$", ADDING, re.MULTILINE)
    assert len(commands) >= 6
    assert {command for command in commands if f"--plugin {NAME}" not in command} == set()


def test_the_package_of_the_page_is_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads(block("toml", installed.GROUP))
    [(name, package)] = project["project"]["entry-points"][installed.GROUP].items()
    made(tmp_path / package, {"__init__.py": "", **FILES})
    told = {"METADATA": "Name: tunbench-mirror\nVersion: 1\n"}
    told["entry_points.txt"] = f"[{installed.GROUP}]\n{name} = {package}\n"
    made(tmp_path / f"{package}-1.dist-info", told)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        taken.take()
        assert [(one.name, one.package) for one in taken.plugins()] == [(NAME, project["project"]["name"])]
        assert taken.bringing("tunnels", "erspan") == NAME
    finally:
        taken.release()


def test_the_tunnel_of_the_page_is_found_by_being_there(plugin: Path) -> None:
    assert "erspan" in registry.tunnel_names()
    assert registry.tunnel("erspan").about.name == "erspan"
    assert "[erspan](#erspan)" in page_of_tunnels.markdown()


def test_the_plan_of_the_page_can_run(plugin: Path) -> None:
    plan = check(block("toml", "erspan"), "try-erspan.toml")
    assert plan.axes["stack"] == ["none", "erspan", "wireguard+erspan:inner=ipv6"]


def test_the_commands_of_the_page_are_those_of_the_tunnel(
    plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_home(monkeypatch, tmp_path)
    events = FakeEvents()
    built, nodes = stack.build("erspan", PAIR_UNDERLAYS["ip"].endpoints), two_nodes(FakeShell(), events)
    stack.prepare(built, nodes)
    with stack.up(built, nodes):
        told = events.commands
    assert told == block("sh", "erspan-0").splitlines()


def test_the_sizes_on_the_page_are_those_that_are_computed(plugin: Path) -> None:
    shown = block("", "tunbench overhead")
    [command] = [line for line in shown.splitlines() if line.startswith("$ tunbench overhead ")]
    stacks = command.split(" --")[0].split()[3:]
    assert stacks == ["erspan", "wireguard+erspan:inner=ipv6"]
    for text in stacks:
        built_stack = overhead.built(text)
        sizes = [
            overhead.computed(built_stack, packet)
            for packet in overhead.packets(built_stack, measuring.PAYLOADS).values()
        ]
        agreeing = OverheadCheck(
            text,
            [PacketOverhead(one, one) for one in sizes],
            overhead.limits(built_stack),
            overhead.limits(built_stack),
            "",
        )
        drawn = io.StringIO()
        Console(file=drawn, width=200).print(rendered(agreeing))
        assert "\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) in shown


def test_the_proof_on_the_page_is_what_the_tunnel_declares(plugin: Path) -> None:
    built = stack.build("erspan", PAIR_UNDERLAYS["ip"].endpoints)
    [layer] = built.layers
    assert f'"layer":"erspan","where":"router/to-b","evidence":"{layer.evidence(layer.options, 4)}"' in ADDING


def rows_below(heading: str) -> list[list[str]]:
    """The cells of the table whose first row begins with this heading."""
    table = ADDING.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_field_of_a_declaration_is_explained() -> None:
    assert [cells[0] for cells in rows_below("field of `About`")] == list(About._fields)


def test_every_need_of_a_tunnel_is_explained() -> None:
    assert [cells[0] for cells in rows_below("field of `Needs`")] == list(Needs._fields)


def test_what_the_page_says_is_the_default_is_it(plugin: Path) -> None:
    about = registry.tunnel("erspan").about
    defaults = [cells[0] for cells in rows_below("field of `About`") if cells[1].endswith("(default)")]
    assert {"outer", "needs_underlay", "user_space"} <= set(defaults)
    assert [name for name in defaults if getattr(about, name) != About._field_defaults[name]] == []


def test_every_option_that_all_tunnels_have_is_explained(plugin: Path) -> None:
    everything = registry.tunnel("erspan").about._replace(families=(4, 6), outer=(4, 6), paths={"x": path.Path("")})
    assert [cells[0] for cells in rows_below("option")] == list(common_options(everything))


def test_every_kind_of_option_is_named() -> None:
    [kinds] = re.findall(r"The kinds of options: (.*?)\. ", ADDING, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", kinds)) == set(OPTION_KINDS) - {"mtu"}


def test_the_methods_that_the_page_overrides_are_those_of_a_tunnel(plugin: Path) -> None:
    kind = registry.tunnel("erspan")
    methods = {
        match[1]: match[2].split(", ")
        for text in blocks("python")
        if text.startswith("    ")
        for match in re.finditer(r"def (\w+)\(([^)]*)\)", text)
    }
    assert set(methods) == {"format", "with_options"}
    for name, parameters in methods.items():
        code = getattr(kind, name).__func__.__code__
        assert [one.partition(":")[0] for one in parameters] == list(code.co_varnames[: code.co_argcount])


def test_the_workload_of_the_page_is_found_and_its_plan_can_run(plugin: Path) -> None:
    module = registry.workload("full-mtu")
    assert module.ABOUT.name == "full-mtu"
    assert module.seconds(resolve(module.ABOUT.options, {}, "full-mtu")) > 0
    shown = block("", "$ cat try-mtu.toml").partition("$ cat try-mtu.toml\n")[2].partition("$ ")[0]
    plan = check(shown, "try-mtu.toml")
    assert plan.axes["workload"] == ["full-mtu"]
    assert [spelling.join(spelling.stack(one)) for one in plan.axes["stack"]] == plan.axes["stack"]


def test_the_workload_of_the_page_reads_what_ping_prints(plugin: Path) -> None:
    module = registry.workload("full-mtu")
    [all_there] = module.parse(captured("ping-clean.txt"))
    [all_lost] = module.parse(captured("ping-all-lost.txt"))
    assert (all_there.value, all_lost.value) == (0, 1)
    assert {all_there.metric} == set(module.ABOUT.metrics)
    with pytest.raises(WorkloadFailed, match="ping printed no summary"):
        module.parse(captured("ping-clean.txt").partition("packets transmitted")[0])


def test_every_file_that_the_page_names_is_there(plugin: Path) -> None:
    named = {name for name in re.findall(r"`((?:src|tests|docs)/[\w/.-]+\.(?:py|md))`", ADDING) if "erspan" not in name}
    assert len(named) >= 6
    assert [name for name in named if not (DOCS.parent / name).is_file()] == []
