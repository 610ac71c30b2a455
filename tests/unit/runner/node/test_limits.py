import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tunbench.runner.node import limits


def bound(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A program that a bound process started, with small limits in the place of the usual ones."""
    begin = "import subprocess, sys; from tunbench.runner.node import limits"
    small = "limits.MAX_FILE, limits.MAX_MEMORY = 1 << 20, 1 << 28"
    start = "sys.exit(subprocess.run(sys.argv[1:]).returncode & 255)"
    script = "; ".join((begin, small, "limits.bind()", start))
    argv = [sys.executable, "-c", script, "sh", "-c", program]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60)


def test_a_file_grows_no_larger_than_its_limit_and_who_writes_on_is_ended(tmp_path: Path) -> None:
    done = bound("yes >log", tmp_path)
    assert done.returncode & 127 in (25, 128 - 25), "SIGXFSZ, as the shell or as Python tells it"
    assert (tmp_path / "log").stat().st_size == 1 << 20
    assert list(tmp_path.iterdir()) == [tmp_path / "log"], "it leaves no core"


def test_memory_that_a_process_may_not_have_is_refused_and_what_is_reserved_does_not_count(tmp_path: Path) -> None:
    eat = f"{sys.executable} -c 'bytearray(1 << 29)'"
    assert "MemoryError" in bound(eat, tmp_path).stderr
    # As the Go runtime does: address space that nobody may touch yet (PROT_NONE is 0).
    reserve = f"{sys.executable} -c 'import mmap; mmap.mmap(-1, 1 << 38, flags=0x4022, prot=0)'"
    assert bound(reserve, tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (1, "ended with status 1"),
        (-25, "was ended by SIGXFSZ: it wrote more than 128 MiB into a file"),
        (-9, "was ended by SIGKILL, as happens where memory has run out"),
        (-11, "was ended by SIGSEGV"),
        (-40, "was ended by signal 40"),
    ],
)
def test_an_ending_is_told_in_words(status: int, words: str) -> None:
    assert limits.ending(status) == words


@pytest.mark.parametrize(
    ("release", "most"),
    [("6.1.0-38-amd64", 0), ("6.13.7", 0), ("6.14.0-rc1", 2000), ("7.0", 2000), ("6.18.44-fc-v657", 2000)],
)
def test_only_a_new_kernel_counts_the_processes_of_a_node(release: str, most: int) -> None:
    assert limits.processes(release) == most


def test_what_does_not_end_is_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"^it did not end within 0\.05 s$"), limits.within(0.05):
        while True:
            time.sleep(1)
    assert time.monotonic() - began < 5
    with limits.within(0.05):
        pass
    time.sleep(0.1)


def test_a_thread_cannot_be_interrupted_and_goes_on() -> None:
    ended = []

    def work() -> None:
        with limits.within(0.01):
            time.sleep(0.1)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]
