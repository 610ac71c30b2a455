"""The publications that Tunbench reproduces, on the terminal."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from tunbench.plan.load import Loaded
from tunbench.plan.study import named_cells
from tunbench.plan.study.claim import StudyClaim
from tunbench.plan.study.grid import grid
from tunbench.plan.study.publication import Study
from tunbench.report.export import publications
from tunbench.report.export.publications import Numbers
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of

NUMBER_COLUMNS = ("numbers", "empty")
"""The columns that are aligned to the right."""


def summary(row: Mapping[str, Any]) -> Text:
    """A study on a few lines: its name and title, its scales, and how much of it can be compared."""
    block = Text(row["name"], style="bold").append(f"  {row['title']} ({row['year']})\n", style="not bold")
    for scale, found in row["scales"].items():
        block.append(f"  {_scale(scale, found)}\n", style="not bold")
    without = f", {row['illegible']} illegible or never measured" if row["illegible"] else ""
    return block.append(f"  {row['claims']} claims, {row['published']} published numbers{without}\n", style="not bold")


def whole(name: str, loaded: Loaded, narrowed: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A study part by part: systems, tables, claims, scales, and the commands that run it. Raises PlanError.

    `narrowed` are the options of the command line by which its plan was narrowed.
    """
    study, numbers = publications.study_of(loaded), publications.numbers_of(loaded)
    yield Text(f"{study.title}\n{study.authors}, {study.year}\n{study.source}\n")
    yield _systems(study)
    yield ""
    yield _tables(study, numbers)
    yield ""
    if one := study.calibration:
        yield f"calibrates {one.machine}: {one.system}, {one.condition} of the table {one.table}: {one.why}\n"
    unit_of = {name: metric.unit for metrics in grid(loaded.plan).metrics.values() for name, metric in metrics.items()}
    left_out = named_cells.left_out(loaded.claims, loaded.plan)
    for claim in loaded.claims:
        yield from _claim(claim, unit_of, left_out[claim.name])
    yield ""
    yield from (_scale(scale, found) for scale, found in publications.scales(loaded).items())
    options, folder = (
        [*(["--scale", "quick"] if "quick" in loaded.plans else []), *_options(narrowed)],
        loaded.plan.name,
    )
    yield f"\n{shlex.join(['tunbench', 'run', name, *options, '--out', f'runs/{folder}'])}"
    yield f"tunbench study agree runs/{folder}"


def _options(narrowed: Mapping[str, Any]) -> Iterator[str]:
    """The options as they are typed."""
    for option, given in narrowed.items():
        for one in given if isinstance(given, list) else [given] if given is not None else []:
            yield from (f"--{option}", str(one))


def _scale(name: str, found: Mapping[str, Any]) -> str:
    return f"{name + ': ' if name else ''}{found['words']}"


def _systems(study: Study) -> Grid:
    rows: list[Sequence[str | Text]] = [*study.systems.items()]
    rows += [(name, Text(f"none: {why}", style="dim")) for name, why in study.missing.items()]
    return _grid(("published system", "stack here"), rows)


def _tables(study: Study, numbers: Mapping[tuple[str, str, str], Numbers]) -> Grid:
    used = {(table.table, table.metric, table.statistic) for table in study.table}
    rows = []
    for (table, metric, statistic), (published, illegible) in numbers.items():
        compared = (table, metric, statistic) in used or (table, metric, None) in used
        rows.append([table, metric, statistic, str(published), str(illegible or ""), "yes" if compared else "no"])
    return _grid(("published table", "metric", "statistic", "numbers", "empty", "compared"), rows)


def _claim(claim: StudyClaim, unit_of: Mapping[str, str], left_out: int) -> Iterator[RenderableType]:
    """A claim, and below it how it is tested, or why it is not; so many of its comparisons are left out."""
    # What is said of results takes a second to import, and a list of studies does without.
    from tunbench.report.study_wording import MAX_COMPARISONS, comparison_in_words

    yield Text(claim.name, style="bold").append(f"  {claim.text} ({claim.source})", style="default")
    below = [f"not testable here: {claim.not_testable}"] if claim.not_testable else []
    several = len(claim.compare) > 1
    below += [f"not run{f': {left_out} of {len(claim.compare)} comparisons' if several else ''}"] if left_out else []
    below += [comparison_in_words(one, unit_of) for one in claim.compare[:MAX_COMPARISONS]]
    if len(claim.compare) > MAX_COMPARISONS:
        below.append(f"and {len(claim.compare) - MAX_COMPARISONS} more")
    yield from (Padding(Text(text, style="dim"), (0, 0, 0, 4), expand=False) for text in below)


def _grid(names: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Grid:
    heads = [GridColumn(name, name in NUMBER_COLUMNS, place=not at) for at, name in enumerate(names)]
    return Grid(heads, rows_of(rows))
