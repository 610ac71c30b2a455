"""`tunbench choose`: which of some stacks is the better one over a line, from its data sheet and without a file."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunbench.cli.shared.executing import MISTAKES, conclude, execute
from tunbench.cli.shared.path_names import folder_option
from tunbench.cli.shared.plan_options import WorkersOption
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import say, screen, show
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.journal import files
from tunbench.journal.folders import resume_command
from tunbench.plan import cautions, choice
from tunbench.plan.choice import Choice
from tunbench.plan.estimate.duration import default_workers
from tunbench.plan.load import Loaded
from tunbench.report.terminal import choice_wording as wording
from tunbench.run import execution
from tunbench.run.order import RunError, default_folder, order_of


def choose(
    stacks: Annotated[
        list[str],
        typer.Argument(
            metavar="STACK...",
            help="What there is to choose from; none is the bare line.",
            autocompletion=completion.tunnels,
        ),
    ],
    line: Annotated[
        str, typer.Option(metavar="DOWN/UP", help="What each site's line carries, as its data sheet says: 300M/40M.")
    ],
    line_b: Annotated[str, typer.Option(metavar="DOWN/UP", help="The line of the second site, if it is another.")] = "",
    delay: Annotated[str, typer.Option(help="From site to site, one way: half of what ping shows.")] = "10ms",
    loss: Annotated[str, typer.Option(help="Share of packets that are lost, each way.")] = "0%",
    purpose: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="PURPOSE",
            help="voip, backup or web; else anything.",
            autocompletion=lambda: [name for name in choice.PURPOSES if name],
        ),
    ] = "",
    minutes: Annotated[float, typer.Option(min=0.1, max=10_000, help="After so many, no more repeats begin.")] = 10,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also keep the plan in this file; it is run all the same.")
    ] = None,
    seed: Annotated[int, typer.Option(help="What is random follows from it.")] = 1,
    out: Annotated[Path | None, folder_option("The run's folder; else runs/<time>-choose.")] = None,
    workers: WorkersOption = None,
    plugin: PluginOption = None,
) -> None:
    """Choose among stacks for a line between two sites: no file, and an answer within minutes.

    From the line it makes a plan, and says what that measures and for how long. It repeats in blocks until the
    intervals are narrow enough or the time is over, and tells what was found as run does. With --write the plan is
    kept in a file besides, to be changed and run again.

    \b
    Examples:
      tunbench choose none wireguard openvpn --line 300M/40M --delay 35ms --loss 0.2%
      tunbench choose wireguard openvpn --line 50M/10M --line-b 1G/1G --for backup
      tunbench choose wireguard ipsec --line 16M/1M --delay 20ms --for voip --minutes 5 --write call.toml
    """
    console = screen(stderr=True)
    with bad_input_exits(*MISTAKES):
        asked = choice.read(stacks, line, line_b, delay, loss, purpose, seed)
        text = choice.text(asked, _command(asked, purpose))
        loaded = choice.loaded(text, Path(f"{choice.NAME}.toml"))
        order = order_of(loaded, {})
        count = workers or default_workers(order.lab.clock)
        show(console, map(Text, wording.plan(asked, loaded, count, minutes)))
        for told in order.toolbox.notes:
            say(console, told)
        for told in cautions.lines(order.shards, order.lab.clock):
            say(console, told)
        if write:
            _check_kept(text, write)
        folder = out or default_folder(order.plan.name)
        with execution.machine_held(order):
            execution.create(folder, order)
            if write:
                _keep(text, write)
            changed = execute(folder, order, count, console, limit=60 * minutes)
        code = conclude(folder, order.loaded, changed, console)
        _answer(folder, order.loaded, asked)
        raise typer.Exit(code)


def _answer(folder: Path, loaded: Loaded, asked: Choice) -> None:
    """What of the purpose `run` does not tell, and what the time has left open."""
    from tunbench.analysis.calls import calls
    from tunbench.analysis.run_analysis import analyse
    from tunbench.journal.readers.registry import record_of
    from tunbench.report.terminal import calls as shown

    analysis = analyse(record_of(folder))
    if choice.CALL in asked.purpose.workloads:
        names = [one.name for one in loaded.plan.workloads]
        show(screen(), map(Text, shown.lines(calls(analysis, names))))
    missing = analysis.record.planned - len(analysis.record.trials)
    if missing > 0:
        why = "" if analysis.record.interrupted else "the time is over, and "
        verb = "is" if missing == 1 else "are"
        left = f"{missing} of {analysis.record.planned} trials that were asked for {verb} left"
        say(screen(stderr=True), f"{why}{left}; go on with: {resume_command(folder)}")


def _check_kept(text: str, file: Path) -> None:
    """Raises RunError where a file has anything else than the plan, or cannot be written."""
    if os.path.lexists(file) and not _holds(file, text):
        raise RunError(f"--write: {file} is there already: name another file")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise RunError(f"--write: {file.parent} is no folder that you can write to; name another file")


def _holds(file: Path, text: str) -> bool:
    try:
        return files.text(file, len(text.encode())) == text
    except OSError:
        return False


def _keep(text: str, file: Path) -> None:
    """Writes the plan to a file. Raises RunError."""
    try:
        files.write(file, text)
    except OSError as error:
        raise RunError(f"--write: cannot write to {file}: {error.strerror}; name another file") from None


def _command(asked: Choice, purpose: str) -> str:
    """The command as it is typed."""
    words = ["tunbench", "choose", *asked.stacks, "--line", "/".join(asked.a)]
    words += ["--line-b", "/".join(asked.b)] if asked.b != asked.a else []
    words += ["--delay", asked.delay, "--loss", asked.loss, *(["--for", purpose] if purpose else [])]
    return shlex.join(words)
