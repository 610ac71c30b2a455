"""A program that stands for QEMU where a VM is saved and loaded: it speaks as its monitor does, and boots nothing."""

import json
import sys
from pathlib import Path

import pytest

from tests.helpers.host import install_program

PROGRAM = """
import json, os, socket, sys

FOLDER = os.environ["FAKE_QEMU"]

def mode(name):
    return os.path.exists(os.path.join(FOLDER, name))

def after(word):
    return [sys.argv[n + 1] for n, one in enumerate(sys.argv) if one == word]

def fields(text):
    return dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair)

if "--version" in sys.argv:
    print("QEMU emulator version 7.2.22")
    raise SystemExit
with open(os.path.join(FOLDER, "argv"), "a") as argv:
    argv.write(json.dumps(sys.argv) + "\\n")
console, events = (device.partition(":")[2] for device in after("-serial"))
chardevs = [fields(one) for one in after("-chardev")]
events = {one.get("id"): one.get("path") for one in chardevs}.get(events) or events
handed = [open(fields(one)["file"]).read() for one in after("-fw_cfg")]
tried = any('"try":true' in text for text in handed)
with open(console, "w") as file:
    file.write(f"saved in {0.0017 if mode('jumps') else 0.0001}\\n" if tried else "status 0\\n")
monitors = [one for one in chardevs if "fd" in one]
incoming, saved = "-incoming" in sys.argv, "panic=pause" in sys.argv
if monitors:
    talk = socket.socket(fileno=int(monitors[0]["fd"]))
    lines = talk.makefile("rb")

    def tell(**message):
        talk.sendall(json.dumps(message).encode() + b"\\n")

    tell(QMP={})
    if mode("silent"):
        lines.read()
    memory = fields(after("-object")[0])
    if not incoming:
        with open(memory["mem-path"], "wb") as file:
            file.write(b"a VM that has booted")
    for line in lines:
        asked = json.loads(line)
        command, given = asked["execute"], asked["arguments"]
        if mode("refuses") and command == ("xen-save-devices-state" if saved else "migrate-incoming"):
            tell(error={"class": "GenericError", "desc": "not today"})
            continue
        if command == "xen-save-devices-state":
            with open(given["filename"], "wb") as file:
                file.write(b"state")
        if command == "migrate-incoming":
            state = os.read(int(given["uri"].partition(":")[2]), 100)
            with open(memory["mem-path"], "rb") as file:
                loaded = state, file.read()
        if command == "query-migrate":
            tell(**{"return": {"status": "failed" if mode("fails") else "completed"}})
            continue
        tell(**{"return": {}})
        if command == "qmp_capabilities" and not incoming:
            if mode("dies"):
                sys.stderr.write("no such machine")
                raise SystemExit(1)
            tell(event="STOP")
        if command == "cont" and saved:
            if mode("ends"):
                raise SystemExit
            with open(memory["mem-path"], "ab") as file:
                file.write(b", whose stack is up")
            with open(events, "a") as file:
                file.write("up\\n")
            tell(event="STOP")
        elif command == "cont":
            break
with open(events, "a") as file:
    file.write((repr(loaded) if incoming else "a fresh boot") + "\\n")
"""


class FakeQemu:
    """The only QEMU there is; `does` makes it behave in a way: silent, refuses, fails, dies, ends or jumps.

    Where it ends, it does so before the stack is up.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder / "qemu"
        self.folder.mkdir()
        (self.folder / "program.py").write_text(PROGRAM)
        (folder / "bin").mkdir()
        install_program(folder / "bin", "qemu-system-x86_64", f'exec {sys.executable} {self.folder}/program.py "$@"')
        monkeypatch.setenv("PATH", f"{folder}/bin:/usr/bin:/bin")
        monkeypatch.setenv("FAKE_QEMU", str(self.folder))

    def does(self, how: str) -> None:
        """From here on it behaves so."""
        (self.folder / how).touch()

    def started(self) -> list[str]:
        """What was started so far: a VM to be saved, to go on and be saved, to be loaded, or a fresh one."""
        lines = (self.folder / "argv").read_text().splitlines() if (self.folder / "argv").exists() else []
        kinds = {(False, False): "fresh", (False, True): "save", (True, False): "load", (True, True): "save further"}
        return [kinds["-incoming" in words, "panic=pause" in words] for words in map(json.loads, lines)]
