"""A folder for each trial: raw output, logs, and the commands that repeat it by hand."""

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tunbench.journal import files
from tunbench.journal.folders import component, folder_of, label_of_trial
from tunbench.labs.extras import images_beyond_base
from tunbench.plan.axes.stack import parse
from tunbench.runner.declare import topology
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

    def take(self, event: dict[str, Any], again: bool = False) -> None:
        """Takes one event of the shard; a trial's end writes its folder.

        The folder of one that is executed `again` stays as it is: the first result counts, and the folder is its own.
        """
        if event["event"] == "phase":
            self.phase = event["name"]
            if self.phase == "trial":
                self.own = []
        elif event["event"] in ("command", "file"):
            self._remember(_as_shell(event))
        elif event["event"] == "capture":
            # Of what would unpack to more than any proof has, the beginning is kept.
            self.captures[event["name"]] = zlib.decompressobj().decompress(
                base64.b64decode(event["pcap"]), LARGEST_CAPTURE
            )
        elif event["event"] == "trial":
            self._write(event, again)

    def _remember(self, text: str) -> None:
        if self.phase in SETUP:
            self.setup.append(text)
        elif self.phase == "trial":
            self.own.append(text)

    def _write(self, trial: dict[str, Any], again: bool) -> None:
        relative = folder_of(self.spec, trial["workload"])
        # What the proof captured stands with the trial that follows it.
        captures, self.captures = self.captures, {}
        if again and _is_whole(self.run / relative):
            return
        folder = files.folder(self.run, relative)
        for name, text in _files(trial):
            files.write(folder / component(name), text)
        for name, pcap in captures.items():
            files.write(folder / component(name), pcap)
        # The last file says that all others are there.
        files.write(folder / COMMANDS, self._script(trial))

    def _script(self, trial: dict[str, Any]) -> str:
        title = label_of_trial(self.spec, trial["workload"])
        stack, form = parse(self.spec["stack"]), topology.read(self.spec["topology"])
        names = underlay.of(stack.underlay, form, roles=stack.roles).names
        images = "".join(f" --with {name}" for name in images_beyond_base(stack))
        head = HEAD.format(title=title, nodes=" ".join(names), images=images)
        return head + "\n".join([*self.setup, *self.own]) + "\n"


def _is_whole(folder: Path) -> bool:
    file = folder / COMMANDS
    return file.exists() and file.stat().st_size > 0


def _files(trial: dict[str, Any]) -> Sequence[tuple[str, str]]:
    reason = [("reason.txt", trial["reason"] + "\n")] if trial["reason"] else []
    return [*reason, *trial.get("outputs", {}).items(), *trial.get("logs", {}).items()]


def _as_shell(event: dict[str, Any]) -> str:
    if event["event"] == "file":
        return f"cat >{event['path']} <<'END'\n{event['text'].rstrip()}\nEND\nchmod 600 {event['path']}"
    return str(event["shell"])
