"""A folder for each trial: raw output, logs, and the commands that repeat it by hand."""

import base64
import zlib
from pathlib import Path
from typing import Any

from tunbench.journal import files
from tunbench.journal.events import (
    CommandRan,
    FileWritten,
    JournalEvent,
    PacketsCaptured,
    PhaseBegan,
    TrialEnded,
)
from tunbench.journal.folders import component, folder_of, label_of_trial
from tunbench.labs.extras import images_beyond_base
from tunbench.plan.axes import workload
from tunbench.plan.axes.stack import parse
from tunbench.runner.declare import access, topology
from tunbench.runner.network import underlay

COMMANDS = "commands.sh"

LARGEST_CAPTURE = 64 << 20
"""Bytes of a capture; that of a proof has some ten packets."""

SETUP = ("nodes", "underlay", "prepare", "up", "impair")
"""The phases whose commands a trial needs before its own. The proof is not among them: it changes nothing."""

HEAD = """\
#!/bin/sh
# Repeats one trial by hand: {title}
# Run it as root, in `tunbench lab shell{images} --script` or on any machine that has the programs and modules.
set -eu
cleanup() {{
  for node in {nodes}; do
    ip netns pids $node 2>/dev/null | xargs -r kill -9
    ip netns del $node 2>/dev/null || true
  done
  umount /mnt/lab
}}
for node in {nodes}; do
  if [ -e /run/netns/$node ]; then echo "a network namespace $node is there already" >&2; exit 2; fi
done
mkdir -p /mnt/lab && mount -t tmpfs tmpfs /mnt/lab
trap cleanup EXIT
"""


class TrialFolders:
    """Writes the folders of one shard's trials as its events come in."""

    def __init__(self, run: Path, spec: dict[str, Any]) -> None:
        self.run = run
        self.spec = spec
        self.phase = ""
        self.setup: list[str] = []
        self.own: list[str] = []
        self.captures: dict[str, bytes] = {}

    def take(self, event: JournalEvent | None, again: bool = False) -> None:
        """Takes one event of the shard; a trial's end writes its folder.

        The folder of one that is executed `again` stays as it is: the first result counts, and the folder is its own.
        """
        match event:
            case PhaseBegan():
                self.phase = event.name
                if self.phase == "trial":
                    self.own = []
            case CommandRan():
                self._remember(event.shell)
            case FileWritten():
                self._remember(_as_shell(event))
            case PacketsCaptured():
                # Of what would unpack to more than any proof has, the beginning is kept.
                packed = base64.b64decode(event.pcap)
                self.captures[event.name] = zlib.decompressobj().decompress(packed, LARGEST_CAPTURE)
            case TrialEnded():
                self._write(event, again)

    def _remember(self, text: str) -> None:
        if self.phase in SETUP:
            self.setup.append(text)
        elif self.phase == "trial":
            self.own.append(text)

    def _write(self, trial: TrialEnded, again: bool) -> None:
        relative = folder_of(self.spec, trial.workload)
        # What the proof captured stands with the trial that follows it.
        captures, self.captures = self.captures, {}
        if again and _is_whole(self.run / relative):
            return
        folder = files.folder(self.run, relative)
        for name, text in trial.files.items():
            files.write(folder / component(name), text)
        for name, pcap in captures.items():
            files.write(folder / component(name), pcap)
        # The last file says that all others are there.
        files.write(folder / COMMANDS, self._script(trial))

    def _script(self, trial: TrialEnded) -> str:
        title = label_of_trial(self.spec, trial.workload)
        stack, form = parse(self.spec["stack"]), topology.read(self.spec["topology"])
        accesses = access.of_spec(self.spec.get("access", access.NONE))
        workloads = [workload.parse(one) for one in self.spec["workloads"] if one == trial.workload]
        names = underlay.of(stack.underlay, form, roles=stack.roles, accesses=accesses).names
        images = "".join(f" --with {name}" for name in images_beyond_base([stack, *workloads], accesses))
        head = HEAD.format(title=title, nodes=" ".join(names), images=images)
        return head + "\n".join([*self.setup, *self.own]) + "\n"


def _is_whole(folder: Path) -> bool:
    file = folder / COMMANDS
    return file.exists() and file.stat().st_size > 0


def _as_shell(file: FileWritten) -> str:
    return f"cat >{file.path} <<'END'\n{file.text.rstrip()}\nEND\nchmod 600 {file.path}"
