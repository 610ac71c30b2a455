"""A shard that goes on in a VM whose stack is up: the first one that needs such a VM makes it, and others load it.

What comes up follows from the first part of what a shard is handed, its seed among it. So a shard executes the same
instructions whether it was loaded there or went that way itself, as it does where that VM cannot be made.
"""

import hashlib
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import NoReturn

from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.vm import host_core
from tunbench.labs.vm.boot import Boot
from tunbench.labs.vm.templates import start as templates
from tunbench.labs.vm.templates.monitor import Ended, TemplateError
from tunbench.labs.vm.templates.saving import EVENTS, load, save, save_brought_up
from tunbench.plan.shard import canonical
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.template import PAYLOAD

STOP_SECONDS = 10.0
"""Seconds in which what is made must have ended."""


class BroughtUp:
    """Such a shard, whose VM a thread makes where there is none, so that others are not kept waiting meanwhile.

    The VM of the shard itself is started by whoever asks how it goes: the kernel ends it with the thread that did.
    """

    lost = ""

    def __init__(self, boot: Boot) -> None:
        self._boot = boot
        self._began = time.monotonic()
        self._failure: Exception | None = None
        self._making: ProcessGroup | None = None
        self._stopped = False
        self._vm: ProcessGroup | None = None
        self._bell = os.eventfd(0, os.EFD_CLOEXEC)
        # It looks into the same cache as this thread.
        self._thread = Thread(target=copy_context().run, args=(self._make,), daemon=True)
        self._thread.start()

    def _make(self) -> None:
        try:
            with templates.shelf().held(templates.name_of(self._boot), self._save_booted) as booted:

                def save_from_there(folder: Path) -> None:
                    save_brought_up(self._boot, booted, folder, self._begin)

                with templates.shelf().held(_name_of(self._boot), save_from_there):
                    pass
        except (TemplateError, OSError) as error:
            self._failure = error
        finally:
            os.eventfd_write(self._bell, 1)

    def _save_booted(self, folder: Path) -> None:
        with host_core.taken():
            save(self._boot, folder)

    def _begin(self, vm: ProcessGroup) -> None:
        self._making = vm
        if self._stopped:
            _end(vm)

    def _started(self) -> ProcessGroup | None:
        """The shard's own VM; none while that which it starts from is made."""
        if self._vm is None and not self._thread.is_alive():
            with host_core.taken():
                self._vm = self._loaded() or self._on_its_own()
        return self._vm

    def _loaded(self) -> ProcessGroup | None:
        if self._failure:
            return None
        try:
            with templates.shelf().held(_name_of(self._boot), _refuse) as template:
                return load(self._boot, template)
        except (TemplateError, OSError) as error:
            self._failure = error
            # What was told before it was saved will be told again.
            (self._boot.folder / EVENTS).unlink(missing_ok=True)
            return None

    def _on_its_own(self) -> ProcessGroup:
        vm = templates.start(self._boot)
        if not isinstance(self._failure, Ended):
            vm.warnings = (*vm.warnings, (WarningKind.FRESH_BOOT, f"its stack came up anew: {self._failure}"))
        return vm

    @property
    def warnings(self) -> Sequence[tuple[WarningKind, str]]:
        """What there was to warn of when it was started, each with its text."""
        return self._vm.warnings if self._vm else ()

    @property
    def wakes(self) -> Sequence[int]:
        """Descriptors of which one can be read from once it has told something or has ended."""
        return self._vm.wakes if self._vm else (self._bell,)

    def lines(self) -> list[bytes]:
        """The whole lines of events that it told since the last call."""
        vm = self._started()
        return vm.lines() if vm else []

    def running(self) -> bool:
        """Whether it is still there."""
        vm = self._started()
        return vm.running() if vm else True

    def age(self) -> float:
        """Seconds of wall clock since it was started."""
        return time.monotonic() - self._began

    def stop(self) -> None:
        """Ends it at once, and what is made for it."""
        self._stopped = True
        if self._making:
            _end(self._making)
        # It may wait for another process, which makes the same.
        self._thread.join(STOP_SECONDS)
        if self._vm:
            self._vm.stop()
        if self._bell >= 0 and not self._thread.is_alive():
            os.close(self._bell)
            self._bell = -1

    def last_words(self) -> str:
        """The tail of what it printed outside its events."""
        return self._vm.last_words() if self._vm else "its stack is brought up, from where others like it will go on"


def _end(vm: ProcessGroup) -> None:
    with suppress(ProcessLookupError):
        os.killpg(vm.process.pid, signal.SIGKILL)


def _name_of(boot: Boot) -> str:
    """The name of its template: from what it has booted, and all that it was handed until then."""
    handed = hashlib.sha256((boot.folder / PAYLOAD).read_bytes()).hexdigest()
    return hashlib.sha256(canonical([templates.name_of(boot), handed]).encode()).hexdigest()[:16]


def _refuse(_: Path) -> NoReturn:
    raise TemplateError("it has gone meanwhile")
