"""A node: run, start, write and read on one host of a lab. Every command is journaled as a person would type it."""

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tunbench.runner.node import limits
from tunbench.runner.node.command import TAIL_LENGTH, CommandFailed, ShellWord, typed
from tunbench.runner.node.communicate import MAX_OUTPUT
from tunbench.runner.node.events import Events
from tunbench.runner.node.shell import Process, Result, Shell, wait_until

ROOT_NODE = "lab"
"""The name of the machine on which the nodes are, where it is a node beside them."""

HOME = Path("/mnt/lab")
"""Where a lab keeps the files of its nodes: a file system in memory, the same path on every node."""

ROOT = Path("/")
"""The files of the machine on which the nodes are."""

NET = Path("/proc/1/net")
"""What the kernel shows of the network of a node: its first process holds it."""

COMMAND_TIMEOUT = 30.0
"""Seconds of the lab's own time that a command may take unless it says otherwise."""

BATCHES = ("ip", "bridge", "tc")
"""Programs of iproute2 that take a batch of lines, and a network namespace by its name."""


class Node:
    """One host of a lab. `enter` is put before each command; the root of the lab, `ROOT_NODE`, has none.

    What stands in it behind `--` says on which cores the node runs: a person would type that too.
    """

    def __init__(self, name: str, shell: Shell, events: Events, enter: Sequence[str] = ()) -> None:
        self.name = name
        self.shell = shell
        self.events = events
        self.enter = list(enter)
        # The process that holds the node's namespaces, by its ID in the lab; the root of the lab has none.
        self.holder = self.enter[self.enter.index("--target") + 1] if "--target" in self.enter else ""
        self.logs: dict[str, Path] = {}
        self.found: set[str] = set()

    def _inside(self, argv: Sequence[str]) -> list[str]:
        """The words that run a command on this node. iproute2 enters a namespace by itself, which is faster."""
        if self.enter and argv[0] in BATCHES:
            return [argv[0], "-n", self.name, *argv[1:]]
        return [*self.enter, *argv]

    @property
    def home(self) -> Path:
        """The folder of this node's own files."""
        return HOME / self.name

    @property
    def machine(self) -> "Node":
        """The machine on which this node is, and maybe others beside it."""
        return Node(ROOT_NODE, self.shell, self.events)

    @property
    def python(self) -> tuple[str, ...]:
        """The words that start Python on this node; it may not see the environment of the runner's own."""
        return (self.shell.python, "-I", "-S")

    def _here(self, path: Path) -> str:
        """Where the machine has a file of this node: its home is the same for both, all else is the holder's own."""
        text = str(path)
        if text.startswith(f"{HOME}/"):
            return text
        root = str(ROOT).rstrip("/")
        return f"{root}/proc/{self.holder}/root{text}" if self.holder else f"{root}{text}"

    def run(
        self, *argv: str, timeout: float = COMMAND_TIMEOUT, into: Path | None = None, stdin: Path | None = None
    ) -> str:
        """Runs a command and returns what it printed. `stdin` and `into` are files for its input and output.

        Raises CommandFailed where its exit status is not 0.
        """
        result = self.try_run(*argv, timeout=timeout, into=into, stdin=stdin)
        if result.status != 0:
            # What goes into a file may be a secret, and stands in no message.
            raise CommandFailed(self.typed(argv), result._replace(stdout="") if into else result)
        return result.stdout

    def try_run(
        self, *argv: str, timeout: float = COMMAND_TIMEOUT, into: Path | None = None, stdin: Path | None = None
    ) -> Result:
        """Runs a command and returns how it ended."""
        began = time.monotonic()
        result = self.shell.run(self._inside(argv), timeout, self.read(stdin) if stdin else "")
        shown = self.typed(argv)
        if stdin:
            shown += f" <{stdin}"
        if into:
            self.shell.write(self._here(into), result.stdout)
            shown += f" >{into}"
        self._journal(shown, began, status=result.status)
        return result

    def ip(self, *lines: str) -> None:
        """Executes lines of iproute2's `ip` as one batch. Raises CommandFailed."""
        self._lines("ip", lines)

    def bridge(self, *commands: Sequence[str]) -> None:
        """Executes commands of iproute2's `bridge`, each without its first word, as one batch. Raises CommandFailed."""
        text = "".join(f"{' '.join(words)}\n" for words in commands)
        self._batch("bridge", text, "\n".join(self.typed(["bridge", *words]) for words in commands))

    def tc(self, *lines: str) -> None:
        """Executes lines of iproute2's `tc` as one batch. Raises CommandFailed."""
        self._lines("tc", lines)

    def _lines(self, program: str, lines: Sequence[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self._batch(program, text, f"{self.typed([program, '-batch', '-'])} <<'END'\n{text}END")

    def _batch(self, program: str, text: str, shown: str) -> None:
        began = time.monotonic()
        result = self.shell.run(self._inside([program, "-batch", "-"]), COMMAND_TIMEOUT, text)
        self._journal(shown, began, status=result.status)
        if result.status != 0:
            raise CommandFailed(shown, result)

    def ask(self, *argv: str, timeout: float = COMMAND_TIMEOUT, text: str = "") -> Result:
        """Runs a command that only looks, with that text as its input.

        It is not journaled, because nobody needs it to repeat the trial.
        """
        return self.shell.run(self._inside(argv), timeout, text)

    def has(self, program: str) -> bool:
        """Whether a program is installed. One that was found is not looked for again: each trial asks."""
        if program not in self.found and self.ask("sh", "-c", 'command -v "$0"', program).status == 0:
            self.found.add(program)
        return program in self.found

    def start(self, *argv: str, log: str) -> Process:
        """Starts a command in the background; what it prints goes to the log of that name."""
        path = self.log(log)
        self.logs[f"{self.name}/{log}.log"] = path
        began = time.monotonic()
        process = self.shell.start([*self.enter, *argv], path)
        self._journal(f"{self.typed(argv)} >>{path} 2>&1 &", began)
        return process

    def log(self, name: str) -> Path:
        """The file to which a started command prints that was given a log of this name."""
        return self.home / f"{name}.log"

    def until(self, *argv: str, timeout: float = COMMAND_TIMEOUT, unless: Callable[[], object] = lambda: None) -> bool:
        """Runs a command again and again until it succeeds.

        False where `timeout` seconds were not enough, and as soon as `unless` says that there is nothing to wait for.
        """
        began = time.monotonic()
        succeeded = False

        def settled() -> bool:
            nonlocal succeeded
            succeeded = self.shell.run(self._inside(argv), timeout).status == 0
            return succeeded or bool(unless())

        wait_until(settled, timeout)
        done = succeeded
        self._journal(
            f"until {self.typed(argv)} >/dev/null 2>&1; do sleep 0.02; done", began, status=0 if done else None
        )
        return done

    def keep(self, path: Path) -> None:
        """Keeps a log that a program writes on its own, as those of started programs are kept."""
        self.logs[f"{self.name}/{path.name}"] = path

    def until_prints(self, *argv: str, timeout: float = COMMAND_TIMEOUT) -> bool:
        """Runs a command again and again until it prints something; False where `timeout` seconds were not enough."""
        began = time.monotonic()
        done = wait_until(lambda: bool(self.shell.run(self._inside(argv), timeout).stdout.strip()), timeout)
        self._journal(f"until {self.typed(argv)} | grep -q .; do sleep 0.02; done", began, status=0 if done else None)
        return done

    def write(self, path: Path, text: str) -> None:
        """Writes a file that only root reads. What is secret must not pass here, because the text is journaled."""
        self.shell.write(self._here(path), text)
        self.events.tell("file", node=self.name, path=str(path), text=text)

    def touch(self, path: Path) -> None:
        """Makes an empty file at once: a command would take some milliseconds."""
        self.shell.write(self._here(path), "")
        self.note(f"touch {path}")

    def set_value(self, path: Path, text: str) -> None:
        """Sets a value of the kernel's in /proc or /sys, to look at something; not journaled. Raises OSError."""
        self.shell.set_value(self._here(path), text)

    def remove(self, path: Path) -> None:
        """Takes away a file that a program of an earlier trial wrote, if it is there; not journaled."""
        self.shell.remove(self._here(path))

    def read(self, path: Path) -> str:
        """The text of a file. Raises OSError, and ValueError where it is longer than what a command may print."""
        data = self.shell.read_bytes(self._here(path), MAX_OUTPUT)
        if len(data) > MAX_OUTPUT:
            raise ValueError(f"{path} has more than {MAX_OUTPUT >> 20} MiB")
        return data.decode(errors="replace")

    def read_if_there(self, path: Path) -> str:
        """The text of a file; empty where the node does not show it."""
        try:
            return self.read(path)
        except OSError:
            return ""

    def read_bytes(self, path: Path) -> bytes:
        """The bytes of a file, such as a capture. Raises OSError."""
        return self.shell.read_bytes(self._here(path))

    def tail(self, path: Path, most: int = TAIL_LENGTH) -> str:
        """The last characters of a file that may be a long one, and may grow; empty where there is none."""
        try:
            # A character takes four bytes at most.
            return self.shell.tail(self._here(path), 4 * most).decode(errors="replace")[-most:]
        except OSError:
            return ""

    def exists(self, path: Path) -> bool:
        """Whether the node has such a file or folder."""
        return self.shell.exists(self._here(path))

    def names(self, folder: Path) -> list[str]:
        """The names in a folder of the node. Raises OSError."""
        return self.shell.names(self._here(folder))

    def matching(self, folder: Path, pattern: str) -> list[Path]:
        """The paths of the node in a folder that match a pattern such as `cpu*/online`, sorted."""
        return [folder / name for name in self.shell.matching(self._here(folder), pattern)]

    def kill_all(self) -> None:
        """Ends all processes of the node at once, but not the one that holds its namespaces."""
        # To its own PID namespace a node may say `kill -1`; typed into a shell that has none, it would end everything.
        self.note(f"ip netns pids {self.name} | xargs --no-run-if-empty kill -KILL")
        self.shell.kill_all(self.holder)

    def visit_cores(self) -> set[str]:
        """Runs on each core of the machine once, so that its idle time is added up; returns their names."""
        return self.shell.visit_cores()

    def read_word(self, path: Path) -> ShellWord:
        """The first line of a file, journaled as the shell text that reads it."""
        return ShellWord(self.read(path).strip(), f'"$(cat {shlex.quote(str(path))})"')

    def typed(self, argv: Sequence[str]) -> str:
        """The command as a person types it on the machine: with `ip netns exec` where the node is a part of it."""
        if not self.enter:
            return typed(argv)
        pinned = [] if argv[0] in BATCHES or "--" not in self.enter else self.enter[self.enter.index("--") + 1 :]
        return f"ip netns exec {self.name} {typed([*pinned, *argv])}"

    def tails(self) -> dict[str, str]:
        """The tail of every log of this node."""
        return {name: self.tail(path) for name, path in self.logs.items() if self.exists(path)}

    def cut_logs(self) -> str:
        """Which logs of this node have grown until they could grow no more, if any have; their tails alone are kept.

        The next trial fails too only where the program goes on.
        """
        there = {name: self._here(path) for name, path in self.logs.items() if self.exists(path)}
        full = [name for name, path in there.items() if self.shell.size(path) >= limits.MAX_FILE]
        for name in full:
            self.shell.write(there[name], self.tail(self.logs[name]))
        return f"the log {', '.join(full)} has grown to {limits.MAX_FILE >> 20} MiB" if full else ""

    def note(self, shown: str) -> None:
        """Journals what stands for something that was done in another way than a person would type it."""
        self._journal(shown, time.monotonic(), status=0)

    def _journal(self, shown: str, began: float, **fields: Any) -> None:
        self.events.tell("command", node=self.name, shell=shown, at=began, took=time.monotonic() - began, **fields)
