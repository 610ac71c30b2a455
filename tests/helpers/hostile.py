"""Tunnels and workloads that run wild, in the place of sound ones in what a lab is handed."""

import pytest

from tunbench.labs import payload

TUNNELS = "tunbench/runner/tunnels"
WORKLOADS = "tunbench/runner/workloads"
LIMITS = "tunbench/runner/node/limits.py"

# The bare underlay, with something beside it on each endpoint.
BESIDE = """
from tunbench.runner.tunnels import bare


class Hostile(bare.Bare):
    about = bare.Bare.about

    def up(self, node, nodes):
        {what}

    def down(self, node):
        for daemon in reversed(self.daemons.pop(node.name, [])):
            daemon.stop()
"""


def daemon(script: str) -> str:
    """A tunnel with a daemon that is a shell script."""
    return BESIDE.format(what=f'self.start(node, "sh", "-c", """{script}""")')


HANGS = BESIDE.format(what='node.run("sleep", "1000", timeout=2)')
# Each waits for somebody to write, which nobody does.
FORKS = daemon("mkfifo /tmp/nobody; while :; do read line </tmp/nobody & done")
BOMB = daemon("bomb() { bomb | bomb & }; bomb; sleep 1000")
FLOODS = daemon("exec yes this line says nothing and comes again")
EATS = daemon("exec tail /dev/zero")
SHARED_OUT = daemon("for i in 1 2 3 4; do { head -c 200000000 /dev/zero; sleep 1000; } | tail & done; wait")
DEAF = daemon("trap : TERM INT HUP; while :; do sleep 1; done")
DIES = daemon("sleep 4")

# A workload that has something else done in the place of a ping.
INSTEAD = """
from tunbench.runner.sound import *
from tunbench.runner import sound


def execute(trial):
    {what}
"""


def program(*argv: str, timeout: float = 30) -> str:
    """A workload whose program is another one."""
    run = f"trial.client.run(*{argv!r}, timeout={timeout})"
    return INSTEAD.format(what=f"trial.samples += sound.parse({run}, 0.01)")


NEVER_ENDS = program("sleep", "1000", timeout=2)
LOOPS = INSTEAD.format(what="while True: trial.client.ask('true')")
GARBAGE = program("head", "-c", "100000", "/dev/urandom")
TOO_MUCH = program("head", "-c", "100000000", "/dev/zero")
SILENT = program("true")
NOTHING = INSTEAD.format(what="pass")


def smuggle(
    monkeypatch: pytest.MonkeyPatch,
    tunnels: dict[str, str] | None = None,
    workload: str = "",
    limits: dict[str, str] | None = None,
) -> None:
    """Hands labs these tunnels in the place of others, this workload in the place of ping, and other limits."""
    files = payload.runner_files()
    files[f"{TUNNELS}/bare.py"] = files[f"{TUNNELS}/none.py"]
    files["tunbench/runner/sound.py"] = files[f"{WORKLOADS}/ping.py"]
    for name, text in (tunnels or {}).items():
        files[f"{TUNNELS}/{name}.py"] = text.encode()
    if workload:
        files[f"{WORKLOADS}/ping.py"] = workload.encode()
    for old, new in (limits or {}).items():
        assert old.encode() in files[LIMITS]
        files[LIMITS] = files[LIMITS].replace(old.encode(), new.encode())
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
