"""`tunbench study`: publications that Tunbench reproduces, and how far a run of one agrees with it."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tunbench.cli.console import screen
from tunbench.cli.errors import bad_input_exits
from tunbench.cli.listing import print_json
from tunbench.journal import read
from tunbench.journal.journal import JournalError
from tunbench.plan.estimate.duration import default_workers
from tunbench.plan.estimate.host_pace import estimate
from tunbench.plan.expand import expand, trials
from tunbench.plan.extent import in_words
from tunbench.plan.load import Loaded, PlanError, load, shipped_studies
from tunbench.plan.study.grid import grid
from tunbench.plan.study.publication import Study

app = typer.Typer(no_args_is_help=True, help="Reproduce publications, and see how far a run agrees with one.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _names(incomplete: str) -> list[str]:
    return [name for name in shipped_studies() if name.startswith(incomplete)]


StudyArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a shipped study, or its file.", autocompletion=_names)
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
        rows = [summary(name) for name in shipped_studies()]
    if as_json:
        return print_json(rows)
    for row in rows:
        screen().print(_block(row), soft_wrap=True)


@app.command()
def show(name: StudyArgument) -> None:
    """Show a study: its systems, tables and claims, what cannot be tested here and why, and how it is run.

    \b
    Example:
      tunbench study show openwrt-2016
    """
    with bad_input_exits():
        loaded = load(name)
        study = _study(loaded)
        numbers = _numbers(loaded)
    console = screen()
    console.print(Text(f"{study.title}\n{study.authors}, {study.year}\n{study.source}\n"))
    console.print(_systems(study))
    console.print(_tables(study, numbers))
    _print_claims(loaded, console)
    for scale, found in _scales(loaded).items():
        console.print(Text(f"{scale + ': ' if scale else ''}{found['words']}"), soft_wrap=True)
    option, folder = " --scale quick" if "quick" in loaded.plans else "", f"runs/{loaded.plan.name}"
    commands = (f"tunbench run {name}{option} --out {folder}", f"tunbench study agree {folder}")
    console.print(Text("\n" + "\n".join(commands)), soft_wrap=True)


@app.command()
def agree(run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")], as_json: AsJson = False) -> None:
    """Tell how far a run of a study agrees with what was published: its tables in numbers, its claims by a verdict.

    Exit code 0 whatever the verdicts are, 2 where the folder is no run of a study.

    \b
    Examples:
      tunbench study agree runs/openwrt-2016
      tunbench study agree runs/openwrt-2016 --json
    """
    with bad_input_exits(JournalError):
        from tunbench.analysis.findings import find
        from tunbench.analysis.study.assessment import assess, of_run
        from tunbench.report import study_wording
        from tunbench.report.terminal import study_tables

        assessment = assess(find(read.record(run)), of_run(run))
    if as_json:
        print_json(study_wording.as_json(assessment))
    else:
        screen().print(study_tables.rendered(assessment, long=True))


def summary(name: str) -> dict[str, Any]:
    """A study in a few words. Raises PlanError."""
    loaded = load(name)
    study, numbers = _study(loaded), _numbers(loaded)
    return {
        "name": name,
        "title": study.title,
        "year": study.year,
        "scales": _scales(loaded),
        "claims": len(loaded.claims),
        "published": sum(count for count, _ in numbers.values()),
        "illegible": sum(count for _, count in numbers.values()),
        "file": str(loaded.path),
    }


def _study(loaded: Loaded) -> Study:
    if loaded.study is None:
        raise PlanError(f"{loaded.path}: this is no study: it has no table [study]; tunbench study list shows them")
    return loaded.study


def _numbers(loaded: Loaded) -> dict[tuple[str, str, str], tuple[int, int]]:
    """How many numbers of each published table, metric and statistic can be read, and how many cannot."""
    from tunbench.analysis.study import reference

    rows = reference.read(loaded)
    there, all_of = (Counter((row.table, row.metric, row.statistic) for row in some) for some in (_read(rows), rows))
    return {key: (there[key], count - there[key]) for key, count in all_of.items()}


def _read(rows: list[Any]) -> list[Any]:
    return [row for row in rows if row.value is not None]


def _scales(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """The shards, trials and seconds of each scale."""
    found = {}
    for scale, plan in loaded.plans.items():
        shards = expand(plan)
        workers = default_workers(plan.lab.clock)
        found[scale if len(loaded.plans) > 1 else ""] = {
            "shards": len(shards),
            "trials": trials(shards),
            "workers": workers,
            "seconds": round(estimate(shards, workers, plan.lab.clock), 1),
            "words": in_words(plan, workers),
        }
    return found


def _block(row: dict[str, Any]) -> Text:
    """A study on a few lines: its name and title, its scales, and how much of it can be compared."""
    block = Text(row["name"], style="bold").append(f"  {row['title']} ({row['year']})\n", style="not bold")
    for scale, found in row["scales"].items():
        block.append(f"  {scale + ': ' if scale else ''}{found['words']}\n", style="not bold")
    without = f", {row['illegible']} illegible or never measured" if row["illegible"] else ""
    return block.append(f"  {row['claims']} claims, {row['published']} published numbers{without}\n", style="not bold")


def _systems(study: Study) -> Table:
    shown = _table("published system", "stack here")
    for name, stack in study.systems.items():
        shown.add_row(Text(name), Text(stack))
    for name, why in study.missing.items():
        shown.add_row(Text(name), Text(f"none: {why}", style="dim"))
    return shown


def _tables(study: Study, numbers: dict[tuple[str, str, str], tuple[int, int]]) -> Table:
    used = {(table.table, table.metric, table.statistic) for table in study.table}
    shown = _table("published table", "metric", "statistic", "numbers", "empty", "compared")
    for (table, metric, statistic), (there, illegible) in numbers.items():
        here = (table, metric, statistic) in used or (table, metric, None) in used
        cells = [table, metric, statistic, str(there), str(illegible or ""), "yes" if here else "no"]
        shown.add_row(*(Text(cell) for cell in cells))
    return shown


def _print_claims(loaded: Loaded, console: Console) -> None:
    from tunbench.report import study_wording

    unit_of = {name: metric.unit for metrics in grid(loaded.plan).metrics.values() for name, metric in metrics.items()}
    for claim in loaded.claims:
        console.print(Text(claim.name, style="bold").append(f"  {claim.text} ({claim.source})", style="default"))
        how = [f"not testable here: {claim.not_testable}"] if claim.not_testable else []
        how += [
            study_wording.comparison_in_words(one, unit_of) for one in claim.compare[: study_wording.MAX_COMPARISONS]
        ]
        how += (
            [f"and {len(claim.compare) - study_wording.MAX_COMPARISONS} more"]
            if len(claim.compare) > study_wording.MAX_COMPARISONS
            else []
        )
        for text in how:
            console.print(Padding(Text(text, style="dim"), (0, 0, 0, 4), expand=False))
    console.print()


def _table(*columns: str) -> Table:
    shown = Table()
    for column in columns:
        numeric = column in ("numbers", "empty")
        shown.add_column(column, justify="right" if numeric else "left", overflow="fold")
    return shown
