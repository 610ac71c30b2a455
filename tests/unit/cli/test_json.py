"""What commands print as JSON carries the version of its schema, which is raised when a key goes.

The keys stand in `tests/golden/json.txt`. After a key that is new: TUNBENCH_UPDATE_GOLDEN=1 pytest
tests/unit/cli/test_json.py. After one that is gone or means another thing: raise SCHEMA in report/export/json_text.py
first.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.helpers.documentation import json_keys
from tests.helpers.runs import PLAN, finished, invoke, runs_here
from tunbench.cli import app
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.report.export.json_text import SCHEMA

GOLDEN = Path(__file__).parents[2] / "golden" / "json.txt"

COMMANDS = {
    **{
        f"list {what}": ("list", what)
        for what in (
            *("tunnels", "workloads", "profiles", "links", "accesses", "tunings", "machines", "topologies"),
            *("probes", "plans"),
        )
    },
    "plan show": ("plan", "show", "smoke"),
    "study list": ("study", "list"),
    "toolbox list": ("toolbox", "list"),
    "doctor": ("doctor",),
    "compare": ("compare", "run", "run"),
    "gate": ("gate", "run", "run"),
    "samples": ("samples", "run"),
}
"""What is called of each command."""

ELSEWHERE = {"lab info", "machine measure", "overhead", "study agree", "verify"}
"""Commands that need a lab or a study: what they print goes through the same function, as their own tests see."""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with a run."""
    runs_here(monkeypatch, tmp_path)


def with_json(command: Any, name: str = "") -> Iterator[str]:
    """The commands that have the option."""
    if groups := getattr(command, "commands", None):
        for word, one in groups.items():
            yield from with_json(one, f"{name} {word}".strip())
    elif any("--json" in option.opts for option in command.params):
        yield name


NAMED = ("options", "metrics", "version", "forward", "reverse", "sysctl", "counts", "scales")
"""Fields whose keys are names of what is declared somewhere else."""


def keys(value: Any, at: str = "") -> set[str]:
    """Where values stand; names that are no keys, such as those of options, are a star."""
    if isinstance(value, list):
        return set().union(*(keys(one, f"{at}[]") for one in value)) or {f"{at}[]"}
    if isinstance(value, dict):
        star = at.split(".")[-1] in NAMED
        return set().union(*(keys(one, f"{at}.{'*' if star else name}") for name, one in value.items()))
    return {at}


def printed(words: tuple[str, ...]) -> list[dict[str, Any]]:
    """The objects that a command prints."""
    text = invoke(*words, "--json").stdout
    return [json.loads(line) for line in text.splitlines()] if words[0] == "samples" else [json.loads(text)]


def test_every_command_that_prints_json_is_known() -> None:
    assert set(with_json(typer.main.get_command(app))) == {*COMMANDS, *ELSEWHERE}


def test_every_object_carries_the_version_of_a_schema_that_keeps_its_keys() -> None:
    finished(Path("run"))
    lines = [f"schema {SCHEMA}"]
    for name, words in COMMANDS.items():
        found = printed(words)
        assert {one["schema"] for one in found} == {SCHEMA}, name
        paths = sorted(path for path in keys(found) if not path.startswith("[].shards"))
        lines += [name, *(f"  {path.removeprefix('[].')}" for path in paths)]
    text = "\n".join(lines) + "\n"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "raise SCHEMA where a key is gone or means another thing"


@pytest.mark.parametrize("name", [*COMMANDS, "lab info"])
def test_the_page_tells_the_keys_of_every_object(name: str) -> None:
    finished(Path("run"))
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    of = "list …" if name.startswith("list ") else name
    for one in printed(COMMANDS.get(name, tuple(name.split()))):
        assert set(one) == json_keys(of)[0]


@pytest.mark.parametrize(
    ("case", "always", "never"),
    [
        ("equal-json", set(), set()),
        ("another-qemu-medians-json", {"agrees", "facts", "medians"}, {"differences", "changed"}),
    ],
)
def test_the_page_tells_the_keys_of_a_verification(case: str, always: set[str], never: set[str]) -> None:
    text = (GOLDEN.parent / "verify" / f"{case}.txt").read_text()
    told, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    usual, others = json_keys("verify")
    assert set(told) == (usual | always) - never
    assert always <= others


def test_the_page_tells_what_a_plan_prints_besides() -> None:
    Path("plan.toml").write_text(PLAN + 'until = { width = "10%", max = 10 }\n[scale.small]\nrepeats = 2\n')
    [told] = printed(("plan", "show", "plan.toml"))
    usual, others = json_keys("plan show")
    assert usual < set(told) <= usual | others
