"""The report: one HTML file that needs nothing else, and asks nothing of any network."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from tunbench.analysis.findings import Findings, find
from tunbench.analysis.ratios import is_baseline
from tunbench.analysis.verdicts import counts, executed
from tunbench.journal.record import Record
from tunbench.report import figures, impaired, palette, tables, units

TEMPLATE = "report.html.j2"

LOG = 6000
"""Characters of a log's end that the report shows; the whole log is in the trial's folder."""


NO_PROMISE = "no promise"
"""What stands for a fingerprint outside the virtual clock."""


def write(record: Record, path: Path) -> None:
    """Writes the report of a run to a file. Raises OSError where that cannot be."""
    path.write_text(page(record), encoding="utf-8")


def page(record: Record) -> str:
    """The report of a run as HTML."""
    return _environment().get_template(TEMPLATE).render(_context(find(record)))


def _context(findings: Findings) -> dict[str, Any]:
    record = findings.record
    return {
        "findings": findings,
        "record": record,
        "title": _name(record),
        "overview": _overview(findings),
        "counts": counts(record.trials),
        "figures": {
            "throughput": figures.throughput(findings),
            "relative": figures.relative(findings),
            "latency": figures.latency(findings),
            "distribution": figures.distribution(findings),
            "cost": figures.cost(findings),
        },
        "costs": tables.costs(findings),
        "everything": tables.everything(findings),
        "executions": tables.executions(findings),
        "failing": [(one, {name: text[-LOG:] for name, text in one.logs.items()}) for one in findings.failing],
        "impairments": impaired.impairments(findings),
        "fingerprint": _fingerprint(record.manifest),
        "depends": _depends(record.manifest),
        "virtual": _at(record.manifest, "lab", "clock") == "virtual",
        "facts": tables.facts(record.manifest),
        "packages": tables.packages(record.manifest),
        "commands": tables.commands,
        "script": _script(),
        "script_hash": _sha256(_script()),
        "style": Markup(palette.css() + _template("style.css")),
    }


def _overview(findings: Findings) -> list[tuple[str, str]]:
    """What was run, as names and values."""
    record, manifest = findings.record, findings.record.manifest
    trials = executed(record)
    tunnels = [stack for stack in findings.stacks if not is_baseline(stack)]
    bare = [stack for stack in findings.stacks if is_baseline(stack)]
    lab = " lab, ".join(str(word) for word in (_at(manifest, "lab", "kind"), _at(manifest, "lab", "clock")) if word)
    rows = [
        ("Stacks", ", ".join(tunnels) or units.NOTHING),
        ("Compared with", ", ".join(bare) or "nothing: none was not measured"),
        ("Profiles", ", ".join(findings.conditions.values())),
        ("Workloads", ", ".join(dict.fromkeys(trial.cell["workload"] for trial in trials))),
        ("Repeats", str(len({trial.cell["repeat"] for trial in trials}))),
        ("Seed", str(_at(manifest, "plan", "seed") if _at(manifest, "plan", "seed") is not None else units.NOTHING)),
        ("Lab", f"{lab} clock" if lab else units.NOTHING),
    ]
    phases = ", ".join(f"{name} {units.seconds(value)}" for name, value in record.durations.items())
    total = units.seconds(sum(record.durations.values()))
    return [*rows, ("Time in the lab", f"{total}: {phases}")] if phases else rows


def _fingerprint(manifest: Mapping[str, Any]) -> str:
    """The fingerprint; empty where the run's clock promises none."""
    text = str(manifest.get("fingerprint") or "")
    return "" if text == NO_PROMISE else text


def _depends(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an equal fingerprint needs to be equal, as names and values."""
    parts = {
        "plan": ("plan", "name"),
        "seed": ("plan", "seed"),
        "runner": ("runner",),
        "image": ("image", "digest"),
        "emulator": ("qemu",),
        "Tunbench": ("tunbench", "version"),
        "commit": ("tunbench", "commit"),
    }
    found = {name: _at(manifest, *keys) for name, keys in parts.items()}
    return [(name, str(value)) for name, value in found.items() if value not in (None, "", {})]


def _name(record: Record) -> str:
    return str(_at(record.manifest, "plan", "name") or "run")


def _at(value: Any, *keys: str) -> Any:
    """What stands at a path of nested tables, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = Markup  # Charts are made by us, with every text in them escaped.
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(spelling: str) -> Markup:
    """A spelling, escaped, that may go on in a new line behind each `+`, `:` and `,`."""
    return Markup(re.sub(r"[+:,]", r"\g<0><wbr>", str(escape(spelling))))


def _template(name: str) -> str:
    return files("tunbench.report").joinpath("templates", name).read_text(encoding="utf-8")


def _script() -> Markup:
    return Markup(_template("table.js"))


def _sha256(script: str) -> str:
    """The hash by which the page's content security policy lets its own script run, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
