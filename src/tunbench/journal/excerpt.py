"""What of a journal is for others: all that is read of it, less logs, raw outputs and paths of the user's machine."""

from tunbench.journal.events import Line
from tunbench.journal.validation import EVENT_CHECKS
from tunbench.runner.declare.warnings import WarningKind

LEFT_OUT_EVENTS = ("file", "capture")
"""What the folders of trials are made of, and nothing else."""

LEFT_OUT_FIELDS = ("logs", "outputs", "files")
"""Texts that programs printed, and where on the user's machine brought programs lie."""

OF_THE_MACHINE = {WarningKind.FRESH_BOOT: "what failed is told to its author alone"}
"""Warnings whose texts are errors of the user's machine, with paths in them, and what others read in their place."""

UNCHECKED_FIELDS = {"run": ("journal",), "shard": ("spec",)}
"""What is read besides of an event, and checked elsewhere."""


def _kept(kind: str) -> tuple[str, ...]:
    checked = (name.removesuffix("?") for name in EVENT_CHECKS[kind])
    names = ("shard", "event", *UNCHECKED_FIELDS.get(kind, ()), *checked)
    return tuple(name for name in dict.fromkeys(names) if name not in LEFT_OUT_FIELDS)


KEPT = {kind: _kept(kind) for kind in EVENT_CHECKS if kind not in LEFT_OUT_EVENTS}
"""The fields of each kind of event that are for others. What is not named here stays with its author."""


def excerpt(line: Line) -> Line | None:
    """What of an event is for others; None where nothing is."""
    fields = KEPT.get(line["event"])
    if not fields:
        return None
    kept = {name: line[name] for name in fields if name in line}
    if kept["event"] == "warning" and kept.get("name") in OF_THE_MACHINE:
        kept["text"] = OF_THE_MACHINE[kept["name"]]
    return kept
