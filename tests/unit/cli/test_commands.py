"""What the commands print, and how they exit."""

import csv
import io
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.helpers.fakes import FakeExecution, FakeLab
from tests.helpers.runs import PLAN, ScriptedLab, batches, events, finished, invoke, ordered, real_lab, runs_here
from tunbench.doctor import examine
from tunbench.doctor.host_check import HostCheck
from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import PhaseBegan, ShardStarted
from tunbench.journal.readers.registry import record_of
from tunbench.journal.record import COLUMNS
from tunbench.labs import registry as labs
from tunbench.labs.vm import explore, image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.plan.shard import Shard
from tunbench.report.export.json_text import SCHEMA
from tunbench.report.terminal.progress import Display


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a plan, a cache without images, and a scripted lab."""
    return runs_here(monkeypatch, tmp_path)


def script(change: Callable[[Shard], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab(lambda one: FakeExecution(batches(change(one)))))


def test_a_run_prints_where_its_report_is_and_its_fingerprint() -> None:
    result = invoke("run", "plan.toml", "--out", "begun", "--workers", "2")
    assert result.exit_code == 0
    assert "report       begun/report.html" in result.stderr
    assert f"fingerprint  {record_of(Path('begun')).manifest['fingerprint']}" in result.stderr
    assert Path("begun/report.html").exists()
    assert "[4/4]" in result.stderr
    assert "wireguard" in result.stdout


def test_a_folder_whose_name_looks_like_markup_is_named_as_it_is() -> None:
    result = invoke("run", "plan.toml", "--out", ":smile:[/b]")
    assert "report       :smile:[/b]/report.html" in result.stderr


def test_a_run_shows_on_a_terminal_what_looks_like_markup_as_it_is() -> None:
    text = 'tuning = { name = "t", sysctl."net.ipv4.tcp_x" = ["[/b]", "[red]"] }'
    one, out = ordered(text=f"{PLAN}{text}").shards[0], io.StringIO()
    with Display(Console(file=out, force_terminal=True, width=200), 1, 1, 1.0, {one.id: 1.0}) as display:
        display.watch(ShardEvent(one, {}, ShardStarted(one.id, one.spec())))
        display.watch(ShardEvent(one, {}, PhaseBegan(one.id, "trial", 0.0, "[/i]")))
        display.progress.refresh()
    assert "tcp_x=[/b]" in out.getvalue() and "[/i]" in out.getvalue()


def test_the_command_line_overrides_the_plan() -> None:
    invoke("run", "plan.toml", "--out", "begun", "--seed", "77")
    record = record_of(Path("begun"))
    assert record.manifest["plan"]["seed"] == 77
    assert invoke("run", "--resume", "begun").exit_code == 0


def test_without_a_name_a_run_has_time_and_plan() -> None:
    assert invoke("run", "plan.toml").exit_code == 0
    [folder] = Path("runs").iterdir()
    assert folder.name.endswith("Z-any")


def test_failed_trials_are_told_and_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    script(lambda one: events(one, verdict="failed" if one.stack.name == "none" else "ok"), monkeypatch)
    result = invoke("run", "plan.toml", "--out", "begun")
    assert result.exit_code == 1
    assert "none, baseline, repeat 1, ping:count=5: failed: it broke" in result.stderr


def test_unsupported_trials_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    script(lambda one: events(one, verdict="unsupported"), monkeypatch)
    assert invoke("run", "plan.toml", "--out", "begun").exit_code == 0


def test_interrupted_shards_are_told_and_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    script(lambda one: events(one)[: 3 if one.stack.name == "none" else None], monkeypatch)
    result = invoke("run", "plan.toml", "--out", "begun")
    assert result.exit_code == 1
    assert "2 shards were interrupted; go on with: tunbench run --resume begun" in result.stderr
    script(events, monkeypatch)
    assert invoke("run", "--resume", "begun").exit_code == 0


def test_what_comes_out_otherwise_is_told_and_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    script(lambda one: events(one)[:-1], monkeypatch)
    invoke("run", "plan.toml", "--out", "begun")
    script(lambda one: events(one, factor=2), monkeypatch)
    result = invoke("run", "--resume", "begun")
    assert result.exit_code == 1
    assert "not the same when executed again: none, baseline, up, repeat 1; the first result is kept" in result.stderr


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(one: Shard) -> FakeExecution:
        os.kill(os.getpid(), signal.SIGTERM)
        return FakeExecution([], hangs=True)

    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab(begin))
    result = invoke("run", "plan.toml", "--out", "begun")
    assert result.exit_code == 130
    assert "every finished trial is kept. Go on with:\n  tunbench run --resume begun" in result.stderr


@pytest.mark.parametrize(("given", "most"), [(["--workers", "3"], 3), (["--workers", "1"], 1)])
def test_workers_are_as_many_as_was_said(given: list[str], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lab: FakeLab = ScriptedLab()
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)
    invoke("run", "plan.toml", "--out", "begun", *given)
    assert lab.most == most


def test_digest_prints_the_fingerprint() -> None:
    finished(Path("begun"))
    assert invoke("digest", "begun").stdout == f"{record_of(Path('begun')).manifest['fingerprint']}\n"


def test_samples_are_printed_in_every_form() -> None:
    finished(Path("begun"))
    rows = list(csv.DictReader(io.StringIO(invoke("samples", "begun").stdout)))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 4 * 3
    as_json = [json.loads(line) for line in invoke("samples", "begun", "--format", "json").stdout.splitlines()]
    assert {row["schema"] for row in as_json} == {SCHEMA}
    assert invoke("samples", "begun", "--json").stdout == invoke("samples", "begun", "--format", "json").stdout
    assert [row["metric"] for row in as_json] == [row["metric"] for row in rows]
    assert invoke("samples", "begun", "--format", "parquet").stdout_bytes[:4] == b"PAR1"
    assert invoke("samples", "begun", "--json", "--format", "json").exit_code == 0
    twice = invoke("samples", "begun", "--json", "--format", "csv")
    assert (twice.exit_code, twice.stderr) == (2, "--json and --format csv exclude each other; give one of them\n")


def test_a_report_is_written_where_it_is_wanted() -> None:
    finished(Path("begun"))
    assert invoke("report", "begun").stdout == "begun/report.html\n"
    assert invoke("report", "begun", "--out", "other.html").stdout == "other.html\n"
    # The links lead to the run from wherever the page is.
    elsewhere = Path("begun/report.html").read_text().replace('href="./trials/', 'href="./begun/trials/')
    assert Path("other.html").read_text() == elsewhere


def test_a_report_is_written_through_no_link() -> None:
    finished(Path("begun"))
    Path("other.html").write_text("mine")
    Path("link.html").symlink_to("other.html")
    refused = invoke("report", "begun", "--out", "link.html")
    assert (refused.exit_code, Path("other.html").read_text()) == (2, "mine")
    assert "link.html is a link" in refused.stderr


GOOD = [
    HostCheck("vm lab: QEMU", True, "/usr/bin/qemu", needed=True),
    HostCheck("native lab: wg", False, "[/b] not installed", "apt"),
]
BAD = [*GOOD, HostCheck("vm lab: image", False, "not built", "tunbench lab build", needed=True)]


@pytest.mark.parametrize(("checks", "code"), [(GOOD, 0), (BAD, 2)])
def test_doctor_says_what_is_needed(checks: list[HostCheck], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "host_checks", lambda: checks)
    table = invoke("doctor")
    assert table.exit_code == code
    # Three lines say what can run, what cannot, and what to do first.
    first = [line.split("  ")[0].strip() for line in table.stdout.splitlines()[:4]]
    assert first == ["can run", "cannot run", "do first", ""]
    assert ("nothing yet" in table.stdout) == (code == 2)
    assert table.stdout.splitlines()[2].endswith("tunbench lab build" if code else "tunbench run quick")
    assert all(cell in table.stdout for one in checks for cell in (one.what, one.found, one.mend))
    as_json = invoke("doctor", "--json")
    assert as_json.exit_code == code
    assert [HostCheck(**row) for row in json.loads(as_json.stdout)["checks"]] == checks


def test_an_image_is_built_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[str, str]] = []

    def build(definition: Any, progress: Callable[[str], None], mirror: str, versions: object) -> None:
        assert versions is None
        progress("downloading")
        built.append((definition.name, mirror))
        shutil.rmtree(definition.folder, ignore_errors=True)
        definition.folder.mkdir(parents=True)
        image_build.write_manifest_of(definition, definition.folder, {"kmod": "30"})

    monkeypatch.setattr(image_build, "build", build)
    assert "base is built" in invoke("lab", "build", "--mirror", "file:///mirror").stderr
    assert "base is there" in invoke("lab", "build").stderr
    assert "base is built" in invoke("lab", "build", "--force", "base").stderr
    assert built == [("base", "file:///mirror"), ("base", "")]
    assert "kmod" in invoke("lab", "info").stdout
    assert json.loads(invoke("lab", "info", "--json").stdout)["packages"] == {"kmod": "30"}
    assert BASE.folder.exists()
    templates = BASE.folder.parents[1] / "templates"
    templates.mkdir()
    said = "".join(f"removed {folder}\n" for folder in (BASE.folder.parent, templates))
    assert invoke("lab", "clean").stdout == said
    assert not BASE.folder.exists() and not templates.exists()
    assert invoke("lab", "clean").stdout == "", "what is not there is not told"


def test_a_script_runs_in_a_vm_and_a_shell_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    real_lab(monkeypatch)
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    monkeypatch.setattr(explore, "script", lambda path, seed, clock, images: (f"{path} {seed} {clock}\n", 4))
    result = invoke("lab", "shell", "--script", "commands.sh", "--seed", "3")
    assert (result.exit_code, result.stdout) == (4, "commands.sh 3 virtual\n")
    result = invoke("lab", "shell")
    assert (result.exit_code, result.stderr) == (
        2,
        "a shell needs a terminal; to run a script there is --script FILE\n",
    )


def test_a_shell_opens_on_the_shard_of_a_plan_that_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    real_lab(monkeypatch)
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})
    monkeypatch.setattr("tunbench.cli.lab._check_terminal", lambda: None)
    opened: list[Shard] = []

    def shell_of_shard(shard: Shard, clock: str, extras: object, plugins: object) -> int:
        opened.append(shard)
        return 5 if clock == "real" else 6

    monkeypatch.setattr(explore, "shell_of_shard", shell_of_shard)
    result = invoke("lab", "shell", "--plan", "quick", "--stack", "wireguard+*", "--profile", "medium")
    assert result.exit_code == 5
    assert [(one.stack.name, one.profile.name, one.repeat) for one in opened] == [("wireguard+vxlan", "medium", 1)]
    assert "stack wireguard+vxlan, profile medium, access none, link wire" in result.stderr


def test_runs_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    finished(tmp_path / "good")
    (tmp_path / "loop").symlink_to("loop")
    assert invoke("report", "loop", "good").exit_code == 2
    assert invoke("report", "good", "--out", "loop").stderr.startswith("cannot write to loop: ")


def test_report_puts_several_runs_side_by_side_and_exports_them(tmp_path: Path) -> None:
    for name in ("before", "after"):
        finished(tmp_path / name)
    page, files = tmp_path / "both.html", tmp_path / "files"
    where = [str(tmp_path / name) for name in ("before", "after")]
    printed = invoke("report", *where, "--out", str(page), "--export", str(files)).output
    assert printed.startswith(f"{page}\n{files}/index.csv lists ")
    text = page.read_text(encoding="utf-8")
    assert "none · before" in text and "none · after" in text
    assert 'href="./before/trials/' in text and 'href="./after/trials/' in text
    assert (files / "table-measured.csv").exists() and (files / "index.csv").exists()
