"""How near two cores are to each other: a real look at those of this machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tunbench.labs.real_time.core_distance import Cores, first_and_last_core
from tunbench.labs.real_time.noise import text_if_there
from tunbench.runner.node.shell import wait_until

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is but one core")


@pytest.fixture
def both() -> Iterator[Cores]:
    with Cores(*first_and_last_core()) as cores:
        yield cores


@two_cores
def test_a_byte_goes_to_another_core_and_back(both: Cores) -> None:
    # No two cores exchange a cache line in 10 ns; the best of some looks is below what any machine needs.
    assert 1e-8 < min(both.round_trip() or 1 for _ in range(20)) < 5e-6


@two_cores
def test_a_look_is_but_a_question(both: Cores) -> None:
    """One that took as long as the start of a program ran into the beginning of the trial after it."""

    def asked() -> bool:
        program, begun = both.program, time.monotonic()
        return both.round_trip() > 0 and both.program is program and time.monotonic() - begun < 0.02

    assert wait_until(asked, 15)


def test_one_core_is_at_no_distance_from_itself() -> None:
    with Cores(0, 0) as cores:
        assert cores.round_trip() == 0


def test_a_core_that_is_not_there_is_not_waited_for() -> None:
    with Cores(0, 1 << 14) as cores:
        assert cores.round_trip() == 0
        assert cores.program is None


def test_a_machine_that_can_start_nothing_more_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with Cores(0, 1) as cores:
        assert cores.round_trip() == 0


@two_cores
def test_a_program_that_was_killed_is_started_anew(both: Cores) -> None:
    assert wait_until(lambda: both.round_trip() > 0, 15)
    assert both.program
    both.program.kill()
    both.program.wait()
    assert both.round_trip() == 0
    assert wait_until(lambda: both.round_trip() > 0, 15)


@two_cores
def test_no_program_is_left_when_nobody_looks_any_more(both: Cores) -> None:
    assert wait_until(lambda: both.round_trip() > 0, 15)
    program = both.program
    assert program
    answers = answering(program.pid)
    both.close()
    assert program.returncode == 0
    assert all(gone(one) for one in answers)


@two_cores
@pytest.mark.parametrize("killed", ["who looks", "who asks", "who answers"])
def test_nothing_is_left_when_one_side_is_killed(killed: str) -> None:
    looks = (
        "import time\nfrom tunbench.labs.real_time.core_distance import Cores, first_and_last_core\n"
        "cores = Cores(*first_and_last_core())\n"
        "while not cores.round_trip(): pass\nprint(cores.program.pid, flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", looks], stdout=subprocess.PIPE, text=True) as looker:
        assert looker.stdout
        asks = int(looker.stdout.readline())
        [answers] = answering(asks)
        os.kill({"who looks": looker.pid, "who asks": asks, "who answers": answers}[killed], signal.SIGKILL)
        if killed != "who answers":
            assert wait_until(lambda: gone(answers) and gone(asks), 15)
        looker.kill()
    assert wait_until(lambda: gone(answers) and gone(asks), 15)


@two_cores
@pytest.mark.parametrize("killed", ["who asks", "who answers"])
def test_nothing_spins_on_when_one_side_is_killed(killed: str) -> None:
    program = (
        "from tunbench.labs.real_time import core_distance as cores; cores.ROUNDS = 10**9; "
        f"cores.main(*{first_and_last_core()})"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, bufsize=0) as asks:
        assert asks.stdin
        asks.stdin.write(b"\n")
        assert wait_until(lambda: bool(answering(asks.pid)), 15)
        [answers] = answering(asks.pid)
        os.kill(asks.pid if killed == "who asks" else answers, signal.SIGKILL)
        assert wait_until(lambda: gone(asks.pid) and gone(answers), 15), "though its input is still open"


@two_cores
def test_who_asks_in_vain_ends_after_who_did_not_answer() -> None:
    # Else that one would be left to whoever takes orphans, which in a namespace nobody may do.
    program = (
        "import time; from tunbench.labs.real_time import core_distance as cores; "
        "cores._answer = lambda shared: time.sleep(0.5); "
        f"cores.main(*{first_and_last_core()})"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], input="\n", capture_output=True, text=True)
    assert done.returncode == 1
    assert "TimeoutError" in done.stderr
    assert time.monotonic() - begun > 0.5


def answering(asks: int) -> list[int]:
    """The processes that the one which asks has started."""
    return [int(one) for one in Path(f"/proc/{asks}/task/{asks}/children").read_text().split()]


def gone(number: int) -> bool:
    """Whether a process has ended. It may wait for whoever takes orphans to ask for its status."""
    return text_if_there(Path(f"/proc/{number}/stat")).rpartition(") ")[2][:1] in ("", "Z")
