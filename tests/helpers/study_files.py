"""What the tests of shipped studies read: a study's file, its plan at each scale, and the published numbers."""

import csv
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tunbench.plan.keys import BESIDE_A_PLAN, read_plan
from tunbench.plan.model import Plan

COLUMNS = ["table", "system", "condition", "metric", "statistic", "unit", "value", "source"]


class Row(NamedTuple):
    table: str
    system: str
    condition: str
    metric: str
    statistic: str
    unit: str
    value: str
    source: str


def published(name: str) -> list[Row]:
    """All rows of a reference; its header and its number of columns are checked."""
    text = files("tunbench").joinpath(f"reference/{name}.csv").read_text(encoding="utf-8")
    header, *rows = list(csv.reader(text.splitlines(), strict=True))
    assert header == COLUMNS
    return [Row(*row) for row in rows]


@cache
def study(name: str) -> dict[str, Any]:
    """The file of a study as it stands."""
    return tomllib.loads(files("tunbench").joinpath(f"plan/studies/{name}.toml").read_text(encoding="utf-8"))


@cache
def plan(name: str, scale: str = "") -> Plan:
    """The plan of a study, with the keys of a scale put in."""
    data = study(name)
    keys = data["scale"][scale] if scale else {}
    return read_plan({key: value for key, value in {**data, **keys}.items() if key not in BESIDE_A_PLAN})
