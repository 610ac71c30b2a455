"""The runner goes into a machine that has a Python and nothing else, so it must import nothing else."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tunbench.runner

FOLDER = Path(tunbench.runner.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


def imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield node.module or ""


def allowed(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names or f"{module}.".startswith("tunbench.runner.")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_the_runner_imports_the_standard_library_and_itself(file: Path) -> None:
    assert [module for module in imported(file.read_text()) if not allowed(module)] == []


def test_the_check_notices_others() -> None:
    found = list(imported("import json\nimport numpy.linalg\nfrom tunbench.plan import shard\n"))
    assert [module for module in found if not allowed(module)] == ["numpy.linalg", "tunbench.plan"]
