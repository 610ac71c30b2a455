"""The workflow that docs/ci.md offers is one: for GitHub's schema, for the shell, and where it fetches Tunbench."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]

WORKFLOW = ROOT / "docs" / "ci" / "gate.yml"

EXPRESSION = re.compile(r"\$\{\{[^}]*\}\}")
"""What GitHub puts in before a shell sees it."""


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = YAML(typ="safe").load(WORKFLOW)["jobs"]["gate"]["steps"]
    return found


SCRIPTS = {step["name"]: EXPRESSION.sub("given", step["run"]) for step in steps() if "run" in step}


def linted(file: Path) -> subprocess.CompletedProcess[str]:
    """What check-jsonschema says, which has GitHub's schema with it and asks nobody."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(file)]
    return subprocess.run(command, capture_output=True, text=True)


def test_it_follows_the_schema_of_workflows(tmp_path: Path) -> None:
    done = linted(WORKFLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOW.read_text().replace("runs-on:", "run-on:"))
    assert linted(broken).returncode == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_shell_can_read_each_step(name: str) -> None:
    done = subprocess.run(["bash", "-n"], input=SCRIPTS[name], capture_output=True, text=True)
    assert done.stderr == ""


def test_tunbench_is_fetched_where_nothing_is_yet(tmp_path: Path) -> None:
    """By a branch and by a commit, from a repository without a tag; the set-up itself is left out."""
    tools, theirs = tmp_path / "bin", tmp_path / "theirs"
    tools.mkdir()
    (tools / "make").write_text('#!/bin/sh\necho "$@" >made\n')
    (tools / "make").chmod(0o755)
    theirs.mkdir()
    (theirs / "Makefile").write_text("setup:\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(theirs)]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    for version in ("main", commit):
        here = tmp_path / version
        here.mkdir()
        told = {"TUNBENCH": str(theirs), "TUNBENCH_VERSION": version, "GITHUB_PATH": "path"}
        environment = {**os.environ, **told, "PATH": f"{tools}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-e", "-c", SCRIPTS["Tunbench"]], cwd=here, env=environment, check=True)
        assert (here / "tunbench" / "Makefile").exists()
        assert (here / "made").read_text() == "-C tunbench setup\n"
        assert (here / "path").read_text() == f"{here}/tunbench/.venv/bin\n"


def test_its_commands_and_options_are_those_of_tunbench() -> None:
    text = "\n".join(SCRIPTS.values()).replace("\n", " ")
    used = {match[1].strip() for match in re.finditer(r"(?<![\w/.$-])tunbench ((?:lab build|run|gate)) ", text)}
    assert used == {"lab build", "run", "gate"}
    for command in used:
        done = subprocess.run(
            [sys.executable, "-m", "tunbench", *command.split(), "--help"],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        )
        options = set(re.findall(rf"tunbench {command} [^|]*?(--[\w-]+)", text))
        assert options and {option for option in options if option not in done.stdout} == set()
