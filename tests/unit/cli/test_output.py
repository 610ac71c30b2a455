"""What becomes of the output of a command whose reader goes away, or whose disk is full."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.runs import ScriptedLab, finished, invoke, ordered
from tunbench.cli.shell import caller
from tunbench.cli.shell.listing import print_json
from tunbench.report.export.json_text import SCHEMA

COMMANDS = [("list", "tunnels"), ("plan", "show", "quick", "--all"), ("list", "probes", "--json"), ("--version",)]


def printed_into(output: int, command: tuple[str, ...]) -> tuple[int, str]:
    """The exit code of a command that writes there, and what stands on stderr."""
    argv = [sys.executable, "-m", "tunbench", *command]
    done = subprocess.run(argv, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60)
    return done.returncode, done.stderr


def full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def unread() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


FULL = "the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("output", "expected", "said"), [(full, 2, FULL), (unread, 141, "")])
def test_output_that_cannot_be_written_is_told_in_a_line(
    command: tuple[str, ...], output: Callable[[], int], expected: int, said: str
) -> None:
    where = output()
    try:
        code, told = printed_into(where, command)
    finally:
        os.close(where)
    assert (code, told) == (expected, said)


@pytest.mark.parametrize(("output", "expected", "said"), [(full, 2, FULL), (unread, 141, "")])
def test_output_that_cannot_be_written_is_no_mistake_of_what_is_removed(
    output: Callable[[], int], expected: int, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    test_output_that_cannot_be_written_is_told_in_a_line(("toolbox", "remove", "wesher"), output, expected, said)


def typed(text: str, **environment: str) -> tuple[int, str]:
    """The exit code of what is typed into a shell, where `tunbench` is the program, and what stands on stderr."""
    script = f'tunbench() {{ "$0" -m tunbench "$@"; }}; {text}'
    whole = {**os.environ, "PYTHONUNBUFFERED": "", **environment}
    done = subprocess.run(["sh", "-c", script, sys.executable], env=whole, capture_output=True, timeout=60)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_fits_in_part_is_told_in_a_line(unbuffered: str, tmp_path: Path) -> None:
    # sh counts in blocks of 512 bytes.
    found = typed(f"ulimit -f 2; tunbench list tunnels >{tmp_path}/cut", PYTHONUNBUFFERED=unbuffered)
    assert found == (2, "the output cannot be written: File too large\n")
    assert (tmp_path / "cut").stat().st_size == 1024


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["report nowhere", "report", "gate nowhere nowhere", "run nowhere"])
def test_a_message_that_cannot_be_written_changes_no_exit_code(command: str, unbuffered: str) -> None:
    assert typed(f"tunbench {command} 2>/dev/full", PYTHONUNBUFFERED=unbuffered) == (2, "")


def test_without_any_output_a_message_that_cannot_be_written_changes_no_exit_code() -> None:
    assert typed("tunbench plan check >&- 2>/dev/full") == (2, "")


def test_without_any_output_a_command_runs_as_ever(tmp_path: Path) -> None:
    finished(tmp_path, ordered(ScriptedLab()))
    for command in ("list tunnels", f"samples {tmp_path}", f"samples {tmp_path} --format parquet"):
        assert typed(f"tunbench {command} >&-") == (0, "")


def test_a_terminal_of_no_width_is_told_as_much_as_any() -> None:
    assert typed("test $(tunbench list tunnels | wc -c) -gt 2000", COLUMNS="0") == (0, "")


@pytest.mark.parametrize("size", ["\N{SUPERSCRIPT TWO}", "abc", "-1", "0", "", "9" * 20, "9" * 5000])
def test_a_size_that_no_terminal_has_is_left_away(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in caller.SIZE_VARIABLES:
        monkeypatch.setenv(variable, size)
    caller.check()
    assert not {*caller.SIZE_VARIABLES} & {*os.environ}


def test_with_sizes_that_no_terminal_has_every_command_runs() -> None:
    sizes = dict.fromkeys(caller.SIZE_VARIABLES, "\N{SUPERSCRIPT TWO}")
    assert typed("tunbench list probes && tunbench list --help", **sizes) == (0, "")


def test_without_asserts_and_docstrings_commands_run_all_the_same() -> None:
    assert typed("tunbench list probes && tunbench plan check smoke", PYTHONOPTIMIZE="2") == (0, "")


def test_a_user_without_a_home_has_nothing_in_the_cache() -> None:
    # As where no user is known: Python does not ask further where HOME begins with ~.
    assert typed("unset XDG_CACHE_HOME XDG_CONFIG_HOME; tunbench list tunnels", HOME="~") == (0, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mkdir gone; cd gone; rmdir ../gone; tunbench list tunnels", "the working folder is gone"),
        ("export XDG_CACHE_HOME=cache; tunbench lab clean", 'XDG_CACHE_HOME is "cache", which is relative'),
        ("export XDG_CONFIG_HOME='~/.config'; tunbench lab clean", 'XDG_CONFIG_HOME is "~/.config", which is relative'),
    ],
)
def test_where_a_command_could_not_come_to_its_end_it_does_not_begin(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(os.path.abspath, sys.path)))
    monkeypatch.chdir(tmp_path)
    code, told = typed(text)
    assert (code, told.count("\n")) == (2, 1)
    assert told.startswith(message)


def test_ctrl_c_while_modules_load_ends_the_command_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    argv = [sys.executable, "-m", "tunbench", "list", "tunnels"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_letters_that_the_terminal_has_not_are_replaced() -> None:
    argv = [sys.executable, "-m", "tunbench", "study", "show", "openwrt-2016"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout


def test_numbers_that_json_cannot_say_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.inf, 1.5, (math.nan, None)], "b": {"c": -math.inf, "d": True, "e": "Infinity"}})
    said = json.loads(capsys.readouterr().out)
    assert said.pop("schema") == SCHEMA
    assert said == {"a": [None, 1.5, [None, None]], "b": {"c": None, "d": True, "e": "Infinity"}}


def test_a_folder_whose_name_is_no_text_has_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", os.fsdecode(b"x\xff")):
        finished(Path(name), ordered(ScriptedLab()))
    for arguments in (["x"], ["a", "x"], ["x", "--export", "tables"]):
        words = [os.fsdecode(b"x\xff") if one == "x" else one for one in arguments]
        result = invoke("report", *words, "--out", "page.html")
        assert result.exit_code == 0, result.output
    assert invoke("compare", "a", os.fsdecode(b"x\xff")).exit_code == 0
