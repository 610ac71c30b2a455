"""A journal from someone else: whatever is in it, it is read or refused, and no command ends in a traceback."""

import copy
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import journals
from tests.helpers.events import EVENTS
from tests.helpers.fakes import FakeExecution
from tests.helpers.outputs import walk
from tests.helpers.runs import PLAN, ScriptedLab, batches, events, finished, ordered
from tests.helpers.strangers import NAMES, SECONDS, Property, commands, run_of_ours, told, write
from tunbench.journal import journal
from tunbench.journal.journal import JournalError
from tunbench.journal.readers.registry import record_of
from tunbench.plan.shard import Shard
from tunbench.runner.declare import axes

FEW, MANY = 40, 2_000
"""Journals that are mutated: always, and in the long test."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**63, 2**64, 10**400, 1e308, -1e308, 1e-320, 0.5, -0.0, float("inf"), float("nan")),
    *([], {}, [[]], [None], {"a": 1}, {"name": "x"}, *NAMES),
)


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return run_of_ours(tmp_path, monkeypatch)


def in_manifest(value: Any) -> dict[str, Any]:
    """The head of a journal with something more in its manifest."""
    return {**EVENTS[0], "manifest": {**EVENTS[0]["manifest"], "x": value}}


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


def sampled(metric: str, unit: str, value: float, at: float | None = None) -> dict[str, Any]:
    """The end of a trial with this sample."""
    return {**EVENTS[6], "samples": [[metric, unit, value, at, "a-b", "a"]]}


def linked(only: bool = False, **keys: Any) -> dict[str, Any]:
    """The beginning of a shard whose link has these keys."""
    link = keys if only else {**EVENTS[1]["spec"]["link"], **keys}
    return {**EVENTS[1], "spec": {**EVENTS[1]["spec"], "link": link}}


[OUTSIDE] = [one for one in EVENTS if one["event"] == "outside"]

DAMAGE: dict[str, tuple[Any, str]] = {
    "no number": (b'{"event":"phase","shard":"a","name":"up","at":NaN}', "it has the number NaN"),
    "infinite": (b'{"event":"phase","shard":"a","name":"up","at":-Infinity}', "it has the number -Infinity"),
    "too large a number": (b'{"event":"phase","shard":"a","name":"up","at":1e999}', "the at of phase is not sound"),
    "many digits": (b'{"event":"phase","at":' + b"9" * 100_000 + b"}", "not an event"),
    "deep lists": (b'{"event":"x","y":' + b"[" * 1_000_000, "not an event"),
    "deep tables": (b'{"event":"x","y":' + b'{"a":' * 500_000, "not an event"),
    "deep but whole": (in_manifest(nested(23)), "nested more than 20 deep"),
    "many keys": (in_manifest(dict.fromkeys(map(str, range(300_000)))), "more than 200000 names"),
    "a link that is named alone": (linked(name="wire", only=True), "it has something else than a link has"),
    "a link of an unknown framing": (linked(framing="carrier-pigeon"), "the framing of the link is not sound"),
    "a link with words for a rate": (linked(up={"rate": "fast"}), "the up of the link is not sound"),
    "a link of two MTUs": (linked(mtu=[1500, 9000]), "the mtu of the link is not sound"),
    "packets outside in a table": ({**OUTSIDE, "first": {"a": "b"}}, "the first of outside is not sound"),
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
    "a character of many bytes": ('{"event":"x","y":"\N{SNAKE}"}'.encode(), "not an event"),
    "another encoding": ('{"event":"x"}'.encode("utf-16-be"), "not an event"),
    "another verdict": ({**EVENTS[6], "verdict": "fine"}, "the verdict of trial is not sound"),
    "another spec": ({**EVENTS[1], "spec": {"stack": ["none"]}}, "the spec of shard is not sound: the stack of"),
    "another term": ({"event": "impairment", "asked": {"delay": "x"}, "installed": {}}, "the asked of impairment"),
    "a distribution that tc tells": (
        {"event": "impairment", "asked": {}, "installed": {"terms": {"distribution": "normal"}}},
        "tc does not tell which distribution there is",
    ),
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


STARTED = EVENTS[1]
MOOD = sampled("mood", "s", 1.0)
DISAGREEING: dict[str, tuple[list[Any], str]] = {
    "a shard that becomes another": (
        [STARTED, {**STARTED, "spec": EVENTS[2]["spec"]}],
        f"the shard {STARTED['shard']} started as another one above",
    ),
    "a cell with two shards": (
        [STARTED, {**STARTED, "shard": "x"}],
        "none, baseline, repeat 1 has another shard above",
    ),
    "a cell with two seeds": (
        [STARTED, {**STARTED, "shard": "x", "spec": {**STARTED["spec"], "seed": 8}}],
        "none, baseline, repeat 1 has another shard above",
    ),
    "another run": ([STARTED, EVENTS[0]], "another run begins, and a journal has one"),
    "a trial of no shard": ([EVENTS[3], EVENTS[6]], f"the shard {STARTED['shard']} of this trial did not start above"),
    "a trial that its shard does not have": (
        [STARTED, {**EVENTS[6], "workload": "scp"}],
        "none, baseline, repeat 1 has no workload scp",
    ),
    "a metric in two units": (
        [STARTED, MOOD, sampled("mood", "bit/s", 1.0)],
        "mood is measured in bit/s, and above in s",
    ),
    "a trial of two units": (
        [STARTED, {**MOOD, "samples": [*MOOD["samples"], ["mood", "bit/s", 5e9, None, "a-b", "a"]]}],
        "mood is measured in bit/s, and above in s",
    ),
}
"""Lines of which each could be, and what is said of the last."""


@pytest.mark.parametrize("name", DISAGREEING)
def test_a_line_that_does_not_agree_with_those_above_is_told_by_its_number(name: str, tmp_path: Path) -> None:
    lines, why = DISAGREEING[name]
    bad = write(tmp_path / "bad", EVENTS[0], *lines)
    for opens in (record_of, journal.events):
        with pytest.raises(JournalError, match=f"line {1 + len(lines)}: {why}; the journal is damaged"):
            opens(bad)


def test_a_shard_that_starts_again_is_the_same(tmp_path: Path) -> None:
    again = write(tmp_path / "again", *EVENTS, EVENTS[2], EVENTS[14], MOOD, MOOD)
    assert len(record_of(again).trials) == 3


def test_a_native_run_whose_shard_does_not_say_how_long_it_took_is_read(good: Path, tmp_path: Path) -> None:
    head = {**EVENTS[0], "manifest": {**EVENTS[0]["manifest"], "lab": {"kind": "native", "clock": "real"}}}
    bad = write(tmp_path / "bad", head, *[{k: v for k, v in one.items() if k != "wall"} for one in EVENTS[1:]])
    assert any(one.get("state") == "finished" for one in EVENTS)
    for arguments in commands(bad, good)[:4]:
        assert told(*arguments)[0] != 1


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
    {"event": "impairment", "asked": ASKED, "installed": {"kind": "netem", "terms": {"delay": 0.02, "gap": 0}}},
    {
        **{"event": "block", "group": "g", "stack": "none", "profile": "baseline", **axes.USUAL},
        **{"repeats": 5, "enough": False, "more": 10},
        "widest": {"width": 0.1, **dict.fromkeys(("workload", "pair", "node", "metric", "statistic"), "a")},
    },
]
"""A run with an event of each kind that is read."""


def mutated(dice: random.Random) -> list[Any]:
    """The events of a run with some of their values changed."""
    run = copy.deepcopy(RICH)
    if dice.random() < 0.5:
        run[0]["manifest"]["lab"] = {"kind": "native", "clock": "real"}
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


def test_what_no_reader_would_take_does_not_get_into_the_journal(good: Path, tmp_path: Path) -> None:
    def lab(one: Shard) -> FakeExecution:
        told = events(one)
        told[5]["samples"] = [["rtt", "s", float("inf"), None, "a-b", "a"]]
        return FakeExecution(batches(told))

    run = tmp_path / "run"
    finished(run, ordered(ScriptedLab(lab)))
    record = record_of(run)
    assert {trial.cell["workload"] for trial in record.trials} == {"up"}
    assert len(record.interrupted) == 4


def test_what_a_stranger_overrides_must_be_an_option(good: Path, tmp_path: Path) -> None:
    strange: list[Any] = [{"seed": []}, {"what": 1}, [], {"scale": None}]
    for overrides in strange:
        bad = write(tmp_path / "bad", {**EVENTS[0], "overrides": overrides})
        with pytest.raises(JournalError, match="line 1: the overrides of run is not sound"):
            record_of(bad)


@pytest.mark.parametrize("file", ["\ud800", "a\0b"])
def test_the_file_of_a_program_must_be_a_path(file: str, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", {**EVENTS[0], "files": {"zerotier-one": file}})
    with pytest.raises(JournalError, match="line 1: the files of run is not sound"):
        record_of(bad)
    # That is what Python makes of a byte that is no UTF-8.
    record_of(write(tmp_path / "good", {**EVENTS[0], "files": {"zerotier-one": "/opt/\udcff"}}))


def test_the_generator_reaches_what_is_read(good: Path) -> None:
    # Else the mutated journals could all be refused by their first line.
    found = [mutated(random.Random(str(number))) for number in range(FEW)]
    assert sum(one[0] == RICH[0] for one in found) > FEW // 3


def test_a_journal_of_ours_passes(tmp_path: Path) -> None:
    journals.write(tmp_path, 1000)
    assert len(journal.events(tmp_path)) == (tmp_path / journal.NAME).read_text().count("\n")
