"""The command line: one file a command. There is no logic here, only arguments and printing."""

from typing import Annotated

import typer

from tunbench import __version__
from tunbench.cli import lab, machine, plan, study, toolbox
from tunbench.cli import list as listing
from tunbench.cli.choose import choose
from tunbench.cli.compare import compare
from tunbench.cli.digest import digest
from tunbench.cli.doctor import doctor
from tunbench.cli.gate import gate
from tunbench.cli.overhead import overhead
from tunbench.cli.pack import pack
from tunbench.cli.report import report
from tunbench.cli.run import run
from tunbench.cli.samples import samples
from tunbench.cli.shared import installed_plugins
from tunbench.cli.shell import caller, completion_options
from tunbench.cli.shell.broken_output import written
from tunbench.cli.verify import verify

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (choose, run, pack, verify, report, compare, gate, digest, samples, overhead, doctor):
    app.command()(command)
app.add_typer(listing.app, name="list")
app.add_typer(plan.app, name="plan")
app.add_typer(study.app, name="study")
app.add_typer(lab.app, name="lab")
app.add_typer(machine.app, name="machine")
app.add_typer(toolbox.app, name="toolbox")
completion_options.know_shells()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tunbench {__version__}")
        raise typer.Exit


@app.callback()
def tunbench(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    no_installed_plugins: installed_plugins.LeaveOutOption = False,
    install_completion: completion_options.InstallOption = False,
    show_completion: completion_options.ShowOption = False,
) -> None:
    """A laboratory for VPNs, tunnels and overlay networks.

    One plan says which tunnels, under which network conditions, with which workloads.

    Exit codes: 0 all is well, 1 some trials failed or a gate does not pass, 2 bad input or an unusable machine,
    130 interrupted.

    \b
    Examples:
      tunbench list tunnels             what can be measured
      tunbench overhead wireguard+vxlan what it adds to a packet, computed and measured
      tunbench choose none wireguard openvpn --line 300M/40M --delay 35ms
                                        which of them is the better one over that line
      tunbench plan show quick          what a shipped plan runs, and how long
      tunbench plan show quick --text   the plan itself: a start for your own
      tunbench plan check my-plan.toml  whether a plan can run
      tunbench compare runs/a runs/b    what changed from one run to the other
      tunbench verify wan.tar.bz2       whether somebody else's run comes out the same here
      tunbench machine measure          the model machine that is equal to this host
      tunbench study list               publications to reproduce, and how long each takes
      tunbench toolbox list             programs that Debian lacks, and what installing them takes
    """
    installed_plugins.take(context)


def main() -> None:
    """The console script."""
    with written():
        caller.check()
        app()
