"""What `compare` and `gate` print: `tests/golden/compare/CASE.txt`, whose first line is the command and its exit code.

After a change that is meant: TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/cli/test_compare.py && git diff tests/golden
"""

import csv
import io
import json
import os
import random
import shlex
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.helpers.runs import PLAN, ScriptedLab, events, invoke, ordered
from tunbench.analysis.compare.compared_cell import VERDICTS, ComparedCell
from tunbench.journal.journal import NAME, VERSION
from tunbench.plan.shard import Shard
from tunbench.report import change_wording
from tunbench.report.terminal import changes_table
from tunbench.run import manifest
from tunbench.runner.declare import axes

GOLDEN = Path(__file__).parents[2] / "golden" / "compare"

STACKS = {"none": 1.0, "wireguard": 1.1, "vxlan": 0.9, "gre": 1.0}
"""How the round-trip time of each stack changes."""


def plan(repeats: int, stacks: list[str]) -> str:
    return PLAN.replace("repeats = 2", f"repeats = {repeats}").replace('["none", "wireguard"]', json.dumps(stacks))


def told(shard: Shard, changed: bool) -> list[dict[str, Any]]:
    """What a shard tells: replies take about 100 µs; where it is changed, one trial fails as well."""
    rng = random.Random(f"{shard.seed}/{changed}")
    factor = STACKS[shard.stack.name] if changed else 1.0
    found = [event for event in events(shard) if event["event"] == "trial"]
    [trial] = [event for event in found if event["workload"] != "up"]
    if changed and (shard.stack.name, shard.repeat) == ("gre", 3):
        trial.update(verdict="failed", reason="no \x1b[31manswer\x1b[0m | <b>[bold]", samples=[])
    else:
        replies = [["rtt", "s", round(1e-4 * factor * rng.gauss(1, 0.01), 9), at / 100, "a-b", "a"] for at in range(5)]
        trial["samples"] = [*replies, ["loss", "ratio", 0.0, None, "a-b", "a"]]
    return found


