"""QEMU's monitor: asks a VM to be saved, loaded or continued. Nothing is said while the guest executes.

The protocol is QMP (QEMU's docs/interop/qmp-spec.txt), over a pair of sockets that nobody else can reach.
"""

import json
import socket
from typing import Any


class TemplateError(Exception):
    """A template cannot be made or loaded; the message says why."""


class Ended(TemplateError):
    """QEMU has ended: what was to be saved has not come so far."""


class Monitor:
    """A conversation with one QEMU, which inherits the other end; it ends with QEMU, or is closed.

    `seconds` of wall clock are how long an answer may take.
    """

    def __init__(self, seconds: float) -> None:
        self.mine, self.theirs = socket.socketpair()
        self.mine.settimeout(seconds)
        self.lines = self.mine.makefile("rb")
        self.seconds = seconds

    @property
    def arguments(self) -> list[str]:
        """What QEMU is told of its end."""
        return ["-chardev", f"socket,id=monitor,fd={self.theirs.fileno()}", "-mon", "chardev=monitor,mode=control"]

    def begin(self) -> None:
        """Greets QEMU once it has been started. Raises TemplateError, as all that follows."""
        # Where QEMU ends, nothing but its own copy may keep the conversation open.
        self.theirs.close()
        self._hear()
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> Any:
        """What QEMU answers to a command."""
        try:
            self.mine.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        except OSError as error:
            raise TemplateError(f"QEMU does not listen: {error.strerror}") from None
        while True:
            told = self._hear()
            if "error" in told:
                raise TemplateError(f"QEMU refuses {command}: {told['error'].get('desc', '')}")
            if "return" in told:
                return told["return"]

    def wait_for(self, event: str) -> None:
        """Waits until QEMU tells that something has happened."""
        while self._hear().get("event") != event:
            pass

    def _hear(self) -> dict[str, Any]:
        try:
            line = self.lines.readline()
        except TimeoutError:
            raise TemplateError(f"QEMU said nothing for {self.seconds:g} s") from None
        except OSError as error:
            raise TemplateError(f"QEMU does not answer: {error.strerror}") from None
        if not line:
            raise Ended("QEMU ended")
        told: dict[str, Any] = json.loads(line)
        return told

    def close(self) -> None:
        """Ends the conversation."""
        self.lines.close()
        self.mine.close()
        self.theirs.close()
