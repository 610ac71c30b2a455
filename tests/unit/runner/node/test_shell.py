import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers.processes import gone, written
from tunbench.runner.node import communicate, limits, shell
from tunbench.runner.node.shell import LocalShell, Result, wait_until

SHELL = LocalShell()


def sh(script: str, timeout: float = 20) -> Result:
    return SHELL.run(["sh", "-c", script], timeout)


def test_a_command_is_run_to_its_end() -> None:
    assert sh("echo out; echo err >&2; exit 3") == Result(3, "out\n", "err\n")
    assert SHELL.run(["cat"], 20, "input ä") == Result(0, "input ä", "")


def test_what_is_not_utf_8_is_replaced() -> None:
    assert sh(r"printf '\377ok'").stdout == "\ufffdok"


def test_a_signal_is_a_status() -> None:
    assert sh("kill -9 $$").status == -signal.SIGKILL


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        SHELL.run(["/no/such/program"], 1)


def test_the_time_limit_ends_the_whole_group_and_keeps_what_was_printed(tmp_path: Path) -> None:
    began = time.monotonic()
    result = sh(f"echo begun; sleep 100 & echo $! >{tmp_path}/pid; wait", 1.5)
    assert result == Result(None, "begun\n", "")
    assert time.monotonic() - began < 10
    assert wait_until(gone(written(tmp_path / "pid")), 5)


def test_a_command_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communicate, "MAX_OUTPUT", 1 << 20)
    monkeypatch.setattr(shell, "MAX_OUTPUT", 1 << 20)
    began = time.monotonic()
    result = sh("echo begun >&2; trap '' PIPE; while :; do yes 2>/dev/null; done", 60)
    assert time.monotonic() - began < 30
    assert result.status == -signal.SIGPIPE
    assert result.stderr == "begun\n\nit printed more than 1 MiB"
    assert result.stdout == ("y\n" * communicate.KEPT_OUTPUT)[-communicate.KEPT_OUTPUT :]


def test_what_is_almost_too_much_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communicate, "MAX_OUTPUT", 1 << 20)
    text = "x" * (1 << 20)
    assert SHELL.run(["cat"], 20, text) == Result(0, text, "")


def test_input_that_nobody_reads_is_no_failure() -> None:
    assert SHELL.run(["true"], 20, "x" * (1 << 20)) == Result(0, "", "")


def test_a_program_that_closes_its_output_still_has_a_time_limit() -> None:
    began = time.monotonic()
    assert sh("exec >&- 2>&-; sleep 100", 0.5).status is None
    assert time.monotonic() - began < 10


def test_a_command_ends_where_whoever_waits_for_it_is_interrupted(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError), limits.within(1.5):
        sh(f"echo $$ >{tmp_path}/pid; sleep 100", 60)
    assert wait_until(gone(written(tmp_path / "pid")), 5)


def test_where_there_is_no_process_left_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(OSError, match=r"^cat cannot be started: the lab has no process left, because something forks$"):
        SHELL.run(["cat"], 1)


def test_the_time_limit_holds_for_a_program_that_ignores_signals() -> None:
    began = time.monotonic()
    assert sh("trap '' TERM INT; while :; do sleep 0.1; done", 0.3).status is None
    assert time.monotonic() - began < 10


def test_the_time_limit_holds_where_a_child_has_left_the_group() -> None:
    began = time.monotonic()
    assert sh("setsid sleep 5 & wait", 0.3).status is None
    assert time.monotonic() - began < 4


def test_a_program_in_the_background_writes_its_log_and_is_stopped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    process = SHELL.start(["sh", "-c", "echo out; echo err >&2; exec sleep 100"], log)
    assert wait_until(lambda: log.read_text() == "before\nout\nerr\n", 10)
    assert process.poll() is None
    process.stop()
    assert process.poll() == -signal.SIGTERM