def write(folder: Path, text: str, changed: bool = False, executed: int = 1000, clock: str = "virtual") -> None:
    """The journal of a run of which so many shards were executed."""
    order = ordered(ScriptedLab(), text)
    made = {**manifest.describe(order), "lab": {"kind": "vm", "clock": clock}}
    planned = sum(len(shard.workloads) + 1 for shard in order.shards)
    lines = [{"event": "run", "journal": VERSION, "planned": planned, "overrides": {}, "manifest": made}]
    for shard in order.shards[:executed]:
        lines += [{"event": "shard", "shard": shard.id, "state": "started", "spec": shard.spec()}]
        lines += [{**event, "shard": shard.id} for event in told(shard, changed)]
        lines += [{"event": "shard", "shard": shard.id, "state": "finished"}]
    folder.mkdir()
    (folder / NAME).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the journals of several runs."""
    here, whole = tmp_path_factory.mktemp("runs"), list(STACKS)
    write(here / "base", plan(10, whole))
    write(here / "again", plan(10, whole))
    write(here / "new", plan(10, whole), changed=True)
    write(here / "torn", plan(10, whole), changed=True, executed=20)
    write(here / "empty", plan(10, whole), executed=0)
    write(here / "real", plan(10, whole), clock="real")
    write(here / "less", plan(10, whole[:2]))
    write(here / "few", plan(3, whole))
    write(here / "fewer", plan(3, whole[:3]), changed=True)
    return here


CASES = {
    "compare": "compare base new",
    "compare-identical": "compare base again",
    "compare-few-trials": "compare few fewer",
    "compare-a-stack-is-missing": "compare base less",
    "compare-metrics": "compare base new --metric loss,'rtt p99' --stack 'w*'",
    "compare-interrupted": "compare base torn --stack none",
    "compare-no-run": "compare base nothing",
    "compare-other-lab": "compare base real",
    "compare-unknown-metric": "compare base new --metric rt",
    "compare-no-such-stack": "compare base new --stack openvpn",
    "compare-json-and-csv": "compare base new --json --csv",
    "gate": "gate base new",
    "gate-identical": "gate base again --tolerance 0%",
    "gate-few-trials": "gate few few",
    "gate-undecided": "gate few fewer --stack 'w*' --metric rtt",
    "gate-strict": "gate few fewer --strict",
    "gate-within-the-tolerance": "gate base new --tolerance 20% --stack 'w*'",
    "gate-better": "gate base new --stack vxlan",
    "gate-missing": "gate base less",
    "gate-new": "gate less base --strict",
    "gate-unfinished-base": "gate torn base",
    "gate-unfinished-base-strict": "gate torn base --strict --stack none --metric connect",
    "gate-empty-base": "gate empty base",
    "gate-tolerance-without-unit": "gate base new --tolerance 2",
    "gate-tolerance-is-no-number": "gate base new --tolerance little",
    "gate-unwritable": "gate base new --junit nowhere/gate.xml",
    "gate-no-run": "gate nothing base",
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_printed(case: str, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    monkeypatch.setenv("COLUMNS", "150")
    result = invoke(*shlex.split(CASES[case]))
    lines = "\n".join(line.rstrip() for line in (result.stdout + result.stderr).splitlines())
    text = f"$ tunbench {CASES[case]}  # exit code {result.exit_code}\n{lines}\n"
    file = GOLDEN / f"{case}.txt"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


def test_every_golden_output_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


def test_a_narrow_terminal_cuts_nothing_off(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    monkeypatch.setenv("COLUMNS", "80")
    result = invoke("compare", "base", "new")
    table = result.stdout.partition("8 cells")[0]
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= 80
    assert table.count("B (n)") == table.count("change [low, high]") == 8


def test_json_and_csv_have_all_rows_and_fields(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    whole = json.loads(invoke("compare", "base", "new", "--metric", "all", "--json").stdout)
    table = list(csv.DictReader(io.StringIO(invoke("compare", "base", "new", "--metric", "all", "--csv").stdout)))
    assert (whole["identical"], whole["level"]) == (False, 0.05)
    assert len(whole["rows"]) == len(table) == 4 * 5
    assert list(table[0]) == list(whole["rows"][0]) == list(ComparedCell._fields)
    verdicts = [row["verdict"] for row in whole["rows"]]
    assert verdicts == [row["verdict"] for row in table]
    assert verdicts == sorted(verdicts, key=VERDICTS.index)
    assert whole["tests"] == sum(row["p"] is not None for row in whole["rows"])


def test_json_has_the_trials_that_each_run_lacks(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    for command in ("compare", "gate"):
        for a, b, lacking in (("torn", "base", (40, 0)), ("base", "torn", (0, 40))):
            told = json.loads(invoke(command, a, b, "--json").stdout)
            assert (told["missing_trials_a"], told["missing_trials_b"]) == lacking
            assert told.get("missing_trials", lacking[1]) == lacking[1]


def test_more_rows_than_fit_are_counted_and_shown_on_demand(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    monkeypatch.setattr(changes_table, "MAX_ROWS", 3)
    assert "and 5 more; --all shows them" in invoke("compare", "base", "new").stdout
    every = invoke("compare", "base", "new", "--all").stdout
    assert "more" not in every
    assert every.count("identical") == 4 + 1


def test_the_files_of_a_gate(runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(runs)
    summary, junit = tmp_path / "summary.md", tmp_path / "gate.xml"
    summary.write_text("# Before\n")
    result = invoke("gate", "base", "new", "--summary", str(summary), "--junit", str(junit), "--json")
    assert result.exit_code == 1
    data: dict[str, Any] = json.loads(result.stdout)
    assert (data["passes"], data["tolerance"], data["strict"]) == (False, 0.02, False)
    assert data["counts"] == {"failed": 1, "worse": 1, "passed": 6}
    assert {row["stack"]: row["outcome"] for row in data["rows"] if row["metric"] == "rtt"} == {
        "none": "passed",
        "wireguard": "worse",
        "vxlan": "passed",
        "gre": "failed",
    }
    text = summary.read_text()
    assert text.startswith("# Before\n## Tunbench: not passed\n")
    assert "| `gre` | baseline | ping:count=5 | rtt |" in text
    root = ElementTree.fromstring(junit.read_text())
    assert root[0].attrib["failures"] == "2"


def test_text_of_a_shift_that_has_no_share(runs: Path) -> None:
    row = ComparedCell(
        **cast(Any, {"stack": "gre", "condition": "baseline", "profile": "baseline", **axes.USUAL}),
        **cast(Any, {"workload": "ping", "pair": "b-c", "node": "b"}),
        metric="loss",
        statistic="value",
        unit="ratio",
        n_a=10,
        n_b=10,
        median_a=0.0,
        median_b=0.015,
        verdict="worse",
        shift=0.015,
        shift_low=0.01,
        shift_high=0.02,
        coverage=0.96,
    )
    assert change_wording.change(row) == "+1.50\N{NO-BREAK SPACE}pp [+1.00, +2.00]"
    assert change_wording.change(row._replace(unit="s", shift_low=-0.001)).startswith(
        "+15.0\N{NO-BREAK SPACE}ms [−1.00, "
    )
    assert change_wording.change(row._replace(coverage=0.0)) == "+1.50\N{NO-BREAK SPACE}pp"
    assert change_wording.metric_label(row) == "loss, b-c, b"
    console = Console(width=150, file=io.StringIO())
    console.print(changes_table.compared([row]))
    assert "pp [" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_gate_writes_through_no_link(option: str, runs: Path, tmp_path: Path) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.write_text("mine")
    link.symlink_to(theirs)
    result = invoke("gate", str(runs / "base"), str(runs / "again"), option, str(link))
    assert (result.exit_code, theirs.read_text(), link.is_symlink()) == (2, "mine", True)
    assert "link is a link" in result.stderr and "name another file" in result.stderr
