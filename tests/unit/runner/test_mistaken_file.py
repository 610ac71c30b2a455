"""A mistake in a tunnel's file is told by one line that names the file and the place, and by no traceback."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tunbench
from tests.helpers.plugins import made
from tunbench.plugins import taken
from tunbench.runner import mistaken_file

GRE = Path(tunbench.__file__).parent / "runner" / "tunnels" / "gre.py"


def raised(text: str, file: Path) -> Exception:
    """What comes of a text as the content of that file."""
    with pytest.raises(Exception) as caught:
        exec(compile(text, str(file), "exec"), {})
    return caught.value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = (", ":2: this is not Python: '(' was never closed"),
        ("a = 1\n\nb = c", ":3: NameError: name 'c' is not defined (docs/adding-a-tunnel.md)"),
        ("import tunbench.x", ":1: ModuleNotFoundError: No module named 'tunbench.x' (docs/adding-a-tunnel.md)"),
        (
            "from tunbench.runner.declare.tunnel import About\nAbout(name='x')",
            ":2: TypeError: About.__new__() missing",
        ),
    ],
)
def test_the_message_names_file_and_line(text: str, said: str) -> None:
    file = GRE.with_name("mine.py")
    assert mistaken_file.said_of(raised(text, file)).startswith(f"{file}{said}")
    assert mistaken_file.said_of(raised(text, Path("/elsewhere/mine.py"))) == ""


def test_the_file_of_a_plugin_is_one_of_them(tmp_path: Path) -> None:
    folder = made(tmp_path / "mine")
    file = folder / "tunnels" / "mine.py"
    error = raised("a = 1\n\nb = c", file)
    assert mistaken_file.said_of(error) == ""
    taken.take([folder])
    told = mistaken_file.said_of(error)
    taken.release()
    assert told == f"{file}:3: NameError: name 'c' is not defined (docs/adding-a-tunnel.md)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere\n", "ModuleNotFoundError: No module named 'nowhere'"),
        # No line of it is wrong: what is read of it later fails elsewhere.
        ("class Mine:\n    pass\n", "no class of this file is a Tunnel: write class Name(Tunnel)"),
    ],
)
def test_the_command_ends_with_it_and_exit_code_2(text: str, said: str, tmp_path: Path) -> None:
    shutil.copytree(GRE.parents[2], tmp_path / "tunbench", ignore=shutil.ignore_patterns("__pycache__"))
    mine = tmp_path / "tunbench" / "runner" / "tunnels" / "mine.py"
    mine.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tunbench", "list", "tunnels"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{mine}:1: {said} (docs/adding-a-tunnel.md)\n"
