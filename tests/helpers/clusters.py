"""A scheduler of Dask and workers, each a process of its own with a cache of its own, on this machine alone."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.helpers.host import install_program
from tunbench.executors.cluster import connection
from tunbench.labs.process_group import ends_with_this_process
from tunbench.runner.node.shell import wait_until

VERSION = "QEMU emulator version 7.2.22"

CALM = {f"DASK_{name.upper().replace('.', '__')}": str(value) for name, value in connection.CALM.items()}
"""The environment that docs/clusters.md advises."""

STARTED = 120.0
"""Seconds in which a process of a cluster starts on a machine that is busy."""


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class ClusterProcesses:
    """Starts them in a folder, and ends them all."""

    def __init__(
        self, folder: Path, worker: str = "tests.helpers.stub_worker", certificates: Path | None = None
    ) -> None:
        self.folder, self.worker, self.certificates = folder, worker, certificates
        self.port = free_port()
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> str:
        """That of the scheduler."""
        return f"{'tls' if self.certificates else 'tcp'}://127.0.0.1:{self.port}"

    @property
    def tls(self) -> list[str]:
        """The options of Dask's programs that name the certificates."""
        if not self.certificates:
            return []
        pem = self.certificates / "both.pem"
        return ["--tls-ca-file", str(self.certificates / "cert.pem"), "--tls-cert", str(pem), "--tls-key", str(pem)]

    def start_scheduler(self, program: str = "from distributed.cli.dask_scheduler import main; main()") -> None:
        """Starts it, or another one in its place."""
        argv = ["-c", program, "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", *self.tls]
        argv += ["--protocol", "tls"] if self.certificates else []
        self.scheduler = self._begin("scheduler", argv, {})
        assert wait_until(self._answers, STARTED), (self.folder / "scheduler.log").read_text()

    def start_worker(self, name: str, qemu: str = VERSION, threads: int = 1, **environment: str) -> None:
        """Starts a worker, which has the cache `name/cache` and a QEMU that tells this version where one is given."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        path = os.environ["PATH"]
        if qemu:
            (home / "bin").mkdir(exist_ok=True)
            install_program(home / "bin", "qemu-system-x86_64", f"echo {qemu}")
            path = f"{home}/bin:{path}"
        argv = ["-m", self.worker, self.address, "--no-nanny", "--nthreads", str(threads), "--name", name]
        argv += ["--no-dashboard", "--local-directory", str(home / "scratch"), "--memory-limit", "0", *self.tls]
        given = {"XDG_CACHE_HOME": str(home / "cache"), "PATH": path, **environment}
        self.workers[name] = self._begin(name, argv, given)

    def wait_for_workers(self) -> None:
        """Waits until all that were started are there."""
        wanted = len([one for one in self.workers.values() if one.poll() is None])
        logs = [self.folder / f"{name}.log" for name in self.workers]
        assert wait_until(lambda: sum("Registered to" in log.read_text() for log in logs) >= wanted, STARTED)

    def kill(self, name: str) -> None:
        """Ends a worker as `kill -9` does."""
        self.workers[name].kill()
        self.workers.pop(name).wait()

    def kill_scheduler(self) -> None:
        """The same with the scheduler."""
        if self.scheduler:
            self.scheduler.kill()
            self.scheduler.wait()

    def suspend(self, name: str, seconds: float) -> None:
        """Stops a worker for so long."""
        os.kill(self.workers[name].pid, signal.SIGSTOP)
        wait_until(lambda: False, seconds)
        os.kill(self.workers[name].pid, signal.SIGCONT)

    def close(self) -> None:
        """Ends all of them."""
        for one in [*self.workers.values(), *([self.scheduler] if self.scheduler else [])]:
            one.kill()
            one.wait()

    def _answers(self) -> bool:
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0

    def _begin(self, name: str, argv: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                ends_with_this_process([sys.executable, *argv]),
                stdout=log,
                stderr=log,
                env={**os.environ, **CALM, **environment},
                cwd=ROOT,
            )


ROOT = Path(__file__).parents[2]