def test_stopping_is_heard_before_it_is_forced(tmp_path: Path) -> None:
    script = f"trap 'echo bye >{tmp_path}/bye; exit 4' TERM; echo $$ >{tmp_path}/pid; while :; do sleep 0.05; done"
    process = SHELL.start(["sh", "-c", script], tmp_path / "log")
    written(tmp_path / "pid")
    process.stop()
    assert (process.poll(), (tmp_path / "bye").read_text()) == (4, "bye\n")


def test_stopping_escalates_where_it_is_not_heard(tmp_path: Path) -> None:
    script = f"trap '' TERM; echo $$ >{tmp_path}/pid; while :; do sleep 0.05; done"
    process = SHELL.start(["sh", "-c", script], tmp_path / "log")
    written(tmp_path / "pid")
    began = time.monotonic()
    process.stop()
    assert process.poll() == -signal.SIGKILL
    assert 0.9 < time.monotonic() - began < 8


def test_killing_ends_the_whole_group_at_once(tmp_path: Path) -> None:
    process = SHELL.start(["sh", "-c", f"sleep 100 & echo $! >{tmp_path}/pid; wait"], tmp_path / "log")
    child = written(tmp_path / "pid")
    process.kill()
    assert process.poll() == -signal.SIGKILL
    assert wait_until(gone(child), 5)


def test_a_program_is_at_rest_while_it_waits_and_not_while_it_works_or_was_suspended(tmp_path: Path) -> None:
    waits = SHELL.start(["sh", "-c", "sleep 100 & wait"], tmp_path / "log")
    works = SHELL.start(["sh", "-c", "while :; do :; done & wait"], tmp_path / "log")
    try:
        assert wait_until(waits.at_rest, 10)
        # It may wait for its file to be read before it works.
        assert wait_until(lambda: not works.at_rest(), 10)
        assert not any(works.at_rest() for _ in range(10))
        os.killpg(waits.popen.pid, signal.SIGSTOP)
        assert wait_until(lambda: not waits.at_rest(), 10)
    finally:
        for process in (waits, works):
            process.kill()
    assert waits.at_rest() and works.at_rest(), "of what has ended nothing is to be waited for"


def test_what_has_ended_can_be_stopped_again(tmp_path: Path) -> None:
    process = SHELL.start(["true"], tmp_path / "log")
    assert wait_until(lambda: process.poll() is not None, 10)
    process.stop()
    process.kill()
    assert process.poll() == 0


def test_programs_do_not_hear_what_the_terminal_sends(tmp_path: Path) -> None:
    process = SHELL.start(["sleep", "100"], tmp_path / "log")
    # What is typed is a signal to the group in the foreground; the session is ours (test below).
    assert os.getpgid(process.popen.pid) == process.popen.pid != os.getpgrp()
    process.kill()


def test_all_programs_are_of_one_session_and_each_leads_a_group_of_its_own(tmp_path: Path) -> None:
    stat = "read -r pid comm state parent group session rest </proc/self/stat; echo $((group == pid)) $session"
    log = tmp_path / "log"
    process = SHELL.start(["sh", "-c", stat], log)
    assert wait_until(lambda: process.poll() is not None, 5)
    assert SHELL.run(["sh", "-c", stat], 5).stdout == log.read_text() == f"1 {os.getsid(0)}\n"


def test_waiting_ends_with_the_answer_or_with_the_time() -> None:
    answers = iter([False, False, True])
    assert wait_until(lambda: next(answers), 10, 0.001)
    assert not wait_until(lambda: False, 0.02, 0.001)
    assert wait_until(lambda: True, 0)


def test_what_a_program_started_may_take_its_time_to_end(tmp_path: Path) -> None:
    there, done = tmp_path / "there", tmp_path / "done"
    slow = f'trap "sleep 0.3; touch {done}; exit" TERM; touch {there}; while :; do sleep 0.02; done'
    process = LocalShell().start(["sh", "-c", f"sh -c '{slow}' & wait"], tmp_path / "log")
    assert wait_until(there.exists, 5)
    process.stop()
    assert done.exists()
