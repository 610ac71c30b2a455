import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tunbench import __version__
from tunbench.cli import app
from tunbench.plan.load import PlanError, check, find, load, shipped_plans
from tunbench.plan.toml import positions
from tunbench.runner.declare.link import Link

SMALLEST = 'name = "any"\nstacks = ["none"]\nworkloads = ["ping"]\n'


def message(text: str, **overrides: Any) -> str:
    with pytest.raises(PlanError) as caught:
        check(text, "any.toml", overrides)
    return str(caught.value)


@pytest.mark.parametrize("name", shipped_plans())
def test_shipped_plans_are_right_and_named_as_their_files(name: str) -> None:
    loaded = load(name)
    assert loaded.plan.name == name
    assert loaded.text == loaded.path.read_text()
    assert loaded.text.startswith("# ")


def test_a_claim_names_a_stack_that_fits_the_links_of_its_plan() -> None:
    text = """
name = "any"
stacks = ["none", "vxlan:mtu=8900"]
workloads = ["iperf3-tcp"]
link = "jumbo"
[[claim]]
name = "same"
text = "VXLAN carries what the bare underlay does."
source = "here"
compare = [{ left = { stack = "vxlan:mtu=8900" }, right = { stack = "none" }, expect = "0.9..1.1" }]
"""
    assert check(text, "any.toml").name == "any"
    assert "asks for an MTU of 8900 bytes" in message(text.replace('link = "jumbo"', ""))


def test_the_smallest_plan_has_defaults() -> None:
    plan = check(SMALLEST, "any.toml")
    assert (plan.seed, plan.repeats, plan.axes["topology"], plan.lab.kind, plan.lab.clock) == (
        1,
        1,
        ["pair"],
        "vm",
        "virtual",
    )
    assert [one.spec() for one in plan.values["tuning"]] == [{"name": "default", "sysctl": {}, "congestion": ""}]
    assert plan.values["link"] == [Link("wire")]
    assert [one.spec() for one in plan.values["machine"]] == [{"name": "full", "without": [], "speed": 1000}]
    assert (plan.include, plan.exclude, plan.probes) == ([], [], None)
    assert plan.axes["profile"] == ["baseline"]


def test_a_file_goes_before_a_shipped_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find("quick") == shipped_plans()["quick"]
    Path("quick").write_text(SMALLEST)
    assert load("quick").plan.name == "any"


def test_what_is_no_plan_file(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match='did you mean "quick"'):
        load("quik")
    with pytest.raises(PlanError, match="is a folder"):
        load(str(tmp_path))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'name = "\xff"')
    with pytest.raises(PlanError, match="byte 8 is not UTF-8"):
        load(str(binary))
    os.mkfifo(tmp_path / "pipe.toml")
    for name in (str(tmp_path / "pipe.toml"), "/dev/zero"):
        with pytest.raises(PlanError, match="is a pipe or a device: write the plan to a file, and name that"):
            load(name)


def test_a_mark_of_the_byte_order_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "any.toml").write_text(SMALLEST, encoding="utf-8-sig")
    assert load(str(tmp_path / "any.toml")).text == SMALLEST


def test_the_command_line_overrides_the_plan() -> None:
    plan = load("quick", seed=7, clock="real").plan
    assert (plan.seed, plan.lab.kind, plan.lab.clock) == (7, "vm", "real")


def test_another_lab_has_its_own_clock() -> None:
    assert load("quick", lab="native").plan.lab.clock == "real"
    assert check(SMALLEST + '[lab]\nkind = "native"\n', "any.toml", {"lab": "vm"}).lab.clock == "virtual"
    assert check(SMALLEST + '[lab]\nclock = "real"\n', "any.toml", {"lab": "vm"}).lab.clock == "real"


def test_a_mistake_of_the_command_line_names_its_option() -> None:
    assert message(SMALLEST, seed=-1).startswith("--seed: -1 is out of range")
    assert message(SMALLEST, lab="ssh").startswith('--lab: "ssh" is not available in this version')
    assert message(SMALLEST, lab="native", clock="virtual").startswith("--clock: the native lab")
    assert message('lab = "vm"\n' + SMALLEST, lab="native").startswith("any.toml:1: lab: ")


@pytest.mark.parametrize("option", ["lab", "clock"])
def test_an_option_that_is_not_utf8_is_a_mistake(option: str) -> None:
    found = message(SMALLEST, **{option: os.fsdecode(b"x\xff")})
    assert found.startswith(f'--{option}: unknown {option} "x\N{REPLACEMENT CHARACTER}"; known: ')


def test_deep_nesting_is_a_message() -> None:
    assert "nested too deeply" in message("a = " + "[" * 100_000)


