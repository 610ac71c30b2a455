import re
from io import StringIO
from pathlib import Path

from rich.console import Console

from tests.helpers.pages import view_of
from tests.helpers.records import TCP, cell, realistic, record, trial
from tunbench.journal.record import Record, TrialResult
from tunbench.report.terminal import run_report

GOLDEN = Path(__file__).parents[3] / "golden" / "terminal.txt"


def shown(whole: Record, width: int = 120) -> str:
    out = StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False).print(run_report.rendered(view_of(whole)))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def test_the_table_is_the_golden_one() -> None:
    assert shown(realistic(3)) == GOLDEN.read_text(encoding="utf-8")


def test_a_heading_names_bounds_where_there_are_some() -> None:
    one = record([trial(cell("none", workload=TCP), [("throughput", "bit/s", 1e6)])])
    assert "throughput [low, high]" in shown(realistic(3))
    assert "throughput" in shown(one) and "[low, high]" not in shown(one)


def test_brackets_in_a_name_are_no_markup() -> None:
    hostile = "[bold red]x[/bold red]"
    assert hostile in shown(record([trial(cell(hostile, workload=TCP), [("throughput", "bit/s", 1e6)])]))


def test_a_median_and_its_interval_are_broken_between_them_only() -> None:
    lines = shown(realistic(3), width=80)
    assert "[11.8, 12.1]" in lines
    assert "12.1\N{NO-BREAK SPACE}Gbit/s" in lines


def test_several_throughputs_have_a_column_each() -> None:
    other = "iperf3-udp:rate=50M"
    trials = [trial(cell("none", workload=name), [("throughput", "bit/s", 1e6)]) for name in (TCP, other)]
    text = shown(record(trials))
    assert TCP in text and other in text


def test_an_empty_run_has_an_empty_table() -> None:
    assert "verdict" in shown(record([]))


def test_many_workloads_have_a_table_each() -> None:
    def sampled(workload: str, metric: str, unit: str, value: float) -> TrialResult:
        return trial(cell("none", workload=workload), [(metric, unit, value)])

    trials = [
        sampled("ping:count=5", "loss", "ratio", 0.25),
        sampled("idle", "idle-rate", "bit/s", 47.0),
        sampled("goodput", "goodput", "bit/s", 393e6),
        trial(cell("none", workload="of-another-version"), [("speed", "m/s", 1.0)]),
    ]
    text = shown(record(trials))
    for workload in ("ping:count=5", "idle", "goodput", "of-another-version"):
        assert sum(line.strip() == workload for line in text.splitlines()) == 1
    assert re.search(r"goodput +÷ none +verdict", text)
    assert re.search(r"none +baseline +393\sMbit/s +1\.00 +ok", text)
    assert re.search(r"none +baseline +47\.0\sbit/s +ok", text)


def test_a_narrow_terminal_breaks_names_and_loses_nothing_of_them() -> None:
    udp, name = "iperf3-udp:rate=20M", "wireguard:impl=boringtun"
    values = [
        ("throughput", "bit/s", 20e6),
        ("jitter", "s", 576e-6),
        ("loss", "ratio", 0.0),
        ("out-of-order", "count", 0.0),
    ]
    trials = [trial(cell(name, workload=each), values) for each in (udp, f"{udp},bidir=on", f"{udp},reverse=on")]
    for some in (trials[:1], trials):
        text = shown(record(some), width=60)
        assert "…" not in text
        assert " throughput " in text and " 20.0\N{NO-BREAK SPACE}Mbit/s " in text
