"""Runs that are ended by `kill -9` at random moments, and are resumed until they are done."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.helpers.traces import that_name, words_of
from tunbench.journal import journal
from tunbench.runner.node.shell import wait_until

RUN = (sys.executable, "-m", "tunbench", "run")

GONE = 5.0
"""Seconds within which nothing may be left of what was killed."""

CONTROLLER = "the controlling process"


class Killed(NamedTuple):
    """What was killed how often, by what it was and where the journal stood, and how many runs it took."""

    victims: Counter[str]
    moments: Counter[str]
    runs: int

    @property
    def figure(self) -> str:
        """All of it in a line."""
        whom, when = (
            ", ".join(f"{count} × {name}" for name, count in counted.most_common())
            for counted in (self.victims, self.moments)
        )
        return f"{self.victims.total()} kills in {self.runs} runs: {whom}; after {when}; nothing lost, nothing left"


class Whole(NamedTuple):
    """What an undisturbed run takes: seconds, and events in its journal."""

    seconds: float
    events: int


class Killer:
    """Runs a plan into folders of its own, and ends the run, or the lab under it, at random moments.

    `lab` is how a word ends in the command line of the processes that are the lab, and `name` what they are called.
    `check` is given the folder of each run that came to its end. `prepare` is called before each command.
    """

    def __init__(self, plan: str, folder: Path, lab: str, name: str, check: Callable[[Path], object]) -> None:
        self.folder = folder
        self.lab, self.name = lab, name
        self.check = check
        self.prepare: Callable[[], object] = lambda: None
        self.plan = folder / "plan.toml"
        self.plan.write_text(plan)
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.killed = Killed(Counter(), Counter(), 0)

    def begin(self, run: Path) -> "subprocess.Popen[str]":
        """Begins a run, or goes on with it."""
        begun = (run / journal.NAME).exists() and journal.events(run, 1)
        argv = ["--resume", str(run)] if begun else [str(self.plan), "--out", str(run), "--workers", "1"]
        self.prepare()
        with (self.folder / "stderr").open("wb") as printed:
            return subprocess.Popen(
                [*RUN, *argv],
                stdout=subprocess.DEVNULL,
                stderr=printed,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                text=True,
            )

    def printed(self) -> str:
        """What the last command said."""
        return (self.folder / "stderr").read_text()

    def kill(self, count: int, seed: int) -> Killed:
        """Kills so often, at moments that a seed gives, over as long as an undisturbed run takes.

        One half is spread over its time, of which beginning and report take much, the other over its events.
        """
        chance = random.Random(seed)
        began = time.monotonic()
        self._finish(run := self.folder / "undisturbed")
        whole = Whole(time.monotonic() - began, len(journal.events(run)))
        self.check(run)
        while self.killed.victims.total() < count:
            run = self.folder / f"run-{self.killed.runs + 1}"
            while self.killed.victims.total() < count and self._disturb(run, chance, whole):
                pass
            self._finish(run)
            self.check(run)
            self.killed = self.killed._replace(runs=self.killed.runs + 1)
        return self.killed

    def _finish(self, run: Path) -> None:
        process = self.begin(run)
        assert process.wait(600) == 0, self.printed()
        self._nothing_is_left(run)

    def _disturb(self, run: Path, chance: random.Random, whole: Whole) -> bool:
        """Begins a run and kills it, or its lab; whether there is more to do."""
        process = self.begin(run)
        if chance.random() < 0.5:
            wait_until(lambda: process.poll() is not None, chance.uniform(0, whole.seconds))
        else:
            enough = _lines(run) + chance.randrange(whole.events)
            wait_until(lambda: process.poll() is not None or _lines(run) >= enough, 600)
        if process.poll() is not None:
            assert process.returncode == 0, self.printed()
        else:
            before = told(run)
            labs = self.labs(run) if chance.random() < 0.5 else []
            self.killed.victims[self.name if labs else CONTROLLER] += 1
            self.killed.moments[_moment(run)] += 1
            if labs:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(labs), signal.SIGKILL)
                # The others go on, and what was not measured is told.
                assert process.wait(600) in (0, 1), self.printed()
            else:
                process.kill()
                process.wait()
            after = told(run)
            assert {key: after.get(key) for key in before} == before, "what was told is kept"
        self._nothing_is_left(run)
        return process.returncode != 0

    def labs(self, run: Path) -> list[int]:
        """The processes of the labs of a run."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = words_of(path)
            except OSError:
                continue
            if any(str(run) in word for word in words) and any(word.endswith(self.lab) for word in words):
                found.append(int(path.name))
        return sorted(found)

    def _nothing_is_left(self, run: Path) -> None:
        def left() -> list[str]:
            files = [*run.glob(".*"), *self.temporary.iterdir()]
            return [*that_name(run), *map(str, files)]

        assert wait_until(lambda: not left(), GONE), left()


def told(run: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The trials that a journal tells the end of, as far as there is one; of each the first end."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for event in journal.events(run) if (run / journal.NAME).exists() else []:
        if event["event"] == "trial":
            found.setdefault((event["shard"], event["workload"]), event)
    return found


def _lines(run: Path) -> int:
    return (run / journal.NAME).read_bytes().count(b"\n") if (run / journal.NAME).exists() else 0


def _moment(run: Path) -> str:
    """Where a run is, by the last event of its journal."""
    events = journal.events(run) if (run / journal.NAME).exists() else []
    if not events:
        return "nothing"
    last = events[-1]
    return f"{last['event']} {last.get('state', last.get('name', ''))}".strip()


def suspend(first: int, seconds: float) -> None:
    """Stops a process with all that it started, for so long."""
    stopped: set[int] = set()
    while fresh := set(family(first)) - stopped:
        for pid in fresh:
            os.kill(pid, signal.SIGSTOP)
        stopped |= fresh
    time.sleep(seconds)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def family(pid: int) -> list[int]:
    """A process and all that it started, as far as they are there."""
    children = []
    try:
        # A child is that of the thread which started it.
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += (thread / "children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in family(int(child)))]
