"""The schema of what stands in a plan's file besides the plan: scales, the study that it reproduces, and claims."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator

from tunbench.plan.axes.lists import MOST_ENTRIES
from tunbench.plan.axes.stack import read_stack
from tunbench.plan.study.cell import CELL, Cell, Expected, legible, read_cell, read_expected, read_text
from tunbench.plan.toml.positions import MistakeAt, Path, shown
from tunbench.runner.declare.options import nearest

KEYS = ("study", "claim", "scale")
"""The keys of a plan's file that are none of the plan."""

FULL = "full"
"""The scale that the plan itself is."""

MOST_SCALES = 10
"""Scales of a plan: each is a plan of its own, and is checked as one."""

COMPARISON = '{ left = { stack = "ipip" }, right = { stack = "gre" }, expect = "> 1" }'

CLUSTER = '"in the kernel" = ["GRE", "VXLAN"]'

EXAMPLES = {
    "scale": "[scale.quick] and below it repeats = 3",
    "study": '[study] and below it title = "…"',
    "study.title": 'title = "A Comparison of Tunnels"',
    "study.authors": 'authors = "A. Author and B. Author"',
    "study.year": "year = 2016",
    "study.source": 'source = "https://doi.org/…"',
    "study.reference": 'reference = "openwrt-2016.csv"',
    "study.systems": '[study.systems] and below it "No VPN" = "none"',
    "study.missing": '[study.missing] and below it "FreeS/WAN" = "not built any more"',
    "study.table": '[[study.table]] and below it table = "throughput"',
    "study.table.table": 'table = "throughput"',
    "study.table.metric": 'metric = "throughput"',
    "study.table.statistic": 'statistic = "mean"',
    "study.table.cell": 'cell = { metric = "throughput", profile = "lan" }',
    "study.table.conditions": 'conditions = { "1288 bytes" = { workload = "iperf2-tcp:mss=1288" } }',
    "study.table.systems": 'systems = { "No VPN" = "none" }',
    "study.clustering": '[[study.clustering]] and below it name = "round trips"',
    "study.clustering.name": 'name = "round trips"',
    "study.clustering.cell": 'cell = { metric = "rtt" }',
    "study.clustering.clusters": f"clusters = {{ {CLUSTER} }}",
    "claim": '[[claim]] and below it name = "ipip-before-gre"',
    "claim.name": 'name = "ipip-before-gre"',
    "claim.text": 'text = "IPIP carries more than GRE."',
    "claim.source": 'source = "Results, first table"',
    "claim.compare": f"compare = [{COMPARISON}]",
    "claim.compare.left": f"left = {CELL}",
    "claim.compare.expect": 'expect = "> 1"',
    "claim.not_testable": 'not_testable = "one virtual core has no second one"',
}
"""How each key is written; the end of a message about it."""

REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.csv")
"""The name of a file with published numbers; it leads to no other folder."""

CLAIM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""The name of a claim."""


def _tables(
    read: Callable[[object], Any], empty: bool = True, key: str = "study.systems", most: int = MOST_ENTRIES
) -> Callable[[object], dict[str, Any]]:
    """A check for a table of names, such as EXAMPLES has at `key`; a mistake is told at its name."""

    def check(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{shown(value)} is not a table of names: write for example {EXAMPLES[key]}")
        if len(value) > most:
            raise ValueError(f"{len(value)} names are too many: at most {most} are allowed")
        if not value and not empty:
            raise ValueError("the table is empty: name at least one")
        found = {}
        for name, one in value.items():
            try:
                found[legible(name)] = read(one)
            except ValueError as error:
                raise MistakeAt(str(error), name, *(error.at if isinstance(error, MistakeAt) else ())) from None
        return found

    return check


def _year(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1900 <= value <= 2100:
        raise ValueError(f"{shown(value)} is not a year: write for example {EXAMPLES['study.year']}")
    return value


def _reference(value: object) -> str:
    if not isinstance(value, str) or not REFERENCE.fullmatch(value):
        raise ValueError(
            f"{shown(value)} is not the name of a CSV file: write for example {EXAMPLES['study.reference']}"
        )
    return value


def _claim_name(value: object) -> str:
    if not isinstance(value, str) or not CLAIM.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a name: write lower-case letters, digits and -")
    return value


def _members(value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{shown(value)} is not a list of names: write for example {CLUSTER}")
    return [_member(one, place) for place, one in enumerate(value)]


def _member(value: object, place: int) -> str:
    try:
        return read_text(value)
    except ValueError as error:
        raise MistakeAt(str(error), place) from None


Text = Annotated[str, PlainValidator(read_text)]
ACell = Annotated[Cell, PlainValidator(read_cell)]
Systems = Annotated[dict[str, str], PlainValidator(_tables(read_stack, empty=False))]


class Part(BaseModel):
    """A table of a study."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Table(Part):
    """How the rows of a published table become cells: `cell` is what all of them have, and `conditions` add to it."""

    table: Text
    metric: Text
    statistic: Text | None = None
    cell: ACell
    conditions: Annotated[dict[str, Cell], PlainValidator(_tables(read_cell, empty=False))]
    systems: Systems | None = None

    @model_validator(mode="after")
    def _no_stack(self) -> Self:
        for where, cell in ((("cell",), self.cell), *((("conditions", name), one) for name, one in self._named())):
            if "stack" in cell:
                raise MistakeAt("a table's stacks are its systems: take it away", *where, "stack")
        return self

    def _named(self) -> list[tuple[str, Cell]]:
        return list(self.conditions.items())


