"""What a journal tells, as types: each event is read once, after it has been checked, and nobody checks it again.

Texts are those that a terminal and a page can show, but for what the folder of a trial keeps as it was told.
"""

from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, NamedTuple

from tunbench.journal.record import Sample
from tunbench.labs.real_time.host_state import HOST_STATE
from tunbench.plain_text import plain
from tunbench.runner.declare import axes
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.declare.warnings import WarningKind

Line = dict[str, Any]
"""An event as a line of the journal has it."""


class RunBegun(NamedTuple):
    """The head of a journal; `files` says where brought programs lay, `planned` how many trials were asked for."""

    manifest: dict[str, Any]
    planned: int
    overrides: dict[str, Any]
    files: dict[str, str]


class ShardStarted(NamedTuple):
    """A shard began, with the specification that its runner was given."""

    shard: str
    spec: dict[str, Any]


class ShardEnded(NamedTuple):
    """A shard came to its end, or was interrupted; `wall` counts seconds of wall clock."""

    shard: str
    finished: bool
    wall: float


class PhaseBegan(NamedTuple):
    """A phase of a shard began, `at` seconds of the lab's clock; `workload` is that of a trial."""

    shard: str
    name: str
    at: float
    workload: str


class FileWritten(NamedTuple):
    """A file that a node was given, as it was told."""

    shard: str
    path: str
    text: str


class PacketsCaptured(NamedTuple):
    """A capture of a proof; `pcap` is compressed, and in base64."""

    shard: str
    name: str
    pcap: str


class CommandRan(NamedTuple):
    """A command, as a person types it, and the seconds that it took."""

    shard: str
    shell: str
    took: float


class TrialEnded(NamedTuple):
    """A trial with its samples; `noisy` says what disturbed it, and `path` which ways the tunnels' packets took.

    `files` are the texts that its folder keeps, by their names, as they were told.
    """

    shard: str
    workload: str
    verdict: Verdict
    reason: str
    samples: tuple[Sample, ...]
    logs: dict[str, str]
    noisy: str = ""
    path: str = ""
    files: Mapping[str, str] = {}


class HostExamined(NamedTuple):
    """The state of the host before a run on the real clock, and what there is to warn of."""

    facts: dict[str, Any]
    warnings: tuple[tuple[str, str], ...]


class WarningRaised(NamedTuple):
    """A shard warned of something."""

    shard: str
    name: str
    text: str


class PacketsOutside(NamedTuple):
    """Packets of a shard that tried to leave the lab: how many, and the first one in words."""

    shard: str
    packets: int
    first: str


class ProgramVersion(NamedTuple):
    """What a program says of its version."""

    program: str
    text: str


class ImpairmentInstalled(NamedTuple):
    """The terms of netem that were asked for, and those that the kernel made of them."""

    asked: dict[str, Any]
    installed: dict[str, Any]


class BlockAnswered(NamedTuple):
    """Whether the cells of a group of shards were narrow enough after so many repeats.

    `cell` names what the shards share, axes.SHARD; `more` counts the trials that are asked for besides; `widest` is
    the cell with the widest interval, None where nothing was measured.
    """

    group: str
    cell: Mapping[str, str]
    repeats: int
    enough: bool
    more: int
    widest: dict[str, Any] | None

    @property
    def line(self) -> Line:
        """The event as the journal has it."""
        return {
            **{"event": "block", "group": self.group, **axes.said(self.cell), "repeats": self.repeats},
            **{"enough": self.enough, "widest": self.widest, "more": self.more},
        }


JournalEvent = (
    RunBegun
    | ShardStarted
    | ShardEnded
    | PhaseBegan
    | FileWritten
    | PacketsCaptured
    | CommandRan
    | TrialEnded
    | HostExamined
    | WarningRaised
    | PacketsOutside
    | ProgramVersion
    | ImpairmentInstalled
    | BlockAnswered
)


def read_event(line: Line) -> JournalEvent | None:
    """The event of a line that `validation.check` has passed; None where nobody reads such a one."""
    read = READ_BY_KIND.get(line["event"])
    return read(line) if read else None


def without_files(event: JournalEvent) -> JournalEvent | None:
    """What a record is made of: not what stands in the folders of trials already, and may be large."""
    if isinstance(event, FileWritten | PacketsCaptured):
        return None
    return event._replace(files={}) if isinstance(event, TrialEnded) else event


def show_plainly(value: Any) -> Any:
    """JSON whose texts a terminal and a page can show."""
    if isinstance(value, dict):
        return {plain(key): show_plainly(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [show_plainly(inner) for inner in value]
    return plain(value) if isinstance(value, str) else value


def _shard(line: Line) -> ShardStarted | ShardEnded:
    if line["state"] == "started":
        return ShardStarted(line["shard"], line["spec"])
    return ShardEnded(line["shard"], line["state"] == "finished", line.get("wall", 0.0))


def _trial(line: Line) -> TrialEnded:
    return TrialEnded(
        line["shard"],
        line["workload"],
        Verdict(line["verdict"]),
        plain(line["reason"]),
        _samples(line["samples"]),
        show_plainly(line.get("logs", {})),
        plain(line.get(WarningKind.NOISY, "")),
        plain(line.get("path", "")),
        _files(line),
    )


def _files(trial: Line) -> dict[str, str]:
    """What the folder of a trial keeps of it. A log takes the place of an output of the same name."""
    reason = {"reason.txt": f"{trial['reason']}\n"} if trial["reason"] else {}
    return {**reason, **trial.get("outputs", {}), **trial.get("logs", {})}


def _samples(rows: list[list[Any]]) -> tuple[Sample, ...]:
    """A run has millions of samples: each name of a metric, unit, pair and node is there once for all of them."""
    return tuple(
        (intern(metric), intern(unit), float(value), None if at is None else float(at), intern(pair), intern(node))
        for metric, unit, value, at, pair, node in rows
    )


def _block(line: Line) -> BlockAnswered:
    cell = {axis: (axes.UNSAID | line)[axis] for axis in axes.SHARD}
    return BlockAnswered(line["group"], cell, line["repeats"], line["enough"], line["more"], line["widest"])


READ_BY_KIND: Mapping[str, Callable[[Line], JournalEvent]] = {
    "run": lambda line: RunBegun(line["manifest"], line["planned"], line.get("overrides", {}), line.get("files", {})),
    "shard": _shard,
    "phase": lambda line: PhaseBegan(line["shard"], line["name"], line["at"], line.get("workload", "")),
    "file": lambda line: FileWritten(line["shard"], line["path"], line["text"]),
    "capture": lambda line: PacketsCaptured(line["shard"], line["name"], line["pcap"]),
    "command": lambda line: CommandRan(line["shard"], line["shell"], line.get("took") or 0.0),
    "trial": _trial,
    HOST_STATE: lambda line: HostExamined(line["facts"], tuple((name, plain(text)) for name, text in line["findings"])),
    "warning": lambda line: WarningRaised(line["shard"], line["name"], plain(line["text"])),
    "outside": lambda line: PacketsOutside(line["shard"], line["packets"], plain(line["first"][0])),
    "version": lambda line: ProgramVersion(line["program"], plain(line["text"])),
    "impairment": lambda line: ImpairmentInstalled(line["asked"], line["installed"].get("terms", {})),
    "block": _block,
}
"""What reads each kind of event."""
