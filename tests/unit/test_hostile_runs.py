"""A run's folder from someone else: whatever is in it, no command leaves it, runs it, or ends in a traceback."""

import copy
import io
import json
import os
import random
import subprocess
import sys
import time
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from tests.unit import journals
from tests.unit.browser import chromium
from tests.unit.fakes import FakeExecution, shard
from tests.unit.outputs import walk
from tests.unit.runs import PLAN, ScriptedLab, batches, events, finished, invoke, ordered, runs_here
from tests.unit.test_read import EVENTS
from tunbench import run as running
from tunbench.cli.progress import Display
from tunbench.executors.pool import Told
from tunbench.journal import folders, journal, read
from tunbench.journal.journal import JournalError
from tunbench.plain import plain
from tunbench.plan.shard import Shard

FEW, MANY = 40, 2_000
"""Journals that are mutated: always, and in the long test."""

SECONDS, MEMORY = 15.0, 2 << 30
"""Processor time and bytes of memory in which what is too large must be refused."""

SCRIPT = "<img src=x onerror=document.title='run'><script>document.title='run'</script>\"'`}}</script>{{7*7}}"
NAMES = (
    *("../../escaped", "/etc/passwd", "..", SCRIPT, "javascript:document.title='run'", "=1+1", "@x", "-1", "a=1+1"),
    *(
        "a\x1b[2J",
        "nul\0",
        "new\nline",
        "\r",
        "\x9b31m",
        "\u202eabc",
        "",
        " ",
        "a" * 5000,
        "\ud800",
        "été",
        "none",
        "s",
    ),
    *(r"\input{/etc/passwd}", r"a\write18{touch x}", "a%s{0}", "a;b,c", "a]]>", "a--><b>", "a&lt;", "rtt", "ok", "up"),
)
"""What names, reasons and logs of a stranger may be."""

Property = Callable[[str, object], None]

VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**63, 2**64, 10**400, 1e308, -1e308, 1e-320, 0.5, -0.0, float("inf"), float("nan")),
    *([], {}, [[]], [None], {"a": 1}, {"name": "x"}, *NAMES),
)


def write(folder: Path, *lines: Any) -> Path:
    """A run's folder with these events; bytes are lines as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    encoded = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    (folder / journal.NAME).write_bytes(b"".join(line + b"\n" for line in encoded))
    return folder


def commands(run: Path, good: Path) -> list[list[str]]:
    """Every command that opens a run's folder."""
    here, there = str(run), str(good)
    return [
        *(["digest", here], ["samples", here], ["report", here], ["compare", here, there], ["gate", there, here]),
        *(
            ["study", "agree", here],
            ["run", "--resume", here],
            ["report", here, there],
            ["compare", there, here, "--csv"],
        ),
        ["samples", here, "--format", "json"],
    ]


