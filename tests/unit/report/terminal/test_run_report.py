import os
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.helpers.pages import view_of
from tests.helpers.records import TCP, cell, realistic, record, trial
from tunbench.journal.record import Record, TrialResult
from tunbench.report.terminal import run_report

GOLDEN = Path(__file__).parents[3] / "golden"


def shown(whole: Record, width: int = 120) -> str:
    out = StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False).print(run_report.rendered(view_of(whole)))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


@pytest.mark.parametrize(("repeats", "width"), [(3, 120), (10, 80)])
def test_the_first_screen_is_the_golden_one(repeats: int, width: int) -> None:
    text, path = shown(realistic(repeats), width), GOLDEN / f"terminal-{repeats}-{width}.txt"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_sentences_stand_first_and_warnings_by_name_below_them() -> None:
    lines = [line for line in shown(realistic(10), 300).splitlines() if line]
    assert lines[0] == "• 1 of 40 trials of openvpn:cipher=AES-256-GCM failed; they are in none of these numbers."
    assert [line.startswith("•") for line in lines[:7]] == [True] * 6 + [False]
    assert lines[6] == "warnings: netem-limit\N{NO-BREAK SPACE}1"


def test_brackets_in_a_name_are_no_markup() -> None:
    hostile = "[red]x"
    assert hostile in shown(record([trial(cell(hostile, workload=TCP), [("throughput", "bit/s", 1e6)])]))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_median_and_its_interval_are_broken_between_them_only(width: int) -> None:
    text = shown(realistic(3), width).replace("\N{NO-BREAK SPACE}", " ")
    assert "12.1 Gbit/s" in text and "[11.8, 12.1]" in text
    assert all(len(line) <= width for line in text.splitlines())


def sampled(workload: str, metric: str, unit: str, value: float) -> TrialResult:
    return trial(cell("none", workload=workload), [(metric, unit, value)])


def test_an_empty_run_says_nothing() -> None:
    assert shown(record([])).strip() == ""


@pytest.mark.parametrize(
    ("workload", "metric", "unit", "value", "told"),
    [
        ("recover:event=reboot", "blocked", "s", 15.0, "without answers after a reboot of the peer  15.0 s"),
        ("goodput", "goodput", "bit/s", 393e6, "highest rate without loss  393 Mbit/s"),
        ("loaded-latency", "rtt-up", "s", 0.012, "round-trip time under load up  12.0 ms"),
        ("pmtu", "pmtu", "B", 1420.0, "largest packet that passes  1420 B"),
        ("of-another-version", "speed", "m/s", 1.0, "speed of of-another-version  1.00 m/s"),
    ],
)
def test_a_workload_that_is_alone_has_its_values(
    workload: str, metric: str, unit: str, value: float, told: str
) -> None:
    text = shown(record([sampled(workload, metric, unit, value)])).replace("\N{NO-BREAK SPACE}", " ")
    assert told in re.sub(r" {2,}", "  ", text)


def test_each_direction_and_pair_is_named() -> None:
    both = [("throughput", "bit/s", 1e9, None, "a"), ("throughput", "bit/s", 1.2e6, None, "b")]
    pairs = [("rtt", "s", 1e-3, 0.0, "a", "a-b"), ("rtt", "s", 9e-3, 0.0, "b", "b-c")]
    text = shown(record([trial(cell("gre", workload=TCP), both), trial(cell("gre", workload="ping"), pairs)]))
    assert re.search(r"TCP throughput b→a +1\.00\sGbit/s", text) and re.search(
        r"TCP throughput a→b +1\.20\sMbit/s", text
    )
    assert re.search(r"round-trip time \(a-b, at a\) +1\.00\sms", text)
    assert re.search(r"round-trip time \(b-c, at b\) +9\.00\sms", text)


def test_a_narrow_terminal_parts_the_table_and_loses_nothing() -> None:
    stacks = [f"wireguard:mtu={number}" for number in range(1300, 1308)]
    values = [("throughput", "bit/s", 20e6), ("jitter", "s", 576e-6), ("loss", "ratio", 0.0)]
    udp = "iperf3-udp:rate=20M"
    trials = [trial(cell(name, workload=each), values) for name in stacks for each in (udp, f"{udp},bidir=on")]
    text = shown(record(trials), width=60)
    assert "…" not in text and "\n20.0" not in text
    assert text.count("20.0\N{NO-BREAK SPACE}Mbit/s") == 16
    assert "bidir)" in text
