"""How near two cores are to each other: a real look at those of this machine."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tunbench.labs import cores
from tunbench.labs.noise import shown
from tunbench.runner.shell import wait_until

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is but one core")


@two_cores
def test_a_byte_goes_to_another_core_and_back() -> None:
    # No two cores exchange a cache line in 10 ns; the best of some looks is below what any machine needs.
    assert 1e-8 < min(cores.round_trip(*cores.ends()) or 1 for _ in range(20)) < 5e-6


def test_one_core_is_at_no_distance_from_itself() -> None:
    assert cores.round_trip(0, 0) == 0


def test_a_core_that_does_not_answer_is_not_waited_for() -> None:
    assert cores.round_trip(0, 1 << 14) == 0


def test_a_machine_that_can_start_nothing_more_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert cores.round_trip(0, 1) == 0


@two_cores
def test_who_asks_in_vain_ends_after_who_did_not_answer() -> None:
    # Else that one would be left to whoever takes orphans, which in a namespace nobody may do.
    program = (
        "import time; from tunbench.labs import cores; cores._answer = lambda shared: time.sleep(0.5); "
        f"cores.main(*{cores.ends()})"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "TimeoutError" in done.stderr
    assert time.monotonic() - begun > 0.5


@two_cores
@pytest.mark.parametrize("killed", ["who asks", "who answers"])
def test_nothing_spins_on_when_one_side_is_killed(killed: str) -> None:
    program = f"from tunbench.labs import cores; cores.ROUNDS = 10**9; cores.main(*{cores.ends()})"
    asks = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)

    def answering() -> list[int]:
        return [int(one) for one in Path(f"/proc/{asks.pid}/task/{asks.pid}/children").read_text().split()]

    assert wait_until(lambda: bool(answering()), 15)
    [answers] = answering()
    os.kill(asks.pid if killed == "who asks" else answers, signal.SIGKILL)
    asks.wait(15)
    # One that has ended may wait for whoever takes orphans to ask for its status.
    stat = Path(f"/proc/{answers}/stat")
    assert wait_until(lambda: shown(stat).rpartition(") ")[2][:1] in ("", "Z"), 15)
