"""--install-completion and --show-completion: Typer's own, which end in a line where they can do nothing.

By themselves they end in a traceback, or with the exit code of failed trials.
"""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Annotated

import typer
from typer import completion

from tunbench.cli.shell.errors import BAD_INPUT, complain

ANOTHER_SHELL = "completion is there for bash, zsh, fish and PowerShell: call tunbench from one of these"

TO_A_FILE = "print it to a file that your shell reads, with: tunbench --show-completion >FILE"


def _install(context: typer.Context, param: typer.CallbackParam, wanted: bool) -> None:
    with _ending_in_a_line():
        completion.install_callback(context, param, wanted)


def _show(context: typer.Context, param: typer.CallbackParam, wanted: bool) -> None:
    with _ending_in_a_line():
        completion.show_callback(context, param, wanted)


InstallOption = Annotated[
    bool, typer.Option("--install-completion", callback=_install, help="Install completion for the current shell.")
]
ShowOption = Annotated[
    bool, typer.Option("--show-completion", callback=_show, help="Print what installs it, to copy or change it.")
]


def know_shells() -> None:
    """Makes Typer's shells known, as it does itself where the options are its own."""
    completion.get_completion_inspect_parameters()


@contextmanager
def _ending_in_a_line() -> Iterator[None]:
    printed = StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            yield
        return
    except SystemExit:
        typer.echo(printed.getvalue(), nl=False)
        raise
    except typer.Exit:
        # What was printed names the shell, and no mend.
        complain(ANOTHER_SHELL)
    except OSError as error:
        complain(f"completion cannot be installed: {error.filename}: {error.strerror}; {TO_A_FILE}")
    except UnicodeError:
        complain(f"completion cannot be installed: what your shell reads at its start is not UTF-8; {TO_A_FILE}")
    raise typer.Exit(BAD_INPUT)
