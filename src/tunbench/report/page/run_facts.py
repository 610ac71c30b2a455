"""What a report says of each of its runs besides its measurements."""

from typing import Any

from tunbench.analysis.ratios import is_baseline
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.verdicts import counts, executed
from tunbench.journal.fingerprint import NO_PROMISE
from tunbench.journal.record import Record
from tunbench.report import units
from tunbench.report.page import bounds
from tunbench.report.page.filters import FilterMarks
from tunbench.report.tables import lab_time, netem_check
from tunbench.report.tables.manifest import facts, packages
from tunbench.report.view import View, workloads_of
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.node.json_output import value_at


def run_facts(view: View, number: int) -> dict[str, Any]:
    """What a page says of one of its runs."""
    analysis, marks = view.runs[number], FilterMarks(view, (number,))
    record = analysis.record
    return {
        "label": view.labels[number],
        "analysis": analysis,
        "record": record,
        "name": plan_name(record),
        "counts": counts(record.trials),
        "overview": _overview(analysis),
        "duty": lab_time.parts(record.durations),
        "failing": [
            (one, {name: text[-bounds.MAX_CHARACTERS_OF_A_LOG :] for name, text in one.logs.items()})
            for one in analysis.failing
        ],
        "marks": marks,
        "impairments": netem_check.impairments(analysis),
        "fingerprint": _fingerprint(record),
        "depends": _depends(record),
        "virtual": record.clock == "virtual",
        "facts": facts(record.manifest),
        "packages": packages(record.manifest),
    }


def _overview(analysis: RunAnalysis) -> list[tuple[str, str]]:
    """What was run, as names and values."""
    record = analysis.record
    trials = executed(record)
    tunnels = [stack for stack in analysis.stacks if not is_baseline(stack)]
    bare = [stack for stack in analysis.stacks if is_baseline(stack)]
    lab = " lab, ".join(str(word) for word in (record.fact("lab", "kind"), record.clock) if word)
    return [
        ("Stacks", ", ".join(tunnels) or units.NOTHING),
        ("Compared with", ", ".join(bare) or "nothing: none was not measured"),
        ("Profiles", ", ".join(analysis.conditions.values())),
        ("Workloads", ", ".join(name for name in workloads_of(analysis) if name != BRING_UP)),
        ("Repeats", str(len({trial.cell["repeat"] for trial in trials}))),
        ("Seed", units.NOTHING if record.fact("plan", "seed") is None else str(record.fact("plan", "seed"))),
        ("Lab", f"{lab} clock" if lab else units.NOTHING),
    ]


def _fingerprint(record: Record) -> str:
    """The fingerprint; empty where the run's clock promises none."""
    return "" if record.fingerprint == NO_PROMISE else record.fingerprint


def _depends(record: Record) -> list[tuple[str, str]]:
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
    found = {name: record.fact(*keys) for name, keys in parts.items()}
    for kind in ("tools", "brought"):
        of_kind = record.fact(kind)
        for one, program in of_kind.items() if isinstance(of_kind, dict) else ():
            found[one] = f"{value_at(program, 'version')} ({str(value_at(program, 'digest'))[:12]})"
    plugins = record.fact("plugins")
    for one, told in plugins.items() if isinstance(plugins, dict) else ():
        found[f"plug-in {one}"] = str(value_at(told, "digest"))[:12]
    return [(name, str(value)) for name, value in found.items() if value not in (None, "", {})]


def plan_name(record: Record) -> str:
    """What the plan of a run is called."""
    return str(record.fact("plan", "name") or "run")
