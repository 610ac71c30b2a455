"""Every command, exit code, target of make and section of a report is on its page; pages agree on needs and times."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from tests.helpers.documentation import DOCS, README, ROOT, named, page, rows
from tunbench import cli
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.plan.estimate.duration import MAX_WORKERS
from tunbench.report.sections import SECTIONS


def commands(group: Any, *above: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its whole name."""
    if not hasattr(group, "commands"):
        yield " ".join(above), group
        return
    for name, command in group.commands.items():
        yield from commands(command, *above, name)


def test_every_command_has_a_row_whose_options_it_has() -> None:
    there = dict(commands(get_command(cli.app), "tunbench"))
    told: dict[str, set[str]] = {}
    for first, what in ((cells[0], cells[1]) for cells in rows(page("commands.md"), "command")):
        name = re.sub(r" [A-Z-].*", "", first.strip("`"))
        told.setdefault(name, set()).update(re.findall(r"--[a-z]+", f"{first} {what}"))
    assert sorted(told) == sorted(there)
    for name, options in told.items():
        has = {option for parameter in there[name].params for option in parameter.opts}
        assert options <= has, name


def test_every_exit_code_is_explained_and_no_other() -> None:
    told = [int(cells[0]) for cells in rows(page("commands.md"), "code")]
    assert told == sorted(codes())


def codes() -> set[int]:
    """The numbers with which the command line ends, wherever it does; what a script returns is not one of them."""
    found = set()
    modules = pkgutil.walk_packages(cli.__path__, f"{cli.__name__}.")
    for name in [cli.__name__, *(module.name for module in modules)]:
        module = importlib.import_module(name)
        tree = ast.parse(Path(str(module.__file__)).read_text())
        for call in (thing for thing in ast.walk(tree) if isinstance(thing, ast.Call)):
            if ast.unparse(call.func) in ("typer.Exit", "sys.exit"):
                for part in (part for argument in call.args for part in ast.walk(argument)):
                    value = getattr(module, part.id, None) if isinstance(part, ast.Name) else None
                    found.add(value if isinstance(value, int) else 0)
    # The exit code of a run is what `conclude` returns.
    return found | {importlib.import_module("tunbench.cli.shared.executing").SOME_FAILED}


def test_the_page_names_all_that_a_signal_ends_in_order() -> None:
    [told] = [cells[1] for cells in rows(page("commands.md"), "code") if cells[0] == "130"]
    files = Path(str(cli.__file__)).parent.glob("*.py")
    ending = {file.stem for file in files if re.search(r"interruptible|ended_in_order|execute\(", file.read_text())}
    assert {name.split()[0] for name in named(told)} == ending


def test_how_many_labs_may_run_at_a_time_is_said() -> None:
    assert f"at a time (at most {MAX_WORKERS:,})" in page("commands.md")


def test_the_add_ons_that_can_be_built_are_named() -> None:
    [told] = re.findall(r"the add-ons (.*?);", page("commands.md"))
    assert sorted(named(told)) == sorted(ADDONS)


def test_the_page_of_the_report_has_every_section_in_its_order() -> None:
    told = [name for cells in rows(page("report.md"), "section") for name in cells[0].split(", ")]
    assert told == [section.heading for section in SECTIONS if section.heading]


def test_make_help_and_the_pages_give_the_same_times() -> None:
    told = dict(re.findall(r"@echo \"make ([\w-]+) .*?\(([^()]*)\)\"", (ROOT / "Makefile").read_text()))
    pages = [rows(README, "command"), rows(page("getting-started.md"), "command")]
    for table in pages:
        for first, _, time in table:
            target = first.removeprefix("`make ").partition("`")[0]
            if first.endswith("`") and target in told:
                assert told[target].partition(";")[0] == time.partition(";")[0], target


def test_what_the_page_installs_by_hand_is_what_the_set_up_does() -> None:
    setup = (ROOT / "scripts/setup").read_text()
    variables = dict(re.findall(r'^ *(?:\S+\) )?(vm|native|tests)="([^"]+)"', setup, re.MULTILINE))
    text = (DOCS / "getting-started.md").read_text()
    by_hand = text.partition("apt-get install --no-install-recommends")[2].partition("\n\n")[0]
    wanted = {"make", "git", "python3-venv", *variables["vm"].split(), *variables["native"].split()}
    assert set(by_hand.replace("\\", " ").split()) == wanted
    [for_tests] = re.findall(r'^ *tests="([^"]+)"', setup, re.MULTILINE)
    [told] = re.findall(r"`make test` needs (.*?) besides", text, re.DOTALL)
    assert set(named(told)) == set(for_tests.split())
