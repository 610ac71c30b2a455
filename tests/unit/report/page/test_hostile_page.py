"""Names, reasons and logs of someone else: nothing of them acts in a page, an export or a terminal."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from tests.helpers.browser import chromium
from tests.helpers.events import EVENTS
from tests.helpers.fakes import shard
from tests.helpers.runs import PLAN
from tests.helpers.strangers import SCRIPT, Property, commands, run_of_ours, told, write
from tunbench.executors.pool import ShardEvent
from tunbench.journal.events import read_event
from tunbench.report.terminal.progress import Display

CLAIM = '[[claim]]\nname = "a"\ntext = "t"\nsource = "s"\nnot_testable = "n"\n'


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return run_of_ours(tmp_path, monkeypatch)


def hostile(folder: Path) -> Path:
    """A run whose every text is hostile, as far as its journal passes."""
    one = shard("none", 1, "ping:count=5").spec()
    passing = [
        name for name in ("a" + SCRIPT, "a/../../escaped", "a=1+1", r"a\input{/etc/passwd}", "javascript:alert(1)")
    ]
    told_all: list[Any] = [
        {**EVENTS[0], "manifest": {**EVENTS[0]["manifest"], "plan": {"name": SCRIPT}, SCRIPT: {"x": SCRIPT}}}
    ]
    for number, name in enumerate(passing):
        for repeat in (1, 2):
            about = {"shard": f"{number}x{repeat}"}
            profile = {**one["profile"], "name": name}
            started = {**one, "stack": name, "profile": profile, "repeat": repeat, "workloads": [name, f"{name}2"]}
            told_all.append({**about, "event": "shard", "state": "started", "spec": started})
            measured = {"rtt": "s", "throughput": "bit/s", name: "s"}
            samples = [[metric, unit, 0.1 * repeat, None, name, name] for metric, unit in measured.items()]
            trial = {**about, "event": "trial", "workload": name, "reason": "", "samples": samples, "verdict": "ok"}
            told_all.append(trial)
            failed = {"verdict": "failed", "reason": SCRIPT, "logs": {SCRIPT: f"{SCRIPT}\x1b[2J"}, "samples": []}
            told_all.append({**trial, "workload": f"{name}2", **failed})
            told_all.append({**about, "event": "warning", "name": name, "text": SCRIPT})
    return write(folder, *told_all)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    run = hostile(tmp_path / "hostile")
    code, _ = told("report", str(run), "--export", str(tmp_path / "export"))
    assert code == 0
    return run / "report.html"


@pytest.mark.reliability
def test_no_name_and_no_log_runs_in_the_page(page: Path, tmp_path: Path, record_property: Property) -> None:
    with chromium() as browser:
        for path in (page, *sorted((tmp_path / "export").glob("*.svg"))[:5]):
            browser.errors.clear()
            browser.requests.clear()
            browser.open(path.as_uri())
            assert browser.requests == [path.as_uri()] and browser.errors == []
            assert browser.ask("document.title") != "run"
            assert browser.ask("[...document.querySelectorAll('*')].every(one => !one.onerror && !one.onload)")
            assert browser.ask("document.querySelectorAll('img, iframe, object, embed').length") == 0
            links = "[...document.querySelectorAll('a')].map(one => one.href.baseVal ?? one.getAttribute('href'))"
            assert all(one.startswith(("#", "./trials/")) and ".." not in one.split("/") for one in browser.ask(links))
    record_property(
        "reliability", "names, reasons, logs and manifest with scripts: in Chromium none runs, no request, no way out"
    )


@pytest.mark.reliability
def test_no_file_of_an_export_acts(page: Path, tmp_path: Path, record_property: Property) -> None:
    export = tmp_path / "export"
    assert {path.parent for path in tmp_path.rglob("*") if path.suffix in (".csv", ".tex", ".svg", ".pdf")} == {export}
    for path in export.glob("*.csv"):
        for row in pl.read_csv(path, infer_schema=False).iter_rows():
            assert not any(text.startswith(("=", "+", "@", "\t")) for text in row if text)
    for path in export.glob("*.tex"):
        assert not any(word in path.read_text() for word in (r"\input", r"\write", r"\include", "^^"))
    for path in export.glob("*.svg"):
        assert "<script" not in path.read_text() and "<img" not in path.read_text()
    record_property(
        "reliability", f"{len(list(export.iterdir()))} files: no formula, no TeX that reads or writes, no script"
    )


def test_lists_of_a_stranger_are_printed_without_what_acts(page: Path, good: Path) -> None:
    for arguments in commands(page.parent, good)[:5]:
        assert told(*arguments)[0] in (0, 1, 2)
    assert "=1+1" not in [cell[:4] for cell in told("samples", str(page.parent))[1].split(",")]


def test_the_plan_of_a_stranger_is_told_without_what_acts(good: Path) -> None:
    (good / "plan.toml").write_text('name = "\\u001b[2J\\u202e"\nstacks = ["\\u0000"]\n[[claim]]\n')
    code, said = told("study", "agree", str(good))
    assert code == 2 and "\N{REPLACEMENT CHARACTER}[2J" in said


def test_half_a_character_is_written_as_none_wherever_the_page_is(good: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "by\udcfft", {**EVENTS[0], "overrides": {"scale": "\ud800"}}, *EVENTS[1:])
    (bad / "plan.toml").write_text(f"{PLAN}{CLAIM}[scale.quick]\nrepeats = 1\n")
    assert told("report", str(bad), "--out", str(tmp_path / "page.html"))[0] == 0
    assert "has no scale &#34;\N{REPLACEMENT CHARACTER}&#34;" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_name_of_a_folder_does_not_act_and_its_command_can_be_copied(good: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "a run\x1b[31mX\x1b]0;owned\x07\n", {**EVENTS[0], "planned": 9}, *EVENTS[1:])
    shown = "a runX\N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER}\\n"
    for arguments in (["digest", str(bad)], ["compare", str(good), str(bad)], ["gate", str(bad), str(good)]):
        assert f"go on with: tunbench run --resume '{tmp_path}/{shown}'\n" in told(*arguments)[1]
    assert told("report", str(good), "--export", str(bad))[0] == 0


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_what_differs_is_told_on_its_own_line(command: str, good: Path, tmp_path: Path) -> None:
    plan = {"x\n\npassed: 10 cells": "1\nfingerprint  abc :warning:"}
    head = {**EVENTS[0], "manifest": {**EVENTS[0]["manifest"], "plan": plan}}
    failed = {**EVENTS[12], "verdict": "failed", "reason": "it broke\npassed: 10 cells"}
    bad = write(tmp_path / "bad", head, *EVENTS[1:12], failed, *EVENTS[13:])
    said = told(command, str(good), str(bad))[1]
    assert r"  plan: x\n\npassed: 10 cells: – → 1\nfingerprint  abc :warning:" in said
    assert "it broke passed: 10 cells" in said
    assert not any(line.startswith(("passed: 10", "fingerprint")) for line in said.splitlines())


def test_a_scale_that_is_not_there_is_told_on_one_line(good: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", {**EVENTS[0], "overrides": {"scale": "a\nline two\n"}}, *EVENTS[1:])
    (bad / "plan.toml").write_text(f"{PLAN}{CLAIM}[scale.quick]\nrepeats = 1\n")
    code, said = told("study", "agree", str(bad))
    missing, mistake = said.splitlines()
    assert code == 2 and "1 of 4 trials are missing" in missing and r'no scale "a\nline two\n"' in mistake


def test_a_reason_is_shown_as_it_comes_without_what_acts() -> None:
    out, one = io.StringIO(), shard()
    with Display(Console(file=out), 1, 1, 1.0, {one.id: 1.0}) as display:
        for line in (
            {"event": "shard", "state": "started", "spec": one.spec()},
            {"event": "trial", "workload": "ping", "verdict": "failed", "reason": "\x1b[2J", "samples": []},
        ):
            display.watch(ShardEvent(one, line, read_event({"shard": one.id, **line})))
    assert "\x1b" not in out.getvalue() and "\N{REPLACEMENT CHARACTER}[2J" in out.getvalue()
