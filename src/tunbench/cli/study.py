"""`tunbench study`: publications that Tunbench reproduces, and how far a run of one agrees with it."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.narrowing import ProfileOption, RepeatsOption, StackOption, WorkloadOption, narrowed_by
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.read_runs import record_told, tell_study
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import screen
from tunbench.cli.shell.console import show as show_parts
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.cli.shell.listing import print_json
from tunbench.journal import read
from tunbench.journal.journal import JournalError
from tunbench.plan.load import load, shipped_studies
from tunbench.report.export import publications as exported
from tunbench.report.terminal import publications
from tunbench.run import given_plugins
from tunbench.run.order import RunError

app = typer.Typer(no_args_is_help=True, help="Reproduce publications, and see how far a run agrees with one.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


StudyArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The name of a shipped study, or its file.", autocompletion=completion.studies),
]


@app.command(name="list")
def listed(as_json: AsJson = False) -> None:
    """List the studies: publications with their published numbers, claims, and the time that each scale takes.

    \b
    Examples:
      tunbench study list
      tunbench study show openwrt-2016
    """
    with bad_input_exits():
        rows = [exported.as_json(name, load(name)) for name in shipped_studies()]
    if as_json:
        return print_json(rows)
    for row in rows:
        screen().print(publications.summary(row), soft_wrap=True)


@app.command()
def show(
    name: StudyArgument,
    stack: StackOption = None,
    workload: WorkloadOption = None,
    profile: ProfileOption = None,
    repeats: RepeatsOption = None,
    plugin: PluginOption = None,
) -> None:
    """Show a study: its systems, tables and claims, what cannot be tested here and why, and how it is run.

    Narrowed as a run of it would be, it says which claims are not run, and how long the rest takes.

    \b
    Examples:
      tunbench study show openwrt-2016
      tunbench study show openwrt-2016 --stack none --stack 'ipip*'
    """
    narrowed = narrowed_by(stack, workload, profile, repeats)
    with bad_input_exits():
        parts = list(publications.whole(name, load(name, **narrowed), narrowed))
    show_parts(screen(), parts)


@app.command()
def agree(
    run: Annotated[Path, run_argument()],
    every: Annotated[bool, typer.Option("--all", help="Tell of every claim, also those without a verdict.")] = False,
    as_json: AsJson = False,
    plugin: PluginOption = None,
) -> None:
    """Tell how far a run of a study agrees with what was published: its claims by a verdict, its tables in numbers.

    It begins with the claims of which a verdict was reached, those that are refuted first. Exit code 0 whatever the
    verdicts are, 2 where the folder is no run of a study.

    \b
    Examples:
      tunbench study agree runs/openwrt-2016
      tunbench study agree runs/openwrt-2016 --all
      tunbench study agree runs/openwrt-2016 --json
    """
    with bad_input_exits(JournalError, RunError):
        from tunbench.analysis.run_analysis import analyse
        from tunbench.analysis.study.assessment import assess
        from tunbench.journal.readers import published
        from tunbench.report.export import study as agreement
        from tunbench.report.terminal import study_tables

        # A folder that is no run is told before what its plan lacks.
        analysis = analyse(record_told(run))
        given_plugins.check(read.begun(run).manifest, str(run), f"tunbench study agree {shlex.quote(str(run))}")
        loaded = read.loaded_plan(run)
        assessment = assess(analysis, loaded, published.numbers_of_tables(loaded))
    tell_study(run, assessment)
    if as_json:
        print_json(agreement.as_json(assessment, analysis.record.missing))
    else:
        screen().print(study_tables.rendered(assessment, long=True, every=every))
