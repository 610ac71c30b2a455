"""How completion is installed and shown, and how these options end where that cannot be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.runs import invoke
from tunbench.cli.shell.completion_options import ANOTHER_SHELL, TO_A_FILE


def called_from(monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home, to which bash belongs."""
    monkeypatch.setenv("HOME", str(tmp_path))
    called_from(monkeypatch, "bash")
    return tmp_path


def no_place(home: Path) -> None:
    (home / ".bash_completions").touch()


def a_folder(home: Path) -> None:
    (home / ".bashrc").mkdir()


def another_encoding(home: Path) -> None:
    (home / ".bashrc").write_bytes(b"# caf\xe9\n")


def gone(home: Path) -> None:
    home.rmdir()
    home.touch()


@pytest.mark.parametrize("prepare", [no_place, a_folder, another_encoding, gone])
def test_a_home_that_takes_no_completion_is_told_with_the_mend(prepare: Callable[[Path], None], home: Path) -> None:
    prepare(home)
    done = invoke("--install-completion")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("completion cannot be installed: ")
    assert done.stderr.endswith(f"; {TO_A_FILE}\n")


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_a_shell_for_which_there_is_none_is_told_the_others(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called_from(monkeypatch, "dash")
    done = invoke(option)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"{ANOTHER_SHELL}\n")


def test_where_it_can_be_it_is_installed_and_shown(home: Path) -> None:
    done = invoke("--install-completion")
    assert done.exit_code == 0 and "bash completion installed in" in done.stdout
    [installed] = (home / ".bash_completions").iterdir()
    assert installed.read_text() == invoke("--show-completion").stdout.removesuffix("\n")
