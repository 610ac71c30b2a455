"""What `tunbench plan show` and the lists of links, tunings and machines print."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.helpers import terminal
from tests.helpers.runs import invoke, runs_here
from tunbench.plan.axes import link, machine, tuning
from tunbench.report.terminal import listings
from tunbench.runner.declare import axes

HEAD = 'name = "any"\nstacks = ["none", "gre"]\nworkloads = ["ping", "pmtu"]\n'


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return runs_here(monkeypatch, tmp_path)


def shown(text: str, *options: str) -> str:
    Path("axes.toml").write_text(HEAD + text)
    printed = invoke("plan", "show", "axes.toml", *options)
    assert printed.exit_code == 0
    return printed.stdout


def header(printed: str) -> list[str]:
    return next(heads for heads, _ in terminal.tables(printed) if heads[0] == "shard")


def test_axes_that_are_as_usual_have_no_column() -> None:
    printed = shown("")
    assert header(printed) == ["shard", "repeat", "profile", "stack", "underlay", "trials"]
    said = "A shard starts a lab of its own, brings its stack up in it, and runs one trial of each of these workloads"
    assert f"{said}: ping, then pmtu." in " ".join(printed.split())
    assert "2 shards, 4 trials, about" in printed


def test_axes_with_several_values_have_one_and_a_single_unusual_value_stands_above() -> None:
    printed = shown('link = ["wire", "jumbo"]\nmachine = "slow"')
    assert header(printed) == ["shard", "repeat", "link", "profile", "stack", "underlay", "trials"]
    assert printed.count("jumbo") == 2
    assert " ".join(printed.split()).count("machine slow") == 1


def test_shards_with_different_workloads_say_theirs() -> None:
    printed = shown('exclude = [{ stack = "none", workload = "pmtu" }]')
    assert "workloads" in header(printed)
    assert "one trial of each of its workloads in turn." in " ".join(printed.split())
    assert "2 shards, 3 trials" in printed


SWEPT = 'profiles = [{ name = "wan", delay = "0ms..1000ms step 10ms" }]\nrepeats = 20'


def test_a_plan_of_thousands_is_summed_up() -> None:
    printed = shown(SWEPT)
    assert len(printed.splitlines()) < 80
    assert "4040 shards, 8080 trials" in printed
    assert "… and 4030 more shards: --all lists them" in printed
    counts = {row[0]: row[1] for heads, rows in terminal.tables(printed) if heads[0] == "axis" for row in rows}
    assert counts == {
        **dict.fromkeys(axes.USUAL, "1"),
        **{"repeat": "20", "profile": "101", "stack": "2", "workload": "2"},
    }
    assert "wan:delay=0ms" in printed
    assert "wan:delay=1000ms" in printed
    assert "wan:delay=500ms" not in printed


def test_what_is_folded_is_not_said_to_be_the_same() -> None:
    printed = shown(SWEPT + '\nexclude = [{ profile = "wan:delay=1000ms", workload = "pmtu" }]')
    assert "workloads" in header(printed)
    assert "then pmtu" not in printed


@pytest.mark.parametrize("values", ['["[/b]", "[red]"]', '["[/b]"]', '["[/b]", ":smile:"]'])
@pytest.mark.parametrize("more", ["", SWEPT])
def test_values_that_look_like_markup_are_shown_as_they_are(values: str, more: str) -> None:
    printed = shown(f'tuning = {{ name = "t", sysctl."net.ipv4.tcp_x" = {values} }}\n{more}')
    for value in json.loads(values):
        assert f"tcp_x={value}" in printed


def test_all_of_them_are_listed_on_request() -> None:
    printed = shown(SWEPT.replace("20", "1"), "--all")
    assert printed.count("wan:delay=") == 202
    assert "--all" not in printed


def test_json_has_all() -> None:
    described = json.loads(shown(SWEPT, "--json"))
    assert (len(described["shards"]), described["trials"]) == (4040, 8080)


def test_a_machine_on_the_real_clock_is_bad_input() -> None:
    Path("axes.toml").write_text(HEAD + 'machine = "slow"\n')
    for options in (["--clock", "real"], ["--lab", "native"]):
        printed = invoke("plan", "check", "axes.toml", *options)
        assert (printed.exit_code, printed.stdout) == (2, "")
        assert printed.stderr.startswith("axes.toml:4: machine: ")
    assert invoke("plan", "check", "axes.toml").exit_code == 0


def test_tunings_are_listed() -> None:
    printed = invoke("list", "tunings").stdout
    assert all(name in printed for name in tuning.shipped())
    assert "net.ipv4.tcp_reordering = 10" in printed
    rows = json.loads(invoke("list", "tunings", "--json").stdout)["rows"]
    assert rows == [one.spec() for one in tuning.shipped().values()]


def test_links_are_listed() -> None:
    lines = [line.replace("\xa0", " ") for line in invoke("list", "links").stdout.splitlines()]
    at = next(number for number, line in enumerate(lines) if line.startswith("1G "))
    cells = [terminal.fields(line) for line in lines[at : at + 3]]
    assert cells[0] == ["1G", "1 Gbit/s", "1 Gbit/s", "1500", "ethernet", "before"]
    assert cells[1:] == [["delay 75 µs"] * 2, ["queue 1000 packets"] * 2]
    assert any(re.match("aggregates +no rate", line) for line in lines)
    rows = json.loads(invoke("list", "links", "--json").stdout)["rows"]
    assert rows == [one.spec() for one in link.shipped().values()]


def test_a_link_is_listed_with_the_time_of_its_queue_and_each_direction() -> None:
    [line] = link.read_links({"name": "x", "up": {"rate": "1M", "queue": "50ms"}, "down": {"delay": "5ms"}})
    row = [cell.replace("\xa0", " ") for cell in listings.link_row(line.spec())]
    assert row == ["x", "1 Mbit/s\ndelay 75 µs\nqueue 50 ms", "no rate\ndelay 5 ms", "1500", "ethernet", "before"]


def test_machines_are_listed() -> None:
    printed = invoke("list", "machines").stdout
    assert "aes, avx2, pclmulqdq, vaes" in printed
    rows = json.loads(invoke("list", "machines", "--json").stdout)["rows"]
    assert rows == [one.spec() for one in machine.shipped().values()]


@pytest.mark.parametrize(("cores", "clock", "told"), [(2, "virtual", True), (8, "virtual", False), (2, "real", False)])
def test_labs_without_a_core_of_their_own_are_told(
    monkeypatch: pytest.MonkeyPatch, cores: int, clock: str, told: bool
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    said = invoke("plan", "show", "quick", "--clock", clock, "--workers", "8").stderr
    assert ("each of the 8 labs needs a core: this machine has 2 cores" in said) == told


@pytest.mark.parametrize("number", ["1000000000", "1" + "0" * 30])
def test_more_workers_than_any_machine_has_cores_are_refused(number: str) -> None:
    Path("any.toml").write_text(HEAD)
    for command in (("plan", "show", "any.toml"), ("run", "any.toml", "--out", "begun"), ("overhead", "gre")):
        refused = invoke(*command, "--workers", number)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "than or equal to 1000 " in refused.stderr
    assert not Path("begun").exists()
