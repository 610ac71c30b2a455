"""The house inside: imports go down, nothing goes in a circle, and each room holds what its name says."""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import tunbench
from tunbench.runner import registry

PACKAGE = Path(tunbench.__file__).parent

TESTS = Path(__file__).parents[1]

FLOORS = (
    ("tunbench", "tunbench.plain_text"),
    ("tunbench.runner",),
    ("tunbench.plugins",),
    ("tunbench.plan",),
    ("tunbench.labs",),
    ("tunbench.journal",),
    ("tunbench.executors", "tunbench.toolbox", "tunbench.analysis"),
    ("tunbench.doctor",),
    ("tunbench.run",),
    ("tunbench.calibrate",),
    ("tunbench.report",),
    ("tunbench.cli",),
    ("tunbench.__main__",),
)
"""From the ground up: nothing imports from above, or from beside it."""

ROOMS = (
    ("tunbench.runner.declare", "tunbench.runner.node", "tunbench.runner.network"),
    ("tunbench.runner.declare", "tunbench.runner.node", "tunbench.runner.proof", "tunbench.runner.workloads"),
    ("tunbench.plan.toml", "tunbench.plan.axes", "tunbench.plan.study"),
    ("tunbench.labs.image", "tunbench.labs.extras", "tunbench.labs.lab", "tunbench.labs.native"),
    ("tunbench.labs.image", "tunbench.labs.extras", "tunbench.labs.lab", "tunbench.labs.vm"),
    ("tunbench.labs.payload", "tunbench.labs.real_time", "tunbench.labs.native", "tunbench.labs.registry"),
    ("tunbench.labs.payload", "tunbench.labs.real_time", "tunbench.labs.vm", "tunbench.labs.registry"),
    ("tunbench.executors.choice", "tunbench.executors.pool", "tunbench.executors.cluster"),
    ("tunbench.journal.record", "tunbench.journal.readers"),
    ("tunbench.analysis.compare", "tunbench.analysis.audit"),
    ("tunbench.analysis.cells", "tunbench.analysis.audit", "tunbench.analysis.run_analysis"),
    ("tunbench.report.units", "tunbench.report.view", "tunbench.report.charts", "tunbench.report.sections"),
    ("tunbench.report.charts", "tunbench.report.tables", "tunbench.report.page"),
    ("tunbench.report.tables", "tunbench.report.terminal"),
    ("tunbench.report.tables", "tunbench.report.export"),
)
"""Rooms of one house, each above those before it."""

MAX_LINES = 300

MAX_FILES = 20
"""Files of a package beside its sub-packages. Those of plug-ins may have more."""

PLUG_INS = ("tunbench.runner.tunnels", "tunbench.runner.workloads")

NAMES_OF_TOOLS = ("tunbench.toolbox.tools",)
"""Where a name is that of a program, which a tunnel may have too."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: Iterable[str]) -> set[str]:
    """The modules of the package that a file imports, also within its functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tunbench":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return found


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports."""
    known = modules()
    return {name: imported(path, known) - {name} for name, path in known.items()}


def within(module: str, room: str) -> bool:
    """Whether a module is a room, or in it."""
    return f"{module}.".startswith(f"{room}.")


def floor(module: str) -> int:
    """The floor on which a module is, counted from the ground."""
    return max((len(room), number) for number, rooms in enumerate(FLOORS) for room in rooms if within(module, room))[1]


def test_every_room_that_is_named_here_is_there() -> None:
    named = {*PLUG_INS, *NAMES_OF_TOOLS} | {room for rooms in (*FLOORS, *ROOMS) for room in rooms}
    assert sorted(named - set(modules())) == []


def test_nothing_goes_in_a_circle() -> None:
    TopologicalSorter(imports()).prepare()


def test_no_import_runs_up() -> None:
    up = [f"{one} -> {other}" for one, others in imports().items() for other in others if floor(other) > floor(one)]
    assert up == []


def beside() -> Iterator[str]:
    """Imports between rooms of the same floor."""
    for one, others in imports().items():
        for other in others:
            rooms = FLOORS[floor(one)]
            if floor(one) == floor(other) and not any(within(one, room) and within(other, room) for room in rooms):
                yield f"{one} -> {other}"


def test_no_import_runs_to_another_room_of_the_same_floor() -> None:
    assert [arrow for arrow in beside() if "tunbench.plain_text" not in arrow] == []


def test_no_import_runs_up_within_a_house() -> None:
    up = [
        f"{one} -> {other}"
        for one, others in imports().items()
        for other in others
        for rooms in ROOMS
        for number, room in enumerate(rooms)
        if within(one, room) and any(within(other, above) for above in rooms[number + 1 :])
    ]
    assert up == []


def test_no_command_needs_another() -> None:
    """What two commands share stands in a file of its own, which is no command."""
    commands = {name for name in imports()["tunbench.cli"] if within(name, "tunbench.cli")}
    assert {name: shared for name in commands if (shared := imports()[name] & commands)} == {}


def test_no_file_is_longer_than_a_reader_bears() -> None:
    counted = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {name: count for name, count in counted.items() if count > MAX_LINES} == {}


def test_no_folder_has_more_files_than_a_reader_bears() -> None:
    counted = Counter(name.rpartition(".")[0] for name, path in modules().items() if path.name != "__init__.py")
    assert {name: count for name, count in counted.items() if count > MAX_FILES and name not in PLUG_INS} == {}


def test_every_folder_says_what_it_holds() -> None:
    packages = [path for path in modules().values() if path.name == "__init__.py"]
    assert [str(path) for path in packages if not ast.get_docstring(ast.parse(path.read_text()))] == []


def texts(path: Path) -> Iterator[str]:
    """The texts of a file that are values, and no docstrings."""
    tree = ast.parse(path.read_text())
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said:
            yield node.value


def test_no_table_outside_a_tunnels_file_names_it() -> None:
    """Of the scripts, `setup` alone names some: Debian's packages for this machine, which are there before Python is.

    That it names those that are needed is a test of the pages.
    """
    names = {*registry.tunnel_names()} - {"none"}
    found = [
        f"{module}: {text}"
        for module, path in modules().items()
        if not within(module, "tunbench.runner.tunnels") and module not in NAMES_OF_TOOLS
        for text in texts(path)
        if text in names
    ]
    assert found == []


def imported_tests(path: Path) -> Iterator[str]:
    """The files of tests that a file imports, also within its functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if any(part.startswith("test_") for part in name.split(".")))


def test_what_tests_share_stands_in_helpers() -> None:
    """A test that another file of tests imports cannot be moved, renamed or read alone."""
    found = [
        f"{path.relative_to(TESTS)}: {name}" for path in sorted(TESTS.rglob("*.py")) for name in imported_tests(path)
    ]
    assert found == []


def test_a_wheel_has_every_file_that_is_no_code() -> None:
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
    taken = {path for pattern in settings["package-data"]["tunbench"] for path in PACKAGE.glob(pattern)}
    data = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert data == {path for path in taken if path.is_file()}
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == [], "find leaves these out"
