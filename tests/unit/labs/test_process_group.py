import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.processes import gone, written
from tunbench.labs import inotify
from tunbench.labs.process_group import ENDS_WITH_PROCESS, ProcessGroup, ends_with_this_process
from tunbench.runner.node.shell import wait_until


def begun(folder: Path, script: str) -> ProcessGroup:
    return ProcessGroup(["sh", "-c", script], folder, {"FOLDER": str(folder)})


def collected(one: ProcessGroup, count: int) -> list[bytes]:
    lines: list[bytes] = []

    def enough() -> bool:
        lines.extend(one.lines())
        return len(lines) >= count

    assert wait_until(enough, 10)
    return lines


def test_whole_lines_are_told_as_they_come(tmp_path: Path) -> None:
    one = begun(tmp_path, "exec sleep 100")
    events = (tmp_path / "events.jsonl").open("ab", buffering=0)
    assert one.lines() == []
    events.write(b"first\nsec")
    assert one.lines() == [b"first"]
    assert one.lines() == []
    events.write(b"ond\n\nthird")
    assert one.lines() == [b"second", b""]
    assert one.running()
    one.stop()
    events.close()


def test_a_lab_has_its_environment_and_ends(tmp_path: Path) -> None:
    one = begun(tmp_path, 'echo "$FOLDER" >"$FOLDER/events.jsonl"; test -n "$PATH"')
    assert collected(one, 1) == [str(tmp_path).encode()]
    assert wait_until(lambda: not one.running(), 10)
    assert one.process.poll() == 0
    assert 0 < one.age() < 60
    one.stop()


def rung(one: ProcessGroup, seconds: float = 10) -> list[int]:
    """Which of its descriptors wake, in the order of `wakes`."""
    poll = select.poll()
    for descriptor in one.wakes:
        poll.register(descriptor, select.POLLIN)
    awake = {descriptor for descriptor, _ in poll.poll(1000 * seconds)}
    return [number for number, descriptor in enumerate(one.wakes) if descriptor in awake]


def test_what_it_tells_and_its_end_wake_whoever_waits(tmp_path: Path) -> None:
    # A pipe each: whoever writes to the first may not have closed it when the shell opens the next.
    os.mkfifo(tmp_path / "go")
    os.mkfifo(tmp_path / "end")
    one = begun(tmp_path, 'read -r go <"$FOLDER/go"; echo told >>"$FOLDER/events.jsonl"; read -r end <"$FOLDER/end"')
    assert rung(one, 0.2) == []
    (tmp_path / "go").write_text("on\n")
    assert rung(one) == [0]
    assert collected(one, 1) == [b"told"]
    # The kernel may tell of what was written when it has been read already.
    assert wait_until(lambda: one.lines() == [] and rung(one, 0.2) == [], 10)
    (tmp_path / "end").write_text("on\n")
    assert rung(one) == [1]
    bells = one.wakes
    one.stop()
    assert one.wakes == ()
    for descriptor in bells:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def refused(*_: object) -> int:
    raise OSError("too many open files")


@pytest.mark.parametrize(
    ("where", "call", "answer"),
    [
        (inotify.LIBC, "inotify_init1", lambda *_: -1),
        (inotify.LIBC, "inotify_add_watch", lambda *_: -1),
        (os, "pidfd_open", refused),
    ],
)
def test_where_the_kernel_has_no_bell_left_there_is_none(
    where: object, call: str, answer: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(where, call, answer)
    assert inotify.wakes_of(tmp_path, os.getpid()) == ()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    one = begun(tmp_path, 'echo told >"$FOLDER/events.jsonl"')
    assert one.wakes == ()
    assert collected(one, 1) == [b"told"]
    one.stop()


def test_last_words_are_those_of_console_and_output(tmp_path: Path) -> None:
    one = begun(tmp_path, "echo from qemu >&2; echo Kernel panic >$FOLDER/console.log")
    assert wait_until(lambda: not one.running(), 10)
    assert one.last_words() == "Kernel panic\nfrom qemu"
    (tmp_path / "console.log").write_bytes(b"x" * 3000 + b"\xff")
    assert one.last_words() == "x" * 1999 + "\ufffd\nfrom qemu"
    one.stop()


def test_stopping_ends_all_of_its_processes(tmp_path: Path) -> None:
    one = begun(tmp_path, "sleep 100 & echo $! >$FOLDER/pid; wait")
    child = written(tmp_path / "pid")
    one.stop()
    assert not one.running()
    assert wait_until(gone(child), 5)
    one.stop()


def test_stopping_needs_no_consent(tmp_path: Path) -> None:
    one = begun(tmp_path, "trap '' TERM; echo $$ >$FOLDER/pid; while :; do sleep 0.05; done")
    written(tmp_path / "pid")
    began = time.monotonic()
    one.stop()
    assert one.process.poll() == -signal.SIGKILL
    assert time.monotonic() - began < 3


CONTROLLER = """
import sys, time
from pathlib import Path
from tunbench.labs.process_group import ENDS_WITH_PROCESS, ProcessGroup, ends_with_this_process
folder = Path(sys.argv[1])
one = ProcessGroup(["sleep", "100"], folder)
(folder / "pid").write_text(f"{one.process.pid}\\n")
time.sleep(100)
"""


def test_the_lab_dies_with_the_controlling_process_however_that_happens(tmp_path: Path) -> None:
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, str(tmp_path)])
    lab: Callable[[], bool] = gone(written(tmp_path / "pid"))
    assert not lab()
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait()
    assert wait_until(lab, 5)


def test_a_lab_does_not_begin_where_the_controlling_process_has_ended_before_the_kernel_knew(tmp_path: Path) -> None:
    argv = [*ENDS_WITH_PROCESS, "1", "touch", str(tmp_path / "begun")]
    assert subprocess.run(argv).returncode == 1
    assert not (tmp_path / "begun").exists()
    subprocess.run(ends_with_this_process(["touch", str(tmp_path / "begun")]), check=True)
    assert (tmp_path / "begun").exists()


def test_last_words_of_a_file_without_end_are_its_tail_alone(tmp_path: Path) -> None:
    one = begun(tmp_path, "true")
    assert wait_until(lambda: not one.running(), 10)
    with one.console.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write(b"last")
    assert one.last_words() == "\0" * 1996 + "last"
    one.stop()
