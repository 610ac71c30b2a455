"""An axis is one line and one file: no module spells the list again, and an invented axis is everywhere at once."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tunbench
from tunbench.runner.declare import axes

SOURCE = Path(tunbench.__file__).parent
ROOT = Path(__file__).parents[3]


def texts(node: ast.AST) -> set[str]:
    """The texts that a display of a tuple, list, set or table has."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            inside: list[ast.expr | None] = list(parts)
        case ast.Dict(keys=keys):
            inside = list(keys)
        case _:
            return set()
    return {one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def lists_of_axes(path: Path) -> Iterator[int]:
    """The lines at which a module names most axes in one display."""
    for node in ast.walk(ast.parse(path.read_text())):
        if len(texts(node) & set(axes.SHARD)) >= 3:
            yield node.lineno  # type: ignore[attr-defined]


def test_no_other_module_lists_the_axes() -> None:
    found = [f"{path.relative_to(SOURCE)}:{line}" for path in SOURCE.rglob("*.py") for line in lists_of_axes(path)]
    assert found == []


def test_the_check_sees_a_list(tmp_path: Path) -> None:
    for written in (
        '("stack", "profile", "tuning")',
        '{"machine": 1, "topology": 2, "stack": 3}',
        '["topology", *x, "machine", "tuning"]',
    ):
        (tmp_path / "any.py").write_text(f"found = {written}\n")
        assert list(lists_of_axes(tmp_path / "any.py")) == [1]


INVENTED = """
import sys, types
from pathlib import Path

from tunbench.runner.declare import axes as real

text = Path(real.__file__).read_text()
line = '    Axis("cable", "cable", "copper", tacit=True),\\n'
made = types.ModuleType("tunbench.runner.declare.axes")
exec(compile(text.replace('    Axis("profile"', line + '    Axis("profile"'), real.__file__, "exec"), made.__dict__)
sys.modules[made.__name__] = made
sys.modules["tunbench.runner.declare"].axes = made

from dataclasses import dataclass
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.tables import alone


@dataclass(frozen=True)
class Cable:
    name: str

    def spec(self):
        return self.name


reader = types.ModuleType("tunbench.plan.axes.cable")
reader.READER = AxisReader('cable = "copper"', alone(lambda value: [Cable(str(value))]))
sys.modules[reader.__name__] = reader

from tests.helpers.runs import ordered, finished
from tunbench.analysis import order
from tunbench.analysis.samples import every_sample
from tunbench.journal.readers.registry import record_of
from tunbench.plan.expand import expand
from tunbench.plan.load import check

HEAD = 'name = "any"\\nstacks = ["none", "gre"]\\nworkloads = ["ping:count=5"]\\n'
plan = check(HEAD + 'cable = ["copper", "glass"]\\nexclude = [{ cable = "glass", stack = "gre" }]\\n', "any.toml")
shards = expand(plan)
assert [(one.cell_of("x")["cable"], one.stack.name) for one in shards] == [
    ("copper", "none"), ("copper", "gre"), ("glass", "none")
]
assert [one.spec()["cable"] for one in shards] == ["copper", "copper", "glass"]
assert len({one.id for one in shards}) == len({one.group for one in shards}) == 3
assert expand(check(HEAD, "any.toml"))[0].spec()["cable"] == "copper"

folder = Path(sys.argv[1])
finished(folder, ordered(text=HEAD + 'cable = ["copper", "glass"]\\n'))
found = record_of(folder)
assert {trial.cell["cable"] for trial in found.trials} == {"copper", "glass"}
assert "cable" in every_sample(found).columns
assert list(order.conditions(found).values()) == ["baseline · copper", "baseline · glass"]
assert any("cable=glass" in trial.folder for trial in found.trials)
"""


def test_an_invented_axis_is_in_plans_shards_samples_and_conditions(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE.parent}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", INVENTED, str(tmp_path / "run")], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