class Clustering(Part):
    """Published clusters by the published names of their systems, and the cell whose distributions make them here."""

    name: Text
    cell: ACell
    clusters: Annotated[
        dict[str, list[str]], PlainValidator(_tables(_members, empty=False, key="study.clustering.clusters"))
    ]

    @property
    def members(self) -> list[tuple[str, int, str]]:
        """Each system with its cluster, and its place in it."""
        return [(cluster, place, name) for cluster, some in self.clusters.items() for place, name in enumerate(some)]

    @model_validator(mode="after")
    def _no_stack(self) -> Self:
        if "stack" in self.cell:
            raise MistakeAt("a clustering's stacks are the study's systems: take it away", "cell", "stack")
        return self

    @model_validator(mode="after")
    def _one_cluster_each(self) -> Self:
        cluster_of: dict[str, str] = {}
        for cluster, place, name in self.members:
            if name in cluster_of:
                sentence = f'"{name}" stands in the cluster "{cluster_of[name]}" already: take it away from one of them'
                raise MistakeAt(sentence, "clusters", cluster, place)
            cluster_of[name] = cluster
        return self


class Study(Part):
    """A publication, and what of it has a counterpart here. Stacks are in their canonical spelling."""

    title: Text
    authors: Text
    year: Annotated[int, PlainValidator(_year)]
    source: Text
    reference: Annotated[str, PlainValidator(_reference)]
    systems: Systems
    missing: Annotated[dict[str, str], PlainValidator(_tables(read_text))] = Field(default_factory=dict)
    table: list[Table] = Field(default_factory=list)
    clustering: list[Clustering] = Field(default_factory=list)

    def systems_of(self, table: Table) -> dict[str, str]:
        """The published names of a table's systems, with their stacks."""
        return self.systems if table.systems is None else table.systems

    @model_validator(mode="after")
    def _clusters_known(self) -> Self:
        for number, one in enumerate(self.clustering):
            for cluster, place, name in one.members:
                if name not in self.systems and name not in self.missing:
                    known = nearest(name, [*self.systems, *self.missing])
                    raise MistakeAt(f'unknown system "{name}"{known}', "clustering", number, "clusters", cluster, place)
        return self

    @model_validator(mode="after")
    def _clusterings_differ(self) -> Self:
        names = [one.name for one in self.clustering]
        for number, name in enumerate(names):
            if name in names[:number]:
                sentence = f'another clustering is named "{name}": take another name'
                raise MistakeAt(sentence, "clustering", number, "name")
        return self


class Comparison(Part):
    """What is expected of `left`, or of its ratio to `right`, which has what left has where it says nothing else."""

    left: ACell
    right: ACell | None = None
    expect: Annotated[Expected, PlainValidator(read_expected)]

    @property
    def cells(self) -> dict[str, Cell]:
        """Each side by its key, as far as it is written."""
        return {"left": self.left, **({} if self.right is None else {"right": {**self.left, **self.right}})}


class Claim(Part):
    """A finding of a text, and how it is tested; or why it is not."""

    name: Annotated[str, PlainValidator(_claim_name)]
    text: Text
    source: Text
    compare: list[Comparison] = Field(default_factory=list)
    not_testable: Text | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.compare) == bool(self.not_testable):
            both = "has both compare and not_testable: take one of them away"
            neither = f"has no comparison: write {EXAMPLES['claim.compare']}, or not_testable and why"
            raise ValueError(f'the claim "{self.name}" {both if self.compare else neither}')
        return self


class Beside(Part):
    """What stands in a plan's file besides the plan."""

    study: Study | None = None
    claim: list[Claim] = Field(default_factory=list)
    scale: Annotated[dict[str, dict[str, Any]], PlainValidator(_tables(lambda one: _scale(one), most=MOST_SCALES))] = (
        Field(default_factory=dict)
    )

    @property
    def scales(self) -> list[str]:
        """The names of the scales, the plan's own first; none where it has no other."""
        return [FULL, *self.scale] if self.scale else []

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [claim.name for claim in self.claim]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise MistakeAt(f'another claim is named "{name}": take another name', "claim", number, "name")
        if FULL in self.scale:
            raise MistakeAt(f'"{FULL}" is the plan as it stands: take another name', "scale", FULL)
        return self


def _scale(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a table: write for example {EXAMPLES['scale']}")
    for key in (*KEYS, "name"):
        if key in value:
            raise MistakeAt(f'a scale has no "{key}": take it away', key)
    return value


MODELS: dict[str, type[Part]] = {
    "study": Study,
    "study.table": Table,
    "study.clustering": Clustering,
    "claim": Claim,
    "claim.compare": Comparison,
}
"""The model of each table, for messages about unknown keys."""


def dotted(path: Path) -> str:
    """The path without its numbers: what EXAMPLES and MODELS know it by."""
    return ".".join(step for step in path if isinstance(step, str))


def unknown(path: Path) -> str:
    """What is wrong with a key that is not known, in a table of MODELS."""
    above, key = dotted(path[:-1]), str(path[-1])
    return f'unknown key "{key}" in [{above}]{nearest(key, MODELS[above].model_fields)}'