def told(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed: nothing that acts on a terminal."""
    done = invoke(*arguments)
    assert done.exit_code in (0, 1, 2), done.output[-500:]
    assert plain(done.output) == done.output
    return done.exit_code, done.output


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of ours, in a folder of its own."""
    runs_here(monkeypatch, tmp_path)
    return write(tmp_path / "good", *EVENTS)


def in_manifest(value: Any) -> dict[str, Any]:
    """The head of a journal with something more in its manifest."""
    return {**EVENTS[0], "manifest": {**EVENTS[0]["manifest"], "x": value}}


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


def sampled(metric: str, unit: str, value: float, at: float | None = None) -> dict[str, Any]:
    """The end of a trial with this sample."""
    return {**EVENTS[6], "samples": [[metric, unit, value, at, "a-b", "a"]]}


DAMAGE: dict[str, tuple[Any, str]] = {
    "no number": (b'{"event":"phase","shard":"a","name":"up","at":NaN}', "it has the number NaN"),
    "infinite": (b'{"event":"phase","shard":"a","name":"up","at":-Infinity}', "it has the number -Infinity"),
    "too large a number": (b'{"event":"phase","shard":"a","name":"up","at":1e999}', "the at of phase is not sound"),
    "many digits": (b'{"event":"phase","at":' + b"9" * 100_000 + b"}", "not an event"),
    "deep lists": (b'{"event":"x","y":' + b"[" * 1_000_000, "not an event"),
    "deep tables": (b'{"event":"x","y":' + b'{"a":' * 500_000, "not an event"),
    "deep but whole": (in_manifest(nested(23)), "nested more than 20 deep"),
    "many keys": (in_manifest(dict.fromkeys(map(str, range(300_000)))), "more than 200000 names"),
    "no table": (b"[]", "not an event"),
    "no kind": (b'{"event":7}', "not an event"),
    "no keys": (b'{"event":"trial"}', "the shard of trial is not sound"),
    "control characters": ({**EVENTS[6], "workload": "a\x1b[2J"}, "the workload of trial is not sound"),
    "a formula": (sampled("=1+1", "s", 1), "pair or node has no name"),
    "a torn sample": ({**EVENTS[6], "samples": [["rtt", "s", 1]]}, "the samples of trial is not sound"),
    "a true sample": (sampled("rtt", "s", True), "a value is no number"),
    "an endless sample": (sampled("rtt", "s", 1e300), "a value is no number"),
    "an impossible sample": (sampled("loss", "ratio", 1.5), "a value is no number, or no loss in ratio that there can"),
    "a negative sample": (sampled("rtt", "s", -0.1), "a value is no number, or no rtt in s that there can be"),
    "a sample that is nearly nothing": (sampled("rtt", "s", 5e-324), "a value is no number, or no rtt in s"),
    "a sample in another unit": (sampled("rtt", "B", 1), "rtt is not measured in B"),
    "a sample in a unit of nothing": (sampled("mood", "smiles", 1), "mood is not measured in smiles"),
    "a sample from before": (sampled("rtt", "s", 1, -2.0), "a moment is no number, or before the trial"),
    "an impossible term": ({"event": "impairment", "asked": {"loss": 7}, "installed": {}}, "the asked of impairment"),
    "a negative term": ({"event": "impairment", "asked": {"delay": -1}, "installed": {}}, "the asked of impairment"),
    "a key twice": (b'{"event":"phase","shard":"a","name":"up","at":1,"at":2}', "it has a key twice"),
    "another encoding": ('{"event":"x"}'.encode("utf-16-be"), "not an event"),
    "another verdict": ({**EVENTS[6], "verdict": "fine"}, "the verdict of trial is not sound"),
    "another spec": ({**EVENTS[1], "spec": {"stack": ["none"]}}, "the spec of shard is not sound: the stack of"),
    "another term": ({"event": "impairment", "asked": {"delay": "x"}, "installed": {}}, "the asked of impairment"),
    "half a character": (b'{"event":"version","program":"x","text":"\\ud800"}', ""),
}
"""Lines that no run writes, and what is said of them."""


@pytest.mark.parametrize("name", [name for name, (_, why) in DAMAGE.items() if why])
def test_a_line_that_no_run_writes_is_told_by_its_number(name: str, good: Path, tmp_path: Path) -> None:
    line, why = DAMAGE[name]
    bad = write(tmp_path / "bad", *(EVENTS[:1] if line != EVENTS[0] else []), line)
    for arguments in commands(bad, good)[:4]:
        code, said = told(*arguments)
        assert (code, said.count("\n")) == (2, 1), said
        assert f"{bad}/journal.jsonl, line 2: " in said and why in said and "the journal is damaged" in said


def test_half_a_character_is_shown_as_none(good: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", *EVENTS, DAMAGE["half a character"][0])
    assert told("report", str(bad))[0] == 0
    assert "\N{REPLACEMENT CHARACTER}" in (bad / "report.html").read_text()


UNTIL = {"width": 0.02, "confidence": 0.95, "max": 30, "metrics": ["rtt"]}
ASKED = {"delay": 0.02, "jitter": 0.001, "distribution": "normal"}
RICH: list[Any] = [
    {**EVENTS[0], "manifest": {**EVENTS[0]["manifest"], "plan": {"name": "x", "until": UNTIL, "stacks": ["none"]}}},
    *EVENTS[1:],
    {**EVENTS[3], "name": "trial", "workload": "ping:count=5"},
    {"event": "command", "shard": EVENTS[1]["shard"], "shell": "ping x", "took": 0.1, "at": 1.0},
    {"event": "impairment", "asked": ASKED, "installed": {"kind": "netem", "terms": {"delay": 0.02, "limit": 1000}}},
    {
        **{"event": "block", "group": "g", "stack": "none", "profile": "baseline", "topology": "pair"},
        **{"tuning": "default", "machine": "full", "repeats": 5, "enough": False, "more": 10},
        "widest": {"width": 0.1, **dict.fromkeys(("workload", "pair", "node", "metric", "statistic"), "a")},
    },
]
"""A run with an event of each kind that is read."""


def mutated(dice: random.Random) -> list[Any]:
    """The events of a run with some of their values changed."""
    run = copy.deepcopy(RICH)
    for _ in range(dice.choice((1, 1, 2, 5))):
        places = walk(run)
        container, key = dice.choice(places)
        match dice.randrange(6):
            case 0:
                del container[key]
            case 1 if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case 2 if isinstance(container, dict):
                container[dice.choice(NAMES)] = copy.deepcopy(dice.choice(VALUES))
            case _:
                container[key] = copy.deepcopy(dice.choice(VALUES))
    return run


def survive(seed: str, good: Path, folder: Path) -> list[int]:
    """Opens a mutated run by commands; their exit codes."""
    dice = random.Random(seed)
    bad = write(folder / "bad", *mutated(dice))
    (bad / "plan.toml").write_text(PLAN)
    codes = []
    for arguments in dice.sample(commands(bad, good), 3):
        began = time.process_time()
        codes.append(told(*arguments)[0])
        assert time.process_time() - began < SECONDS
    assert not (folder / "escaped").exists() and not (folder.parent / "escaped").exists()
    return codes


def opened(count: int, good: Path, folder: Path) -> str:
    """Opens so many mutated runs, and says how the commands ended."""
    codes = Counter(code for number in range(count) for code in survive(str(number), good, folder))
    assert codes.keys() >= {0, 2}
    ends = ", ".join(f"{number:,} × exit code {code}" for code, number in sorted(codes.items()))
    return f"{count:,} journals, three commands each: {ends}; no traceback, nothing outside of the folder"


@pytest.mark.reliability
def test_mutated_journals_are_read_or_refused(good: Path, tmp_path: Path, record_property: Property) -> None:
    record_property("reliability", opened(FEW, good, tmp_path))


@pytest.mark.reliability
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_many_mutated_journals_are_read_or_refused(good: Path, tmp_path: Path, record_property: Property) -> None:
    record_property("reliability", opened(MANY, good, tmp_path))


PROGRAM = """
import json, resource, sys, time
from tunbench.cli import app
began = time.process_time()
try:
    app(sys.argv[1:])
except SystemExit as end:
    code = end.code
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([code, time.process_time() - began, used.ru_maxrss * 1024]))
"""


def sparse(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(2 << 30)


def filled(text: bytes, size: int) -> Callable[[Path], None]:
    def fill(path: Path) -> None:
        with path.open("ab") as file:
            file.write(b'{"event":"x","y":[')
            for _ in range(size // (1 << 20)):
                file.write(text * ((1 << 20) // len(text)))
            file.write(b"0]}\n")

    return fill


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a line of 2 GB": (sparse, "line 2: longer than 512 MiB"),
    "a file of 1 TB": (lambda path: os.truncate(path, 1 << 40), "more than 8 GiB"),
    "many empty lists": (filled(b"[],", 100 << 20), "line 2: more than 64000000 values up to here"),
    "many numbers": (filled(b"0,", 140 << 20), "line 2: more than 64000000 values up to here"),
}


@pytest.mark.reliability
@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_the_memory_is_refused_soon(name: str, tmp_path: Path, record_property: Property) -> None:
    bad = write(tmp_path / "bad", EVENTS[0])
    make, why = BOMBS[name]
    make(bad / journal.NAME)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "report", str(bad)], capture_output=True, text=True, check=True
    )
    code, seconds, memory = json.loads(done.stdout.splitlines()[-1])
    assert code == 2 and why in done.stderr and done.stderr.count("\n") == 1
    assert seconds < SECONDS and memory < MEMORY
    record_property("reliability", f"exit code 2 after {seconds:.1f} s of processor time and {memory >> 20} MiB")


def test_a_capture_that_unpacks_to_gigabytes_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LARGEST", 1000)
    taker = folders.TrialFolders(tmp_path, shard().spec())
    bomb = b64encode(zlib.compress(bytes(1 << 24))).decode()
    taker.take({"event": "capture", "name": "proof-0.pcap", "pcap": bomb})
    assert taker.captures == {"proof-0.pcap": bytes(1000)}


OPENED = [["digest"], ["samples"], ["report"], ["study", "agree"], ["run", "--resume"]]


def as_link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def as_pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path, _: Path) -> None:
    path.mkdir()


def as_device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = {"link": as_link, "pipe": as_pipe, "folder": as_folder, "device": as_device}


@pytest.mark.reliability
@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_that_is_no_file_is_not_opened(
    kind: str, good: Path, tmp_path: Path, record_property: Property
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes((good / journal.NAME).read_bytes())
    bad = tmp_path / "bad"
    bad.mkdir()
    KINDS[kind](bad / journal.NAME, secret)
    for arguments in OPENED:
        code, said = told(*arguments, str(bad))
        assert code == 2 and f"{bad} is no run: " in said and said.count("\n") == 1
        assert secret.read_bytes() == (good / journal.NAME).read_bytes()
    record_property(
        "reliability", f"{len(OPENED)} commands: exit code 2; what it leads to is neither shown nor written"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arguments", OPENED[3:])
def test_a_plan_that_is_no_file_is_not_opened(kind: str, arguments: list[str], good: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root:$6$secret")
    KINDS[kind](good / "plan.toml", secret)
    code, said = told(*arguments, str(good))
    assert code == 2 and f"cannot read {good}/plan.toml: " in said and "$6$" not in said


@pytest.mark.reliability
def test_what_is_written_does_not_follow_a_link(good: Path, tmp_path: Path, record_property: Property) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    run = tmp_path / "run"
    finished(run)
    for name in ("report.html", "manifest.json", "samples.parquet"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(mine)
    running.finish(run)
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(mine)
    assert told("report", str(run))[0] == 0
    assert mine.read_text() == "mine"
    assert not any(path.is_symlink() for path in run.iterdir())
    assert len(pl.read_parquet(run / "samples.parquet")) > 0
    record_property(
        "reliability", "report, manifest and Parquet file take the place of three links; their goal is whole"
    )


@pytest.mark.reliability
def test_the_folders_of_trials_do_not_follow_a_link(good: Path, tmp_path: Path, record_property: Property) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    order_of = running.order(PLAN, "any.toml", {})
    running.create(run, order_of)
    (run / "trials").symlink_to(outside)
    with pytest.raises(running.RunError, match="trials is a link, and may lead out of the folder"):
        running.go(run, order_of, 1, lambda _: None)
    assert not list(outside.iterdir())
    record_property("reliability", "--resume ends with exit code 2, nothing is written where the link leads")


@pytest.mark.reliability
def test_a_parquet_bomb_is_not_even_looked_at(good: Path, record_property: Property) -> None:
    (good / "samples.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    assert told("samples", str(good))[0] == told("report", str(good))[0] == 0
    # A pipe would block whoever opens it.
    (good / "samples.parquet").unlink()
    os.mkfifo(good / "samples.parquet")
    for arguments in commands(good, good):
        told(*arguments)
    record_property(
        "reliability", f"a torn file, and a pipe in its place: {len(commands(good, good))} commands do not open it"
    )


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
            started = {**one, "stack": name, "profile": profile, "repeat": repeat, "workloads": [name]}
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


def test_a_reason_is_shown_as_it_comes_without_what_acts() -> None:
    out, one = io.StringIO(), shard()
    with Display(Console(file=out), 1, 1, 1.0) as display:
        display.watch(Told(one, {"event": "shard", "state": "started"}))
        display.watch(Told(one, {"event": "trial", "workload": "ping", "verdict": "failed", "reason": "\x1b[2J"}))
    assert "\x1b" not in out.getvalue() and "\N{REPLACEMENT CHARACTER}[2J" in out.getvalue()


def test_what_no_reader_would_take_does_not_get_into_the_journal(good: Path, tmp_path: Path) -> None:
    def lab(one: Shard) -> FakeExecution:
        told = events(one)
        told[5]["samples"] = [["rtt", "s", float("inf"), None, "a-b", "a"]]
        return FakeExecution(batches(told))

    run = tmp_path / "run"
    finished(run, ordered(ScriptedLab(lab)))
    record = read.record(run)
    assert {trial.cell["workload"] for trial in record.trials} == {"up"}
    assert len(record.interrupted) == 4


def test_what_a_stranger_overrides_must_be_an_option(good: Path, tmp_path: Path) -> None:
    strange: list[Any] = [{"seed": []}, {"what": 1}, [], {"scale": None}]
    for overrides in strange:
        bad = write(tmp_path / "bad", {**EVENTS[0], "overrides": overrides})
        with pytest.raises(JournalError, match="line 1: the overrides of run is not sound"):
            read.record(bad)


def test_the_generator_reaches_what_is_read(good: Path) -> None:
    # Else the mutated journals could all be refused by their first line.
    found = [mutated(random.Random(str(number))) for number in range(FEW)]
    assert sum(one[0] == RICH[0] for one in found) > FEW // 3


def test_a_journal_of_ours_passes(tmp_path: Path) -> None:
    journals.write(tmp_path, 1000)
    assert len(journal.events(tmp_path)) == (tmp_path / journal.NAME).read_text().count("\n")