@pytest.mark.parametrize("value", ["1", "true", "[]", "{}", '"x"', "[[]]", "1979-05-27", "inf", "[{}]", "[1, 'none']"])
@pytest.mark.parametrize("key", ["name", "seed", "repeats", "topology", "stacks", "workloads", "profiles", "lab"])
def test_a_value_of_any_type_is_a_plan_or_a_message(key: str, value: str) -> None:
    lines = [line for line in SMALLEST.splitlines() if not line.startswith(f"{key} ")]
    try:
        check("\n".join([f"{key} = {value}", *lines]), "any.toml")
    except PlanError as error:
        assert str(error).startswith("any.toml:1: ")


@pytest.mark.parametrize("value", ["1", "true", "[]", "{}", '"x"', "1979-05-27", "nan", "[[1]]"])
@pytest.mark.parametrize("key", ["name", "placement", "delay", "loss", "rate", "limit", "reverse"])
def test_a_term_of_any_type_is_a_profile_or_a_message(key: str, value: str) -> None:
    name = "" if key == "name" else 'name = "any"\n'
    try:
        check(f"{SMALLEST}[[profiles]]\n{name}{key} = {value}\n", "any.toml")
    except PlanError as error:
        assert str(error).startswith("any.toml:")


@given(st.text())
def test_any_text_is_a_message(text: str) -> None:
    with pytest.raises(PlanError):
        check(text, "any.toml")


AWKWARD = """\
title = "a # [no] comment" # a comment = "x"
"quoted.key".inner = 'C:\\new'
text = \"\"\"
[not.a.table]
key = "value" \\"\"\"
\"\"\"
literal = '''
it's = [1,
'''
"es\\u0063aped" . 'as it\\u0069s' = 1
date = 1979-05-27 07:32:00
floats = [1.5, -2e3, inf,
  # comment with ] and }
  0xFF, [
    "deep", { x = [1,
       2], y.z = true } ],
]
empty = { }

[table . "sub"]
a = 1

[[list]]
name = "first"
[[list.inner]]
v = 1
[list.plain]
[[list]]
[[list.inner]]
[[list.inner]]
v = 2
"""


def paths(value: object, path: positions.Path = ()) -> list[positions.Path]:
    if isinstance(value, dict):
        steps: list[tuple[str | int, object]] = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    else:
        return []
    return [found for step, inside in steps for found in ((*path, step), *paths(inside, (*path, step)))]


def test_every_key_and_entry_has_its_line() -> None:
    found = positions.lines(AWKWARD)
    assert set(paths(tomllib.loads(AWKWARD))) == set(found)
    written = AWKWARD.splitlines()
    for path, line in found.items():
        if isinstance(path[-1], str):
            assert path[-1].removeprefix("esc") in written[line - 1] or path[-1] == "list"
    assert written[found["list", 1, "inner", 1, "v"] - 1] == "v = 2"
    assert written[found["floats", 4, 1, "x", 1] - 1].strip() == "2], y.z = true } ],"


def test_a_path_without_a_line_has_that_of_what_is_around_it() -> None:
    line = positions.line_of(("table", "sub", "b"), positions.lines(AWKWARD))
    assert line
    assert AWKWARD.splitlines()[line - 1] == '[table . "sub"]'
    assert positions.line_of(("nowhere",), {}) is None


COMMANDS = [
    *(["list", what] for what in ("tunnels", "workloads", "profiles", "plans")),
    *(["plan", "show", name] for name in shipped_plans()),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_print_tables_and_json(command: list[str]) -> None:
    table = CliRunner().invoke(app, command)
    assert table.exit_code == 0
    assert table.stdout
    as_json = CliRunner().invoke(app, [*command, "--json"])
    assert as_json.exit_code == 0
    assert json.loads(as_json.stdout, parse_constant=pytest.fail)


def test_a_shipped_plan_can_be_copied() -> None:
    shown = CliRunner().invoke(app, ["plan", "show", "quick", "--text"])
    assert shown.stdout == shipped_plans()["quick"].read_text()


@pytest.mark.parametrize("overrides", [{}, {"scale": "small"}, {"scale": "other"}])
def test_what_a_scale_replaces_stands_in_the_file(overrides: dict[str, str]) -> None:
    text = f'{SMALLEST}[scale.small]\nstacks = ["noone"]\n[scale.other]\nrepeats = 2\n'
    assert message(text, **overrides).startswith("any.toml:5: scale.small.stacks[0]: ")


def test_a_mistake_is_one_message_and_exit_code_2() -> None:
    result = CliRunner().invoke(app, ["plan", "check", "quik"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == 'quik: there is no such file, and no shipped plan of that name; did you mean "quick"?\n'


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"tunbench {__version__}\n"
