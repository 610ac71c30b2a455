import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tunbench.run.scratch import scratch
from tunbench.runner.node.shell import wait_until

BEGIN = """
import sys, time
from pathlib import Path
from tunbench.run.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    time.sleep(100)
"""


def begun(run: Path) -> "tuple[subprocess.Popen[str], Path]":
    process = subprocess.Popen([sys.executable, "-c", BEGIN, str(run)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_there_as_long_as_it_is_needed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), scratch(tmp_path) as folder:
        assert folder.is_dir() and folder.is_absolute()
        (folder / "file").touch()
        raise KeyError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_its_process_dies(number: signal.Signals, tmp_path: Path) -> None:
    process, folder = begun(tmp_path)
    assert (folder / "file").exists()
    process.send_signal(number)
    process.wait(10)
    assert wait_until(lambda: list(tmp_path.iterdir()) == [], 5)


def test_what_begins_before_the_last_one_is_swept_keeps_its_own(tmp_path: Path) -> None:
    process, folder = begun(tmp_path)
    [sweeper] = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    os.kill(sweeper, signal.SIGSTOP)
    process.kill()
    process.wait(10)
    assert folder.exists()
    with scratch(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]
        os.kill(sweeper, signal.SIGCONT)
        assert wait_until(lambda: not Path(f"/proc/{sweeper}").exists(), 5)
        assert own.exists()
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_made_nothing_stays(tmp_path: Path) -> None:
    before = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    with pytest.raises(OSError), scratch(tmp_path / "away"):
        pytest.fail("there is no such folder")
    assert Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text() == before
